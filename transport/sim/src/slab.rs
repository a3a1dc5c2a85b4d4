//! The bytes of the packets that a network holds. Buffers are used again, so that a long run needs no more
//! memory than a short one.

/// Packets by the number under which the network knows them.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct Slot {
    owner: Owner,
    bytes: Vec<u8>,
    /// Copies still inside the network.
    copies: u32,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Which session.
    pub session: usize,
    /// The data packet's number in its channel; `None`: a report, which no figure counts.
    pub sequence: Option<u64>,
}

impl Slab {
    /// Keeps a packet of which one copy is inside; its number.
    pub fn insert(&mut self, owner: Owner, bytes: &[u8]) -> u64 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.owner = owner;
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        slot.copies = 1;
        at as u64
    }

    /// One more copy is inside.
    pub fn on_copy(&mut self, id: u64) {
        self.slots[id as usize].copies += 1;
    }

    /// Whose packet it is, and its bytes.
    pub fn get(&self, id: u64) -> (Owner, &[u8]) {
        let slot = &self.slots[id as usize];
        (slot.owner, &slot.bytes)
    }

    /// One copy left the network; the owner if it was the last.
    pub fn release(&mut self, id: u64) -> Option<Owner> {
        let slot = &mut self.slots[id as usize];
        slot.copies -= 1;
        if slot.copies > 0 {
            return None;
        }
        self.free.push(id as usize);
        Some(slot.owner)
    }

    /// Buffers ever made: the most packets that were inside at once.
    pub fn buffers(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_when_the_last_copy_is_gone() {
        let mut slab = Slab::default();
        let owner = |sequence| Owner { session: 0, sequence: Some(sequence) };
        let a = slab.insert(owner(1), b"a");
        let b = slab.insert(owner(2), b"bb");
        slab.on_copy(a);
        assert_eq!(slab.release(a), None);
        assert_eq!(slab.get(a), (owner(1), &b"a"[..]));
        assert_eq!(slab.release(a), Some(owner(1)));
        assert_eq!(slab.insert(owner(3), b"c"), a);
        assert_eq!(slab.get(b), (owner(2), &b"bb"[..]));
        assert_eq!(slab.buffers(), 2);
    }
}
