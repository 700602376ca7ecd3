//! In which channels this node follows the members of other nodes, and who waits until they are known. Owns when a channel is
//! followed and when it is forgotten; the members are in the core.

use std::time::{Duration, Instant};

use ahash::AHashMap;
use millrace_backplane::store::SharedPresence;
use millrace_core::TermsIndex;

use super::teller::Teller;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

/// See the module. Its calls may come under a channel's lock of the core, and never call the core.
#[derive(Default)]
pub(crate) struct Rosters {
    /// Whether other nodes have members, whether the store of members can be reached or not.
    is_on: AtomicBool,
    /// Which terms ask for presence, a bit each.
    terms: AtomicU64,
    store: Mutex<Option<SharedPresence>>,
    channels: Mutex<AHashMap<Box<[u8]>, Followed>>,
}

/// A channel that is followed, or is going to be.
struct Followed {
    knowledge: Knowledge,
    /// Whether it has a subscriber here.
    is_wanted: bool,
    /// When it was needed last.
    used: Instant,
    waiting: Vec<(Instant, Teller)>,
}

/// What is known of a channel's members on other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    Awaited,
    Known,
    /// The store cannot be reached, or refuses.
    Failed,
}

/// Whether the members of a channel can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// They can.
    Known,
    /// The caller is told when they can.
    Awaited,
    /// They cannot now.
    Unknown,
}

/// What has waited, or was not needed, for too long.
pub(super) struct Due {
    pub(super) waiting: Vec<Teller>,
    pub(super) unused: Vec<Box<[u8]>>,
}

impl Rosters {
    /// Sets whether other nodes have members, and of the channels with which terms: those that ask for presence, by their place.
    pub(super) fn set(&self, is_on: bool, presence: impl Iterator<Item = bool>) {
        let bits = presence.zip(0..u64::BITS);
        let bits = bits.fold(0, |all, (asks, place)| all | u64::from(asks) << place);
        self.terms.store(bits, Ordering::SeqCst);
        self.is_on.store(is_on, Ordering::SeqCst);
    }

    /// Whether other nodes have members.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether other nodes have members of channels with these terms.
    fn has(&self, terms: Option<TermsIndex>) -> bool {
        let asks = |terms: TermsIndex| self.terms.load(Ordering::Relaxed) >> terms.get() & 1 != 0;
        self.is_on() && terms.is_some_and(asks)
    }

    /// From now on members are read and written by this. What was needed before is followed, and written.
    pub(crate) fn connect(&self, store: SharedPresence) {
        let channels = self.channels.lock();
        for channel in channels.keys() {
            store.follow(channel);
            store.changed(channel);
        }
        *self.store.lock() = Some(store);
    }

    /// The store has ended: nothing is followed any more, and nobody may wait. Returns the channels and who has waited.
    pub(super) fn disconnect(&self) -> (Vec<Box<[u8]>>, Vec<Teller>) {
        self.store.lock().take();
        let channels = std::mem::take(&mut *self.channels.lock());
        let (mut names, mut waiting) = (Vec::new(), Vec::new());
        for (channel, followed) in channels {
            names.push(channel);
            waiting.extend(tellers(followed.waiting));
        }
        (names, waiting)
    }

    /// Takes note that a channel has got its first subscriber here, or lost its last one.
    pub(crate) fn wanted(&self, terms: Option<TermsIndex>, channel: &[u8], wanted: bool) {
        if !self.has(terms) {
            return;
        }
        let now = Instant::now();
        let mut channels = self.channels.lock();
        if let Some(known) = channels.get_mut(channel) {
            (known.is_wanted, known.used) = (wanted, now);
        } else if wanted {
            let mut followed = Followed::new(now);
            followed.is_wanted = true;
            self.follow(&mut channels, channel, followed);
        }
        drop(channels);
        if !wanted {
            // with the last subscriber the last member has left
            self.changed(channel);
        }
    }

    /// Takes note that something has changed among the members of this node.
    pub(crate) fn changed(&self, channel: &[u8]) {
        if let Some(store) = &*self.store.lock() {
            store.changed(channel);
        }
    }

