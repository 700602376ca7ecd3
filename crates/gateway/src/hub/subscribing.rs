//! Changes of subscriptions, of which the I/O shards are told. New subscriptions are refused if the inbox of a shard
//! has no room; ending one is never refused.

use millrace_core::{EnterError, OwnError, PatternError, ShardSet, SocketId, Tally, Target, Topic};

use super::Hub;

/// Why subscriptions are refused. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The inbox of an I/O shard is full.
    #[error("an I/O thread has too much to do; no socket was subscribed")]
    Overloaded,
    /// The pattern is refused.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl Hub {
    /// Changes subscriptions to a channel; see [`Core::subscribe`](millrace_core::Core::subscribe).
    pub fn subscribe(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        delta: i32,
        dirty: &mut ShardSet,
    ) -> Result<Vec<SocketId>, SubscribeError> {
        self.subscribe_to(who, Topic::Channel(channel), delta, dirty)
    }

    /// Changes subscriptions to a channel or pattern; see [`Core::subscribe_to`](millrace_core::Core::subscribe_to).
    /// Ending subscriptions is never refused.
    pub fn subscribe_to(
        &self,
        who: &[Target<'_>],
        topic: Topic<'_>,
        delta: i32,
        dirty: &mut ShardSet,
    ) -> Result<Vec<SocketId>, SubscribeError> {
        if delta > 0 && !self.admits(who) {
            return Err(SubscribeError::Overloaded);
        }
        let changed = self
            .core
            .subscribe_to(who, topic, delta, &mut self.poster(dirty))?;
        Ok(changed)
    }

    /// Whether the I/O shards of the sockets in `who` have room for one subscription of each.
    pub(super) fn admits(&self, who: &[Target<'_>]) -> bool {
        let meant = who.iter().map(|target| match target {
            Target::Socket(_) => 1,
            Target::Channel(name) => self.core.subscribers(Topic::Channel(name)),
        });
        self.inboxes.have_room(meant.sum()) || self.admits_each(who)
    }

    #[cold]
    fn admits_each(&self, who: &[Target<'_>]) -> bool {
        self.core.places(who).iter().all(|(shard, count)| {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            self.inboxes.has_room(*shard, count)
        })
    }

    /// Whether a client may [`enter`](Self::enter) this many channels and patterns now.
    pub fn admits_entering(&self, id: SocketId, count: usize) -> bool {
        self.inboxes.have_room(count)
            || self
                .core
                .route(id)
                .is_none_or(|route| self.inboxes.has_room(route.shard, count))
    }

    /// Subscribes a client on behalf of its protocol; see [`Core::enter`](millrace_core::Core::enter).
    pub fn enter(
        &self,
        id: SocketId,
        topic: Topic<'_>,
        most: usize,
        dirty: &mut ShardSet,
    ) -> Result<Tally, EnterError> {
        self.core.enter(id, topic, most, &mut self.poster(dirty))
    }

    /// Unsubscribes a client on behalf of its protocol; see [`Core::exit`](millrace_core::Core::exit).
    pub fn exit(&self, id: SocketId, topic: Topic<'_>, dirty: &mut ShardSet) -> Tally {
        self.core.exit(id, topic, &mut self.poster(dirty))
    }
}

/// Subscriptions of the client itself, beside those of the application.
impl Hub {
    /// See [`Core::enter_own`](millrace_core::Core::enter_own).
    pub fn enter_own(
        &self,
        id: SocketId,
        channel: &[u8],
        most: usize,
        dirty: &mut ShardSet,
    ) -> Result<(), OwnError> {
        self.core
            .enter_own(id, channel, most, &mut self.poster(dirty))
    }

    /// See [`Core::exit_own`](millrace_core::Core::exit_own).
    pub fn exit_own(&self, id: SocketId, channel: &[u8], dirty: &mut ShardSet) -> bool {
        self.core.exit_own(id, channel, &mut self.poster(dirty))
    }
}

#[cfg(test)]
mod tests;
