//! A gateway's life: it starts, listens, reloads and stops. Owns the configuration, the listeners and the values of
//! the protocols; messaging is its [hub](crate::hub)'s.

mod dial;
mod lifecycle;
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
use crate::shard::protocol::{Protocol, Services};
use crate::sync::Mutex;
use dial::Dialled;
use threads::Threads;

pub use dial::DialConfig;
pub use lifecycle::Listening;
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

    /// One that speaks these.
    pub(crate) fn with(
        protocols: impl FnOnce(&Arc<Encodings>) -> Vec<Box<dyn Protocol>>,
    ) -> Arc<Self> {
        let encodings = Arc::new(Encodings::new());
        let protocols = protocols(&encodings);
        Arc::new(Self {
            hub: Arc::new(Hub::new(encodings)),
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
