//! When things happened last on one connection. What an idle connection waits for takes memory only as long as it waits.

use super::moment::Moment;

/// See the module. All times are in milliseconds of the shard's clock.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Something complete arrived.
    pub(crate) alive: Moment,
    /// A message was received or sent.
    pub(crate) message: Moment,
    /// `None` if all of them are 0.
    waits: Option<Box<Waits>>,
}

/// Since when a connection waits for something; 0: it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// The ping was sent that is not answered yet.
    pub(crate) ping: u64,
    /// The bytes of an incomplete message that had arrived when the ping was sent.
    pub(crate) ping_received: u64,
    /// The first byte of an incomplete message arrived.
    pub(crate) unfinished: u64,
    /// A blocked write made progress.
    pub(crate) blocked: u64,
    /// The time at which a closing connection is cut.
    pub(crate) deadline: u64,
}

impl Times {
    /// The times of a connection that opens now.
    pub(crate) fn new(now: u64) -> Self {
        Self {
            alive: Moment::at(now),
            message: Moment::at(now),
            waits: None,
        }
    }

    /// What it waits for.
    pub(crate) fn waits(&self) -> Waits {
        self.waits.as_deref().copied().unwrap_or_default()
    }

    /// Whether the kernel takes its output.
    pub(crate) fn is_blocked(&self) -> bool {
        self.waits.as_deref().is_some_and(|waits| waits.blocked > 0)
    }

    /// Changes what it waits for.
    #[inline(never)]
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Waits)) {
        let mut waits = self.waits();
        change(&mut waits);
        if waits == Waits::default() {
            self.waits = None;
        } else if let Some(known) = self.waits.as_deref_mut() {
            *known = waits;
        } else {
            self.waits = Some(Box::new(waits));
        }
    }

    /// Like [`change`](Self::change), for changes that only end waiting.
    #[inline]
    pub(crate) fn end(&mut self, change: impl FnOnce(&mut Waits)) {
        if self.waits.is_some() {
            self.change(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_takes_memory_only_while_it_lasts() {
        let mut times = Times::new(7);
        times.end(|waits| waits.ping = 0);
        assert!(times.waits.is_none());
        times.change(|waits| waits.blocked = 9);
        times.change(|waits| waits.ping = 8);
        assert!(times.is_blocked());
        times.end(|waits| waits.blocked = 0);
        assert!(!times.is_blocked());
        assert_eq!((times.waits().ping, times.waits.is_some()), (8, true));
        times.end(|waits| waits.ping = 0);
        assert!(times.waits.is_none());
    }
}
