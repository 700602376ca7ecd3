//! A gateway's life: starting, listening, reloading and stopping. Owns the configuration, the listeners and the
//! protocols; its [hub](crate::hub) does the messaging.

mod adopt;
mod dial;
mod ending;
mod lifecycle;
mod member;
mod start_error;
mod stopping;
mod threads;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use crate::adapter;
use crate::backplane::BackplaneHandle;
use crate::config::GatewayConfig;
use crate::frame::Encodings;
use crate::hub::Hub;
use crate::listener::{ListenerState, Stopping};
use crate::notice::Notices;
use crate::shard::protocol::{Protocol, Services};
use crate::sync::Mutex;
use dial::Dialled;
use threads::Threads;

pub use adopt::Adopted;
pub use dial::DialConfig;
pub use lifecycle::Listening;
pub use member::Member;
pub use start_error::StartError;
pub use stopping::{SpreadTerms, StopTerms};

/// See the module. Threads that only send, subscribe and count use its [`Hub`].
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
    /// The stops by ticket; those that are over are removed with the next one.
    stops: Vec<(u32, Weak<Stopping>)>,
    next_worker: u32,
    shards_left: usize,
    /// The notices of the thread that was the last to share it, which waits for the end.
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

/// A gateway has all methods of its hub.
impl Deref for Gateway {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.hub
    }
}

impl Gateway {
    /// A gateway that is not started; its core works already.
    pub fn new() -> Arc<Self> {
        Self::with(adapter::protocols)
    }

    /// A gateway that several threads share. It runs from the first thread that [shares](Self::share) it until the last
    /// one leaves; nothing else starts or ends it.
    pub fn shared() -> Arc<Self> {
        Self::made(adapter::protocols, Hub::shared)
    }

    /// A gateway with these protocols.
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
    /// For tests of how the gateway ends with its backplane.
    pub(crate) fn backplane(&self) -> &BackplaneHandle {
        &self.backplane
    }
}
