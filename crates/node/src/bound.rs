//! A gateway as one JavaScript thread sees it: what the functions that need no id work on. Owns the
//! collection of wake-ups between calls; decides nothing.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use millrace_gateway::limits::FixedLimits;
use millrace_gateway::{Gateway, ShardSet};

use crate::entry::Owner;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::log_sink::Logging;

/// See the module. The shell is never freed: a function may outlive the object it was on.
pub(crate) struct Bound {
    environment: &'static Environment,
    gateway: RefCell<Option<Arc<Gateway>>>,
    /// I/O shards to wake when the running drain ends.
    touched: Cell<ShardSet>,
    /// Whether this thread started the gateway and shuts it down when it ends.
    started: Cell<bool>,
    /// While this thread runs the gateway: the number with which its notices ring here.
    notices: Cell<Option<usize>>,
    /// What the gateway that this thread starts logs to, if anything.
    log: RefCell<Option<Logging>>,
    channel_name_bytes: usize,
    /// The worker whose handlers' replies are collected.
    collector: Cell<Option<&'static HandlerThread>>,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

impl Bound {
    /// With everything of its own at rest.
    pub(crate) fn new(environment: &'static Environment, gateway: Arc<Gateway>) -> Self {
        Self {
            environment,
            gateway: RefCell::new(Some(gateway)),
            touched: Cell::new(ShardSet::default()),
            started: Cell::new(false),
            notices: Cell::new(None),
            log: RefCell::new(None),
            channel_name_bytes: FixedLimits::default().channel_name_bytes,
            collector: Cell::new(None),
        }
    }

    /// The gateway.
    pub(crate) fn gateway(&self) -> Outcome<Arc<Gateway>> {
        self.gateway
            .borrow()
            .as_ref()
            .map(Arc::clone)
            .ok_or_else(gone)
    }

    /// Uses the gateway without counting a reference.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&Arc<Gateway>) -> R) -> Outcome<R> {
        self.gateway.borrow().as_ref().map(work).ok_or_else(gone)
    }

    /// Posts something: the touched I/O shards are woken now, or at the end of the running drain.
    pub(crate) fn post<R>(
        &self,
        work: impl FnOnce(&Arc<Gateway>, &mut ShardSet) -> R,
    ) -> Outcome<R> {
        self.with(|gateway| {
            let mut touched = self.touched.take();
            let result = work(gateway, &mut touched);
            if self.environment.is_draining() {
                self.touched.set(touched);
            } else {
                gateway.wake(&mut touched);
            }
            result
        })
    }

    /// Wakes what a drain touched.
    pub(crate) fn wake(&self) {
        let mut touched = self.touched.take();
        if !touched.is_empty()
            && let Some(gateway) = self.gateway.borrow().as_ref()
        {
            gateway.wake(&mut touched);
        }
    }

    /// The worker whose handlers' replies are collected: the one that was added last.
    pub(crate) fn collector(&self) -> Option<&'static HandlerThread> {
        self.collector.get()
    }

    pub(crate) fn collect_for(&self, thread: &'static HandlerThread) {
        self.collector.set(Some(thread));
    }

    /// How long a channel's name may be.
    pub(crate) fn channel_name_bytes(&self) -> usize {
        self.channel_name_bytes
    }

    /// The number with which the gateway's notices ring here.
    pub(crate) fn notices(&self) -> Option<usize> {
        self.notices.get()
    }

    pub(crate) fn set_notices(&self, number: Option<usize>) {
        self.notices.set(number);
    }

    pub(crate) fn log(&self) -> &RefCell<Option<Logging>> {
        &self.log
    }

    pub(crate) fn set_started(&self, started: bool) {
        self.started.set(started);
    }

    /// The environment is going away.
    pub(crate) fn end(&self) {
        let gateway = self.gateway.take();
        if let Some(gateway) = gateway
            && self.started.get()
        {
            gateway.shutdown();
        }
    }
}

impl Owner for Bound {
    fn environment(&'static self) -> &'static Environment {
        self.environment
    }
}

pub(crate) fn gone() -> Failure {
    Failure::Coded(
        "ERR_MILLRACE_GATEWAY_GONE",
        "the gateway no longer exists".to_owned(),
    )
}