    /// Whether the members of all nodes can be read of a channel with presence; if that is awaited, the caller is told.
    pub(super) fn ready(&self, channel: &[u8], teller: impl FnOnce() -> Teller) -> Readiness {
        if !self.is_on() {
            return Readiness::Known;
        }
        let now = Instant::now();
        let mut channels = self.channels.lock();
        if let Some(known) = channels.get_mut(channel) {
            known.used = now;
            return match known.knowledge {
                Knowledge::Known => Readiness::Known,
                Knowledge::Failed => Readiness::Unknown,
                Knowledge::Awaited => {
                    known.waiting.push((now, teller()));
                    Readiness::Awaited
                }
            };
        }
        let mut followed = Followed::new(now);
        followed.waiting.push((now, teller()));
        self.follow(&mut channels, channel, followed);
        Readiness::Awaited
    }

    fn follow(
        &self,
        channels: &mut AHashMap<Box<[u8]>, Followed>,
        channel: &[u8],
        followed: Followed,
    ) {
        if let Some(store) = &*self.store.lock() {
            store.follow(channel);
        }
        channels.insert(channel.into(), followed);
    }

    /// Whether a channel is followed.
    pub(super) fn is_followed(&self, channel: &[u8]) -> bool {
        self.channels.lock().contains_key(channel)
    }

    /// Whether the members of all nodes are known, so that changes are told.
    pub(super) fn is_known(&self, channel: &[u8]) -> bool {
        let channels = self.channels.lock();
        let followed = channels.get(channel);
        followed.is_some_and(|followed| followed.knowledge == Knowledge::Known)
    }

    /// The members of all nodes are known: returns who has waited for that.
    pub(super) fn filled(&self, channel: &[u8]) -> Vec<Teller> {
        self.settle(channel, Knowledge::Known)
    }

    /// A channel cannot be followed now: returns who has waited for it.
    pub(super) fn failed(&self, channel: &[u8]) -> Vec<Teller> {
        self.settle(channel, Knowledge::Failed)
    }

    fn settle(&self, channel: &[u8], knowledge: Knowledge) -> Vec<Teller> {
        let mut channels = self.channels.lock();
        let Some(followed) = channels.get_mut(channel) else {
            return Vec::new();
        };
        followed.knowledge = knowledge;
        if !followed.waiting.is_empty() {
            // those who have waited are going to read
            followed.used = Instant::now();
        }
        tellers(std::mem::take(&mut followed.waiting))
    }

    /// What is due at this time. Unused channels are still followed until [`forget`](Self::forget).
    pub(super) fn due(&self, now: Instant) -> Due {
        let mut due = Due {
            waiting: Vec::new(),
            unused: Vec::new(),
        };
        for (channel, followed) in self.channels.lock().iter_mut() {
            if followed.is_unused(now) {
                due.unused.push(channel.clone());
            }
            let late = |(since, _): &(Instant, Teller)| now.duration_since(*since) >= MOST_WAIT;
            if followed.waiting.iter().any(late) {
                let all = std::mem::take(&mut followed.waiting);
                let (late, rest) = all.into_iter().partition(late);
                followed.waiting = rest;
                due.waiting.extend(tellers(late));
            }
        }
        due
    }

    /// Ends following a channel that is unused at this time. The caller holds the channel's lock of the core.
    pub(super) fn forget(&self, channel: &[u8], now: Instant) -> bool {
        let mut channels = self.channels.lock();
        if !channels
            .get(channel)
            .is_some_and(|followed| followed.is_unused(now))
        {
            return false;
        }
        channels.remove(channel);
        if let Some(store) = &*self.store.lock() {
            store.forget(channel);
        }
        true
    }
}

impl Followed {
    fn new(now: Instant) -> Self {
        Self {
            knowledge: Knowledge::Awaited,
            is_wanted: false,
            used: now,
            waiting: Vec::new(),
        }
    }

    fn is_unused(&self, now: Instant) -> bool {
        let is_needed = self.is_wanted || !self.waiting.is_empty();
        !is_needed && now.duration_since(self.used) >= LINGER
    }
}

fn tellers(waiting: Vec<(Instant, Teller)>) -> Vec<Teller> {
    waiting.into_iter().map(|(_, teller)| teller).collect()
}

/// How long a channel is followed without a subscriber, so that one that comes and goes costs nothing.
const LINGER: Duration = Duration::from_secs(2);

/// The longest that a caller waits until the members are known.
const MOST_WAIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
