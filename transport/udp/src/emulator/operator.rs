//! Who the operator is: the source whose control messages show the token that the teleoperator shows. Until that is known
//! everything passes, since the teleoperator is silent to all who do not know its token.

use media::{Duration, Instant};
use proto::Address;
use proto::control::{SHOWN, TOKEN};
use proto::wire::FLAG_CONTROL;

/// An operator that was not heard for so long gives its place to another one.
const QUIET: Duration = Duration::from_secs(1);
/// Sources remembered that may turn out to be the operator.
const CANDIDATES: usize = 16;

/// What a control message shows: token and session.
type Shown = [u8; SHOWN.end - SHOWN.start];

/// The operator's place.
#[derive(Debug, Default)]
pub(super) struct Operator {
    /// The teleoperator's token.
    token: Option<[u8; TOKEN.end - TOKEN.start]>,
    present: Option<Source>,
    /// Heard while the place was free, the newest last.
    candidates: Vec<Source>,
    /// Datagrams not passed on.
    pub(super) foreign: u64,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    address: Address,
    heard_at: Instant,
    shown: Option<Shown>,
}

fn shown(bytes: &[u8]) -> Option<Shown> {
    let control = bytes.first().is_some_and(|b| b & FLAG_CONTROL != 0);
    bytes.get(SHOWN).filter(|_| control)?.try_into().ok()
}

impl Operator {
    /// Where answers go.
    pub(super) fn address(&self) -> Option<Address> {
        let untold = self.candidates.last().filter(|_| self.token.is_none());
        self.present.as_ref().or(untold).map(|s| s.address)
    }

    /// The teleoperator said something.
    pub(super) fn on_answer(&mut self, bytes: &[u8]) {
        let Some(shown) = shown(bytes) else { return };
        let token = shown.first_chunk().copied();
        let served = |s: &Source| token.is_some() && s.shown.and_then(|s| s.first_chunk().copied()) == token;
        if self.token != token || !self.present.as_ref().is_some_and(served) {
            self.token = token;
            self.present = self.candidates.iter().rev().find(|s| served(s)).copied();
            self.candidates.clear();
        }
    }

    /// Is this datagram from `address` to be passed on?
    pub(super) fn passes(&mut self, address: Address, at: Instant, bytes: &[u8]) -> bool {
        let shown = shown(bytes);
        let source = Source { address, heard_at: at, shown };
        if let Some(present) = self.present.as_mut().filter(|p| p.address == address) {
            // A restarted operator comes from the same address with a new session.
            let shown = shown.filter(|s| s.first_chunk() == self.token.as_ref()).or(present.shown);
            *present = Source { shown, ..source };
            return true;
        }
        let free = self.present.as_ref().is_none_or(|p| at.saturating_since(p.heard_at) >= QUIET);
        let moved = shown.is_some() && self.present.as_ref().is_some_and(|p| p.shown == shown);
        let knows = self.token.is_some() && shown.as_ref().and_then(|s| s.first_chunk()) == self.token.as_ref();
        let passes = match self.token {
            _ if knows && (free || moved) => {
                self.present = Some(source);
                true
            }
            None => self.note(source),
            // The teleoperator may have been started anew, with another token: it will say so.
            Some(_) => free && shown.is_some() && self.note(source),
        };
        self.foreign += u64::from(!passes);
        passes
    }

    fn note(&mut self, source: Source) -> bool {
        self.candidates.retain(|c| c.address != source.address);
        if self.candidates.len() == CANDIDATES {
            self.candidates.remove(0);
        }
        self.candidates.push(source);
        true
    }
}
