//! Calls for channels with history: publishing with a position, entering at one, and reading what is kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millrace_core::{
    EnterError, Entered, Entrance, Kind, Manner, Past, Published, ShardSet, SocketId, SocketState,
    Start, Target,
};

use super::Hub;
use super::clock::unix_ms;
use super::outgoing::Outgoing;
use super::teller::Teller;
use crate::frame::{KeptMessage, Publication};
use crate::sync::Ordering;

/// Why sockets do not enter a channel at a position. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PastError {
    /// The inbox of an I/O shard is full.
    #[error("an I/O thread has too much to do; no socket was subscribed")]
    Overloaded,
    /// Whether they would miss something is not known: the store has to be [asked](Hub::when_followed) first.
    #[error("the store of histories has to be asked first")]
    Unknown,
    /// A virtual socket gets only what is published from now on.
    #[error("a virtual socket cannot be subscribed at a position: {0}")]
    Virtual(SocketId),
}

impl Hub {
    /// Publishes in a channel; returns where the message is in it. Never blocks.
    pub fn publish(
        &self,
        channel: &[u8],
        (kind, payload): (Kind, &[u8]),
        manner: &Manner<'_>,
        dirty: &mut ShardSet,
    ) -> Published {
        self.publish_message(channel, &Outgoing::new(kind, payload), manner, dirty)
    }

    /// Like [`publish`](Self::publish), with a payload that connections with compression get as it is.
    pub fn publish_uncompressed(
        &self,
        channel: &[u8],
        (kind, payload): (Kind, &[u8]),
        manner: &Manner<'_>,
        dirty: &mut ShardSet,
    ) -> Published {
        let publication = Publication::new(kind, payload).uncompressed();
        self.publish_message(channel, &Outgoing::fresh(&publication), manner, dirty)
    }

    fn publish_message(
        &self,
        channel: &[u8],
        message: &Outgoing<'_>,
        manner: &Manner<'_>,
        dirty: &mut ShardSet,
    ) -> Published {
        let mut poster = self.poster(dirty);
        let published = self.core.publish_as(channel, message, manner, &mut poster);
        let lost = poster.lost();
        drop(poster);
        self.account_for(lost);
        published
    }

    /// Subscribes real sockets to a channel at a position; sockets that do not exist are left out.
    pub fn subscribe_at(
        &self,
        who: &[Target<'_>],
        channel: &[u8],
        start: Start,
        dirty: &mut ShardSet,
    ) -> Result<Vec<(SocketId, Entered)>, PastError> {
        for target in who {
            if let Target::Socket(id) = target
                && let Some(SocketState::Virtual { .. }) = self.core.socket(*id)
            {
                return Err(PastError::Virtual(*id));
            }
        }
        if !self.admits(who) {
            return Err(PastError::Overloaded);
        }
        let entrance = Entrance {
            start,
            known: self.replicas.in_store(channel),
            references: 1,
            own: false,
            tag: 0,
        };
        let mut poster = self.poster(dirty);
        let entered = self.core.subscribe_at(who, channel, entrance, &mut poster);
        entered.map_err(|_| PastError::Unknown)
    }

    /// Publishes on behalf of a client; if it `is_named`, subscribers whose protocol says it see who has published. If a
    /// store has the message, its session is told by this number what comes of it.
    pub(crate) fn publish_by(
        &self,
        (socket, is_named, number): (SocketId, bool, u32),
        (channel, key): (&[u8], Option<&[u8]>),
        (kind, payload): (Kind, &[u8]),
        dirty: &mut ShardSet,
    ) -> Published {
        let mut manner = Manner {
            key,
            ..Manner::default()
        };
        if self.replicas.is_on() {
            manner.ticket = self.replicas.open_ticket(Teller::Session(socket, number));
        }
        let published = if is_named {
            manner.from = Some(socket);
            let name = self.socket_name(socket);
            let publication = Publication::new(kind, payload).published_by(name);
            self.publish_message(channel, &Outgoing::fresh(&publication), &manner, dirty)
        } else {
            self.publish(channel, (kind, payload), &manner, dirty)
        };
        self.replicas.take_ticket(manner.ticket);
        published
    }

    /// Subscribes a client on behalf of its protocol; see [`Core::enter_at`](millrace_core::Core::enter_at).
    pub fn enter_at(
        &self,
        id: SocketId,
        channel: &[u8],
        entrance: Entrance,
        most: usize,
        dirty: &mut ShardSet,
    ) -> Result<Entered, EnterError> {
        let entrance = Entrance {
            known: self.replicas.in_store(channel),
            ..entrance
        };
        let mut poster = self.poster(dirty);
        self.core.enter_at(id, channel, entrance, most, &mut poster)
    }

    /// What a channel keeps; see [`Core::history`](millrace_core::Core::history).
    pub fn history(
        &self,
        channel: &[u8],
        from: (Start, bool),
        most: usize,
    ) -> Option<Past<KeptMessage>> {
        self.core.history(channel, from, most, unix_ms())
    }

    /// Drops what is too old.
    pub(crate) fn expire_history(&self) {
        let mut dirty = ShardSet::default();
        self.core.expire_history(&mut self.poster(&mut dirty));
        self.wake(&mut dirty);
        self.sweep_replicas(Instant::now());
        self.sweep_rosters();
    }

    /// Counts messages of the past that were put into outboxes: deliveries that were not posted.
    pub(crate) fn count_recovered(&self, messages: usize) {
        let messages = u64::try_from(messages).unwrap_or(u64::MAX);
        self.counted
            .recovered
            .fetch_add(messages, Ordering::Relaxed);
    }

    /// Whether something has to be done from time to time.
    fn has_upkeep(&self) -> bool {
        let terms = self.terms.lock();
        self.rosters.is_on() || terms.iter().any(|terms| terms.history.is_some())
    }
}

/// Drops messages that are too old, every second, for as long as the shard lives that runs it.
pub(crate) async fn expire(hub: Arc<Hub>) {
    if !hub.has_upkeep() {
        return;
    }
    loop {
        tokio::time::sleep(PERIOD).await;
        hub.expire_history();
    }
}

/// Between two looks for messages that are too old. When they are read, they are looked at anyway.
const PERIOD: Duration = Duration::from_secs(1);
