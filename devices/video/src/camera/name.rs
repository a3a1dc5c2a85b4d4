//! Which camera is meant: by number, by name, and the same one again after it was away.

use std::fmt;

/// A camera by number or name, as in `device:0` or `device:HD Webcam`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CameraName {
    /// The N of /dev/videoN. Numbers change with the order in which cameras are plugged in.
    Index(usize),
    /// Its name or a part of it, in any case.
    Name(String),
}

impl fmt::Display for CameraName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CameraName::Index(index) => write!(f, "device:{index}"),
            CameraName::Name(name) => write!(f, "device:{name}"),
        }
    }
}

/// What may be a camera.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The N of /dev/videoN.
    pub index: usize,
    pub name: String,
    /// Where it is plugged in; empty if that is not known.
    pub bus: String,
}

impl Node {
    pub fn path(&self) -> String {
        format!("/dev/video{}", self.index)
    }
}

/// Those of the nodes that are meant, in order: a camera may have several of one name.
pub(super) fn chosen<'a>(nodes: &'a [Node], name: &CameraName) -> Result<Vec<&'a Node>, String> {
    let mut found: Vec<&Node> = match name {
        CameraName::Index(index) => nodes.iter().filter(|n| n.index == *index).collect(),
        CameraName::Name(name) => {
            let wanted = name.to_lowercase();
            let named = |fits: fn(&str, &str) -> bool| {
                nodes.iter().filter(|n| fits(&n.name.to_lowercase(), &wanted)).collect::<Vec<_>>()
            };
            let exact = named(|have, wanted| have == wanted);
            if exact.is_empty() { named(|have, wanted| have.contains(wanted)) } else { exact }
        }
    };
    found.sort_by_key(|n| n.index);
    let Some(first) = found.first() else { return Err("no such camera is here: plug it in".into()) };
    match found.iter().find(|n| n.name != first.name) {
        Some(other) => Err(format!("'{}' and '{}' are meant: write more of the name", first.name, other.name)),
        None => Ok(found),
    }
}

/// A camera in use, and the places at which others of its name were plugged in besides: a twin is not the same camera.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub node: Node,
    pub twins: Vec<String>,
}

impl Known {
    pub fn new(node: &Node, nodes: &[Node]) -> Known {
        let twin = |n: &&Node| n.name == node.name && n.bus != node.bus;
        Known { node: node.clone(), twins: nodes.iter().filter(twin).map(|n| n.bus.clone()).collect() }
    }
}

/// The nodes of a camera that was away: of its name, first those at its old place.
pub(super) fn returned<'a>(nodes: &'a [Node], known: &Known) -> Result<Vec<&'a Node>, String> {
    let Known { node: known, twins } = known;
    let mut found: Vec<&Node> = nodes.iter().filter(|n| n.name == known.name && !twins.contains(&n.bus)).collect();
    found.sort_by_key(|n| (n.bus != known.bus, n.index));
    if found.is_empty() {
        return Err(format!("'{}' has gone: plug it in again, it is used as soon as it returns", known.name));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(index: usize, name: &str, bus: &str) -> Node {
        Node { index, name: name.into(), bus: bus.into() }
    }

    #[test]
    fn a_camera_is_meant_by_number_whole_name_or_part_of_it() {
        let nodes = [
            node(2, "HD Webcam: front", "1-4"),
            node(0, "Integrated", "1-1"),
            node(3, "HD Webcam: front", "1-4"),
            node(4, "Integrated IR", "1-1"),
        ];
        let indexes =
            |name: CameraName| chosen(&nodes, &name).map(|found| found.iter().map(|n| n.index).collect::<Vec<_>>());
        let name = |text: &str| CameraName::Name(text.into());
        assert_eq!(indexes(CameraName::Index(3)), Ok(vec![3]));
        assert_eq!(indexes(name("webcam")), Ok(vec![2, 3]));
        assert_eq!(indexes(name("integrated")), Ok(vec![0]), "a whole name comes before a part");
        assert!(indexes(name("in")).unwrap_err().contains("write more"));
        assert!(indexes(name("microscope")).unwrap_err().contains("plug it in"));
        assert!(indexes(CameraName::Index(1)).unwrap_err().contains("plug it in"));
    }

    #[test]
    fn a_camera_that_returns_is_known_by_name_and_place_not_by_number() {
        let known = Known { node: node(0, "Webcam", "1-4"), twins: Vec::new() };
        let nodes = [node(0, "Other", "1-4"), node(1, "Webcam", "1-2"), node(5, "Webcam", "1-4")];
        let found: Vec<usize> = returned(&nodes, &known).unwrap().iter().map(|n| n.index).collect();
        assert_eq!(found, [5, 1]);
        assert!(returned(&nodes[..1], &known).unwrap_err().contains("has gone"));
        // Its twin that was there all the time is another camera.
        let known = Known::new(&nodes[2], &nodes);
        assert_eq!(known.twins, ["1-2"]);
        assert!(returned(&nodes[..2], &known).unwrap_err().contains("has gone"));
        assert_eq!(returned(&nodes, &known).unwrap(), [&nodes[2]]);
    }
}
