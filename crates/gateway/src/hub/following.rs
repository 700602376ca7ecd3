//! The channels that this node follows in a store, with what is known of each, and who waits for that. Owns when a channel is
//! needed, and when a caller has waited too long. Knows no store: who has the table calls it.

use std::time::{Duration, Instant};

use ahash::AHashMap;

use super::teller::Teller;

/// What is known of a followed channel.
pub(super) trait State {
    /// Whether the channel is needed by others than its subscribers and those who wait.
    fn is_needed(&self) -> bool {
        false
    }

    /// These have waited too long for it.
    fn has_kept_waiting(&mut self, late: &[Teller]) {
        let _ = late;
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Following<S>(AHashMap<Box<[u8]>, Followed<S>>);

/// A channel that is followed, or is going to be.
#[derive(Debug)]
pub(super) struct Followed<S> {
    pub(super) state: S,
    /// Whether it has a subscriber here.
    is_wanted: bool,
    /// When it was needed last.
    used: Instant,
    waiting: Vec<(Instant, Teller)>,
}

/// What has waited, or was not needed, for too long.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    pub(super) waiting: Vec<Teller>,
    pub(super) unused: Vec<Box<[u8]>>,
}

impl<S> Default for Following<S> {
    fn default() -> Self {
        Self(AHashMap::new())
    }
}

impl<S: State> Following<S> {
    /// A channel has got its first subscriber, or lost its last one. Returns whether it is followed from now on.
    pub(super) fn want(
        &mut self,
        channel: &[u8],
        (is_wanted, now): (bool, Instant),
        state: impl FnOnce() -> S,
    ) -> bool {
        if let Some(known) = self.get_mut(channel) {
            (known.is_wanted, known.used) = (is_wanted, now);
            return false;
        }
        if is_wanted {
            let mut followed = Followed::new(state(), now);
            followed.is_wanted = true;
            self.0.insert(channel.into(), followed);
        }
        is_wanted
    }

    /// A channel that was not is followed from now on, because a caller waits for it.
    pub(super) fn add(&mut self, channel: &[u8], now: Instant, state: S, teller: Teller) {
        let mut followed = Followed::new(state, now);
        followed.wait(now, teller);
        self.0.insert(channel.into(), followed);
    }

    /// Takes what is overdue. Unused channels are still followed until [`forget`](Self::forget).
    pub(super) fn overdue(&mut self, now: Instant) -> Overdue {
        let mut overdue = Overdue::default();
        for (channel, followed) in &mut self.0 {
            if followed.is_unused(now) {
                overdue.unused.push(channel.clone());
            }
            let late = |(since, _): &(Instant, Teller)| now.duration_since(*since) >= MOST_WAIT;
            if followed.waiting.iter().any(late) {
                let all = std::mem::take(&mut followed.waiting);
                let (late, rest) = all.into_iter().partition(late);
                followed.waiting = rest;
                let late = tellers(late);
                followed.state.has_kept_waiting(&late);
                overdue.waiting.extend(late);
            }
        }
        overdue
    }

    /// Removes a channel that is unused. Returns whether it was.
    pub(super) fn forget(&mut self, channel: &[u8], now: Instant) -> bool {
        let followed = self.get(channel);
        let is_unused = followed.is_some_and(|followed| followed.is_unused(now));
        if is_unused {
            self.0.remove(channel);
        }
        is_unused
    }

    /// Removes all, with who has waited.
    pub(super) fn take_all(
        &mut self,
    ) -> impl Iterator<Item = (Box<[u8]>, S, Vec<Teller>)> + use<S> {
        let all = std::mem::take(&mut self.0).into_iter();
        all.map(|(channel, followed)| (channel, followed.state, tellers(followed.waiting)))
    }

    pub(super) fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.0.values_mut().map(|followed| &mut followed.state)
    }

    pub(super) fn get_mut(&mut self, channel: &[u8]) -> Option<&mut Followed<S>> {
        self.0.get_mut(channel)
    }

    pub(super) fn get(&self, channel: &[u8]) -> Option<&Followed<S>> {
        self.0.get(channel)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &S)> {
        let each = self.0.iter();
        each.map(|(channel, followed)| (&**channel, &followed.state))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<S: State> Followed<S> {
    fn new(state: S, now: Instant) -> Self {
        Self {
            state,
            is_wanted: false,
            used: now,
            waiting: Vec::new(),
        }
    }

    /// It is needed now.
    pub(super) fn use_at(&mut self, now: Instant) {
        self.used = now;
    }

    /// One more waits for it.
    pub(super) fn wait(&mut self, now: Instant, teller: Teller) {
        self.waiting.push((now, teller));
    }

    /// Takes those who wait. They are going to need it.
    pub(super) fn take_waiting(&mut self, now: Instant) -> Vec<Teller> {
        if !self.waiting.is_empty() {
            self.used = now;
        }
        tellers(std::mem::take(&mut self.waiting))
    }

    fn is_unused(&self, now: Instant) -> bool {
        let is_needed = self.is_wanted || !self.waiting.is_empty() || self.state.is_needed();
        !is_needed && now.duration_since(self.used) >= LINGER
    }
}

fn tellers(waiting: Vec<(Instant, Teller)>) -> Vec<Teller> {
    waiting.into_iter().map(|(_, teller)| teller).collect()
}

/// How long a channel is followed without a subscriber, so that one that comes and goes costs nothing.
pub(super) const LINGER: Duration = Duration::from_secs(2);

/// The longest that a caller waits.
pub(super) const MOST_WAIT: Duration = Duration::from_secs(5);
