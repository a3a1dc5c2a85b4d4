//! A camera's life on a made-up machine: chosen, unplugged, plugged in elsewhere, damaged, silent, hanging. Waits are
//! generous, and nothing is asserted about how long they took.

use std::collections::VecDeque;

use super::*;

const WISH: Wish = Wish { size: (16, 16), fps: 25 };
const PATIENCE: Duration = Duration::from_secs(30);

/// A machine in a test's hand.
#[derive(Clone, Default)]
struct Machine(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    nodes: Vec<Node>,
    /// What opening says next, before it goes well.
    refusals: VecDeque<OpenError>,
    /// Errors that the stream gives next.
    errors: VecDeque<FrameError>,
    /// Pictures are grey of this value.
    grey: u8,
    age: Duration,
    /// No picture comes.
    holds: bool,
    opened: Vec<usize>,
    frames: u64,
}

impl Machine {
    fn with(names: &[(usize, &str, &str)]) -> Machine {
        let machine = Machine::default();
        machine.plug(names);
        machine.set(|s| s.grey = 100);
        machine
    }

    fn set<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    fn plug(&self, names: &[(usize, &str, &str)]) {
        let node =
            |(index, name, bus): &(usize, &str, &str)| Node { index: *index, name: (*name).into(), bus: (*bus).into() };
        self.set(|s| s.nodes = names.iter().map(node).collect());
    }

    fn camera(&self, name: &str) -> Result<Camera, String> {
        Camera::of(self.clone(), &CameraName::Name(name.into()), WISH).map_err(|e| e.to_string())
    }
}

impl Cameras for Machine {
    fn nodes(&mut self) -> Vec<Node> {
        self.set(|s| s.nodes.clone())
    }

    fn open(&mut self, node: &Node, _wish: Wish) -> Result<Box<dyn Stream>, OpenError> {
        let refusal = self.set(|s| {
            s.opened.push(node.index);
            s.refusals.pop_front()
        });
        match refusal {
            Some(error) => Err(error),
            None => Ok(Box::new(Lens { machine: self.clone(), node: node.clone() })),
        }
    }
}

struct Lens {
    machine: Machine,
    node: Node,
}

impl Stream for Lens {
    fn describe(&self) -> String {
        format!("stream of {}", self.node.index)
    }

