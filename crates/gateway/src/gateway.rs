//! A gateway's life: it starts, listens, reloads and stops. Owns the configuration, the listeners and the values of
//! the protocols; messaging is its [hub](crate::hub)'s.

mod dial;
mod ending;
mod lifecycle;
mod member;
mod start_error;
mod threads;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::adapter;
use crate::backplane::BackplaneHandle;
use crate::config::GatewayConfig;
use crate::frame::Encodings;
use crate::hub::Hub;
use crate::listener::ListenerState;
use crate::notice::Notices;
use crate::shard::protocol::{Protocol, Services};
use crate::sync::Mutex;
use dial::Dialled;
use threads::Threads;

pub use dial::DialConfig;
pub use lifecycle::Listening;
pub use member::Member;
pub use start_error::StartError;

/// See the module. What it is for threads that only send, subscribe and count is its [`Hub`].
pub struct Gateway {
    hub: Arc<Hub>,
    backplane: Arc<BackplaneHandle>,
    protocols: Vec<Box<dyn Protocol>>,
    services: Arc<Services>,
    dialled: Arc<Dialled>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    config: Option<GatewayConfig>,
    listeners: Vec<Arc<ListenerState>>,
    next_listener: u32,
    next_ticket: u32,
    next_worker: u32,
    shards_left: usize,
    /// Of the thread that shared it last, which waits for the end.
    last: Option<Arc<Notices>>,
    threads: Threads,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("hub", &self.hub)
            .finish_non_exhaustive()
    }
}

/// A gateway can do all that its hub can.
impl Deref for Gateway {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.hub
    }
}

impl Gateway {
    /// A gateway that is not started: its core works already.
    pub fn new() -> Arc<Self> {
        Self::with(adapter::protocols)
    }

    /// One that threads share: it runs from the first that [shares](Self::share) it to the last that leaves, and nobody else starts
    /// or ends it.
    pub fn shared() -> Arc<Self> {
        Self::made(adapter::protocols, Hub::shared)
    }

    /// One that speaks these.
    pub(crate) fn with(
        protocols: impl FnOnce(&Arc<Encodings>) -> Vec<Box<dyn Protocol>>,
    ) -> Arc<Self> {
        Self::made(protocols, Hub::new)
    }

    fn made(
        protocols: impl FnOnce(&Arc<Encodings>) -> Vec<Box<dyn Protocol>>,
        hub: impl FnOnce(Arc<Encodings>) -> Hub,
    ) -> Arc<Self> {
        let encodings = Arc::new(Encodings::new());
        let protocols = protocols(&encodings);
        Arc::new(Self {
            hub: Arc::new(hub(encodings)),
            backplane: Arc::new(BackplaneHandle::new()),
            protocols,
            services: Arc::default(),
            dialled: Arc::default(),
            state: Mutex::new(State::default()),
        })
    }
}

#[cfg(test)]
impl Gateway {
    /// For tests of what the backplane's end means for the gateway.
    pub(crate) fn backplane(&self) -> &BackplaneHandle {
        &self.backplane
    }
}
