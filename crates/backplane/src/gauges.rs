//! The counters and the state of a backplane: its task writes them, and any thread may read them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The link has never been up.
    #[default]
    Connecting,
    /// The link is up.
    Ready,
    /// The link was up and is being restored.
    Lost,
}

impl State {
    /// That of a link that is up, or was lost so often.
    pub fn of(is_connected: bool, losses: u64) -> Self {
        match (is_connected, losses) {
            (true, _) => Self::Ready,
            (false, 0) => Self::Connecting,
            (false, _) => Self::Lost,
        }
    }

    /// The name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Lost => "lost",
        }
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// See the module.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: AtomicU64,)*
        }

        /// The state of a backplane at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            /// The state of the link.
            pub state: State,
            /// How long the link has been in this state.
            pub since: Duration,
            /// The messages in the send queue.
            pub queued: usize,
            /// The bytes of these messages.
            pub queued_bytes: usize,
            /// The messages that were dropped, because the queue was full or the message was too
            /// large.
            pub dropped: u64,
            /// How often publishers that can wait had to, because the queue was long.
            pub waits: u64,
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            fn read(&self) -> Stats {
                Stats {
                    $($name: self.$name.load(Ordering::Relaxed),)*
                    ..Stats::default()
                }
            }
        }
    };
}

counters! {
    /// The messages published here that the server has accepted.
    sent,
    /// The messages that were sent and that the server has not confirmed yet.
    in_flight,
    /// The messages that were not confirmed when the link was lost: the server may have accepted them
    /// or not.
    unconfirmed,
    /// The messages and subscriptions that the server refused.
    refused,
    /// The messages from other nodes and other programs.
    received,
    /// Of the messages received, those of programs that are not nodes.
    foreign,
    /// The messages of other nodes that did not arrive, counted for each subscription of this node.
    missed,
    /// The messages of other nodes that came a second time and were not delivered.
    duplicates,
    /// The messages received that were invalid: truncated, of another version, a text that is not
    /// UTF-8, or too long.
    malformed,
    /// How often the link was lost.
    losses,
    /// The channels and patterns that the server has subscribed this node to.
    subscriptions,
    /// The channels and patterns whose subscription the server has not confirmed yet.
    pending_subscriptions,
}

/// The counters and the state.
#[derive(Debug)]
pub(crate) struct Gauges {
    pub(crate) counters: Counters,
    state: Mutex<(State, Instant)>,
    has_been_ready: AtomicBool,
}

impl Gauges {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            counters: Counters::default(),
            state: Mutex::new((State::Connecting, now)),
            has_been_ready: AtomicBool::new(false),
        }
    }

    /// Records whether the link is up. Returns whether that is a change.
    pub(crate) fn set_up(&self, is_up: bool, now: Instant) -> bool {
        let state = if is_up {
            self.has_been_ready.store(true, Ordering::Relaxed);
            State::Ready
        } else if self.has_been_ready.load(Ordering::Relaxed) {
            State::Lost
        } else {
            State::Connecting
        };
        let mut known = self.state.lock();
        let is_news = known.0 != state;
        if is_news {
            *known = (state, now);
        }
        is_news
    }

    pub(crate) fn stats(&self, now: Instant) -> Stats {
        let (state, since) = *self.state.lock();
        Stats {
            state,
            since: now.saturating_duration_since(since),
            ..self.counters.read()
        }
    }
}

/// Adds to a counter that only this thread writes.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