    fn frame(&mut self, rgb: &mut Vec<u8>) -> Result<Frame, FrameError> {
        loop {
            std::thread::sleep(Duration::from_millis(1));
            let answer = self.machine.set(|s| {
                if let Some(error) = s.errors.pop_front() {
                    return Some(Err(error));
                }
                if !s.nodes.contains(&self.node) {
                    return Some(Err(FrameError::Lost("No such device (os error 19)".into())));
                }
                s.frames += 1;
                rgb.clear();
                rgb.resize(3 * 32 * 24, s.grey);
                (!s.holds).then_some(Ok(Frame { width: 32, height: 24, age: s.age }))
            });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }
}

/// Polls until `done` says so of what came.
fn wait(camera: &mut Camera, what: &str, mut done: impl FnMut(&Result<bool, String>, &Picture) -> bool) -> Picture {
    let begin = std::time::Instant::now();
    let mut picture = Picture::default();
    loop {
        let answer = camera.poll(Instant::from_millis(60_000), &mut picture).map_err(|e| e.to_string());
        if done(&answer, &picture) {
            return picture;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: {answer:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn comes(answer: &Result<bool, String>) -> bool {
    *answer == Ok(true)
}

#[test]
fn pictures_come_in_the_size_that_is_wanted_with_the_time_when_they_were_taken() {
    let machine = Machine::with(&[(0, "Webcam", "1-4")]);
    machine.set(|s| s.age = Duration::from_millis(200));
    let mut camera = machine.camera("webcam").unwrap();
    let picture = wait(&mut camera, "a picture", |answer, _| comes(answer));
    assert_eq!((picture.width, picture.height), (16, 16));
    let age = Instant::from_millis(60_000).saturating_since(picture.captured_at);
    assert!(age >= Duration::from_millis(200) && age < PATIENCE, "{age:?}");
    assert_eq!(camera.describe(), "Webcam stream of 0");
    // A stamp of another clock says nothing.
    machine.set(|s| s.age = Duration::from_secs(3_600));
    wait(&mut camera, "a picture without a stamp", |answer, picture| {
        let age = Instant::from_millis(60_000).saturating_since(picture.captured_at);
        comes(answer) && age < Duration::from_millis(200)
    });
}

#[test]
fn of_many_pictures_only_the_newest_is_seen() {
    let machine = Machine::with(&[(0, "Webcam", "1-4")]);
    let mut camera = machine.camera("webcam").unwrap();
    wait(&mut camera, "a picture", |answer, _| comes(answer));
    // Nobody looks for a while.
    machine.set(|s| s.grey = 200);
    let before = machine.set(|s| s.frames);
    while machine.set(|s| s.frames) < before + 20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let first = wait(&mut camera, "the newest", |answer, _| comes(answer));
    let white = machine.set(|s| s.grey) > 150 && first.y[0] > 150;
    assert!(white, "an old picture of brightness {}", first.y[0]);
}

#[test]
fn a_camera_that_is_pulled_out_is_told_of_and_taken_again_by_its_name_at_another_number() {
    let machine = Machine::with(&[(0, "Webcam", "1-4"), (2, "Other", "1-2")]);
    let mut camera = machine.camera("webcam").unwrap();
    wait(&mut camera, "a picture", |answer, _| comes(answer));
    // Another one has its number now.
    machine.plug(&[(0, "Other", "1-2")]);
    let gone =
        |answer: &Result<bool, String>, _: &Picture| answer.as_ref().is_err_and(|e| e.contains("plug it in again"));
    wait(&mut camera, "the loss", gone);
    // It stays told.
    for _ in 0..10 {
        assert!(gone(
            &camera.poll(Instant::ZERO, &mut Picture::default()).map_err(|e| e.to_string()),
            &Picture::default()
        ));
    }
    machine.plug(&[(0, "Other", "1-2"), (3, "Webcam", "1-1")]);
    wait(&mut camera, "its return", |answer, _| comes(answer));
    assert_eq!(camera.describe(), "Webcam stream of 3");
    assert_eq!(machine.set(|s| s.opened.clone()), [0, 3]);
}

#[test]
fn some_damaged_pictures_are_passed_over_and_many_are_a_fault() {
    let machine = Machine::with(&[(0, "Webcam", "1-4")]);
    let damaged = |n: u32| (0..n).map(|_| FrameError::Damaged("half a JPEG".into())).collect();
    machine.set(|s| s.errors = damaged(MOST_DAMAGED));
    let mut camera = machine.camera("webcam").unwrap();
    wait(&mut camera, "a picture", |answer, _| {
        assert!(answer.is_ok(), "{answer:?}");
        comes(answer)
    });
    machine.set(|s| s.errors = damaged(MOST_DAMAGED + 1));
    wait(&mut camera, "a fault", |answer, _| answer.as_ref().is_err_and(|e| e.contains("half a JPEG")));
    wait(&mut camera, "pictures again", |answer, _| comes(answer));
    assert_eq!(machine.set(|s| s.opened.len()), 2);
}

#[test]
fn a_camera_that_stays_open_and_gives_nothing_is_told_of() {
    let machine = Machine::with(&[(0, "Webcam", "1-4")]);
    let mut camera = machine.camera("webcam").unwrap();
    wait(&mut camera, "a picture", |answer, _| comes(answer));
    machine.set(|s| s.holds = true);
    wait(&mut camera, "silence", |answer, _| answer.as_ref().is_err_and(|e| e.contains("no pictures")));
    machine.set(|s| s.holds = false);
    wait(&mut camera, "pictures again", |answer, _| comes(answer));
}

#[test]
fn what_stands_in_the_way_is_told_with_its_remedy() {
    for (said, remedy) in [
        ("Permission denied (os error 13)", "usermod -aG video"),
        ("Device or resource busy (os error 16)", "another program uses it"),
        ("No such device (os error 19)", "plug it in again"),
        ("Protocol error (os error 71)", "another port"),
        ("Something else", "Something else"),
    ] {
        let machine = Machine::with(&[(0, "Webcam", "1-4")]);
        machine.set(|s| s.refusals.push_back(OpenError::Failed(said.into())));
        let line = machine.camera("webcam").err().expect("refused");
        assert!(line.contains(remedy) && line.contains("device:webcam") && !line.contains('\n'), "{line}");
    }
    // Of a camera's nodes the first may be none that gives pictures.
    let machine = Machine::with(&[(0, "Webcam", "1-4"), (1, "Webcam", "1-4")]);
    machine.set(|s| s.refusals.push_back(OpenError::NoCamera));
    assert_eq!(machine.camera("webcam").unwrap().describe(), "Webcam stream of 1");
    machine.set(|s| s.refusals.extend([OpenError::NoCamera, OpenError::NoCamera]));
    assert!(machine.camera("webcam").err().unwrap().contains("no picture format"));
    assert!(machine.camera("microscope").err().unwrap().contains("plug it in"));
}
