//! What a backplane has done, and how it is: written by its task, read by anybody.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How a link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It has never been up.
    #[default]
    Connecting,
    /// Messages go over it.
    Ready,
    /// It was up, and will be again.
    Lost,
}

impl State {
    /// Its name for people and programs.
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

        /// A backplane at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            /// How the link is.
            pub state: State,
            /// For how long it has been so.
            pub since: Duration,
            /// Messages waiting to be sent.
            pub queued: usize,
            /// Bytes of these.
            pub queued_bytes: usize,
            /// Messages that were not sent, because too many waited or one was too large.
            pub dropped: u64,
            /// Times that publishers which can wait were made to, because much was queued.
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
    /// Messages published here that the server has taken.
    sent,
    /// Messages on their way: the server has not said yet that it has taken them.
    in_flight,
    /// Messages that were on their way when the link was lost: the server may have taken them or not.
    unconfirmed,
    /// Messages and subscriptions that the server refused.
    refused,
    /// Messages from other nodes, and from whoever else publishes.
    received,
    /// Of these, those of nobody that is a node.
    foreign,
    /// Messages of other nodes that did not arrive, counted for each subscription of this node.
    missed,
    /// Messages of other nodes that came a second time and were not delivered.
    duplicates,
    /// What came and was none: cut, of another version, a text that is no UTF-8, or longer than may be.
    malformed,
    /// Times the link was lost.
    losses,
    /// Channels and patterns that the server sends us.
    subscriptions,
    /// Those of which it has not confirmed it yet.
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

    /// The link is up, or not any more; true: that is news.
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
