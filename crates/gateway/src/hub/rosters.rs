//! In which channels this node follows the members of other nodes, and who waits until they are known. Owns when a channel is
//! followed and when it is forgotten; the members are in the core.

use std::sync::Arc;
use std::time::Instant;

use millrace_backplane::State as LinkState;
use millrace_backplane::store::{AttendanceStats, SharedPresence};
use millrace_core::TermsIndex;

use super::following::{Following, Overdue, State};
use super::teller::Teller;
use crate::stats::PresenceStats;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

/// See the module. Its calls may come under a channel's lock of the core, and never call the core.
#[derive(Default)]
pub(crate) struct Rosters {
    /// Whether other nodes have members, whether the store of members can be reached or not.
    is_on: AtomicBool,
    /// Which terms ask for presence, a bit each.
    terms: AtomicU64,
    store: Mutex<Option<SharedPresence>>,
    channels: Mutex<Following<Knowledge>>,
    /// The number of the last following.
    followings: AtomicU64,
    /// What the stores of earlier starts have counted.
    ended: Mutex<AttendanceStats>,
}

/// What is known of a channel's members on other nodes.
#[derive(Debug)]
struct Knowledge {
    /// The number of this following. What an earlier one has come to may be told late, and says nothing.
    following: u64,
    view: View,
    /// Whether a client that has asked does not know the members.
    was_asked_in_vain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
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

/// The members of a channel are known.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// Those who have waited for that.
    pub(super) waiting: Vec<Teller>,
    /// They were not known before; then whether a client has asked in vain.
    pub(super) news: Option<bool>,
}

/// Who asks for members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A client, which is told when it should ask anew.
    Client,
    Application,
}

impl Knowledge {
    fn new(following: u64) -> Self {
        Self {
            following,
            view: View::Awaited,
            was_asked_in_vain: false,
        }
    }
}

impl State for Knowledge {
    fn has_kept_waiting(&mut self, late: &[Teller]) {
        self.was_asked_in_vain |= late.iter().any(Teller::is_session);
    }
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
    pub(crate) fn connect(&self, store: &SharedPresence) {
        let channels = self.channels.lock();
        // first of all, so that no change falls between what is gone through here and what is passed on
        *self.store.lock() = Some(Arc::clone(store));
        for (channel, known) in channels.iter() {
            store.follow(channel, known.following);
            store.changed(channel);
        }
    }

    /// The store has ended: nothing is followed any more, and nobody may wait. Returns the channels and who has waited.
    pub(super) fn disconnect(&self) -> (Vec<Box<[u8]>>, Vec<Teller>) {
        let store = self.store.lock().take();
        if let Some(store) = store {
            self.ended.lock().add(&store.stats());
        }
        let all = self.channels.lock().take_all();
        let (mut names, mut waiting) = (Vec::new(), Vec::new());
        for (channel, _, tellers) in all {
            names.push(channel);
            waiting.extend(tellers);
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
        let mut following = 0;
        let state = || {
            following = self.next_following();
            Knowledge::new(following)
        };
        if channels.want(channel, (wanted, now), state) {
            self.follow(channel, following);
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
    pub(super) fn ready(
        &self,
        channel: &[u8],
        asker: Asker,
        teller: impl FnOnce() -> Teller,
    ) -> Readiness {
        if !self.is_on() {
            return Readiness::Known;
        }
        let now = Instant::now();
        let mut channels = self.channels.lock();
        if let Some(followed) = channels.get_mut(channel) {
            followed.use_at(now);
            return match followed.state.view {
                View::Known => Readiness::Known,
                View::Failed => {
                    followed.state.was_asked_in_vain |= asker == Asker::Client;
                    Readiness::Unknown
                }
                View::Awaited => {
                    followed.wait(now, teller());
                    Readiness::Awaited
                }
            };
        }
        let following = self.next_following();
        channels.add(channel, now, Knowledge::new(following), teller());
        self.follow(channel, following);
        Readiness::Awaited
    }

    /// Has the store follow a channel. The table is locked.
    fn follow(&self, channel: &[u8], following: u64) {
        if let Some(store) = &*self.store.lock() {
            store.follow(channel, following);
        }
    }

    fn next_following(&self) -> u64 {
        self.followings.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether the members of all nodes are known, so that changes are told; `None`: the channel is not followed.
    pub(super) fn tells(&self, channel: &[u8]) -> Option<bool> {
        let channels = self.channels.lock();
        let followed = channels.get(channel)?;
        Some(followed.state.view == View::Known)
    }

    /// Whether the members of all nodes are known, so that changes are told.
    pub(super) fn is_known(&self, channel: &[u8]) -> bool {
        self.tells(channel) == Some(true)
    }

    /// Whether a channel is followed by this number.
    pub(super) fn is_followed_by(&self, channel: &[u8], following: u64) -> bool {
        let channels = self.channels.lock();
        let followed = channels.get(channel);
        followed.is_some_and(|followed| followed.state.following == following)
    }

    /// The members of all nodes are known, by this following.
    pub(super) fn filled(&self, channel: &[u8], following: u64) -> Filled {
        let mut channels = self.channels.lock();
        let followed = channels.get_mut(channel);
        let Some(followed) = followed.filter(|one| one.state.following == following) else {
            return Filled::default();
        };
        let before = std::mem::replace(&mut followed.state.view, View::Known);
        let in_vain = std::mem::take(&mut followed.state.was_asked_in_vain);
        Filled {
            waiting: followed.take_waiting(Instant::now()),
            news: (before != View::Known).then_some(in_vain),
        }
    }

    /// A channel cannot be followed now by this number: returns who has waited for it.
    pub(super) fn failed(&self, channel: &[u8], following: u64) -> Vec<Teller> {
        let mut channels = self.channels.lock();
        let followed = channels.get_mut(channel);
        let Some(followed) = followed.filter(|one| one.state.following == following) else {
            return Vec::new();
        };
        followed.state.view = View::Failed;
        let waiting = followed.take_waiting(Instant::now());
        followed.state.was_asked_in_vain |= waiting.iter().any(Teller::is_session);
        waiting
    }

    /// What is due at this time. Unused channels are still followed until [`forget`](Self::forget).
    pub(super) fn due(&self, now: Instant) -> Overdue {
        self.channels.lock().overdue(now)
    }

    /// Ends following a channel that is unused at this time. The caller holds the channel's lock of the core.
    pub(super) fn forget(&self, channel: &[u8], now: Instant) -> bool {
        let mut channels = self.channels.lock();
        if !channels.forget(channel, now) {
            return false;
        }
        if let Some(store) = &*self.store.lock() {
            store.forget(channel);
        }
        true
    }

    /// The state of the store and what was counted; `None`: other nodes have no members.
    pub(super) fn stats(&self) -> Option<PresenceStats> {
        if !self.is_on() {
            return None;
        }
        let followed = self.channels.lock().len();
        let now = self.store.lock().as_ref().map(|store| store.stats());
        let now = now.unwrap_or_default();
        let mut counted = *self.ended.lock();
        counted.add(&now);
        Some(PresenceStats {
            state: LinkState::of(now.is_connected, now.losses),
            followed,
            sessions: counted.sessions,
            rewritten: counted.rewritten,
            reread: counted.reread,
            losses: counted.losses,
        })
    }
}

#[cfg(test)]
mod tests;
