//! A gateway bound to one JavaScript thread, on which the functions without an id work. Owns the wake-ups that are
//! collected between calls; decides nothing.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use millrace_gateway::limits::FixedLimits;
use millrace_gateway::{Doorbell, Gateway, GatewayConfig, ListenError, Member, ShardSet};

use crate::addon::{ADDON, Counted, Shared};
use crate::answering::Answering;
use crate::entry::Owner;
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Reference, Value};
use crate::log_relay::Logging;
use crate::questions::Questions;
use crate::sendings::Sendings;
use crate::shells::Shell;

/// See the module. It lives as long as JavaScript has one of its functions, because a function may outlive the object
/// it was on.
pub(crate) struct Bound {
    environment: Rc<Environment>,
    /// Its number in its environment.
    number: usize,
    gateway: RefCell<Option<Arc<Gateway>>>,
    /// The shared part, if several threads share the gateway.
    shared: Option<Arc<Shared>>,
    /// The membership of this thread, while it shares the gateway.
    member: RefCell<Option<Rc<Member>>>,
    /// The I/O shards to wake when the running drain ends.
    dirty: Cell<ShardSet>,
    /// Whether this thread started the gateway or shares it, and so shuts it down or leaves it when the thread ends.
    started: Cell<bool>,
    /// Whether this thread has ever started the gateway.
    has_started: Cell<bool>,
    /// Whether the gateway that this thread started keeps the process running.
    held: Cell<bool>,
    /// The number with which the gateway's notices ring here, while this thread runs the gateway.
    notices: Cell<Option<usize>>,
    /// The log of the gateway that this thread starts, if it has one.
    log: RefCell<Option<Logging>>,
    channel_name_bytes: usize,
    /// What this thread has asked the I/O threads.
    questions: Questions,
    /// The messages that this thread sends in parts.
    sendings: Sendings,
    /// What the handlers of the worker that was added last answer from.
    answering: RefCell<Weak<Answering>>,
    _counted: Counted,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

impl Bound {
    /// Binds a gateway that has not been started by this thread.
    pub(crate) fn new(environment: Rc<Environment>, gateway: Arc<Gateway>) -> Rc<Self> {
        Rc::new(Self::of(environment, gateway, None))
    }

    /// Binds a gateway that several threads share.
    pub(crate) fn shared_by(environment: Rc<Environment>, shared: Arc<Shared>) -> Rc<Self> {
        let gateway = Arc::clone(&shared.gateway);
        Rc::new(Self::of(environment, gateway, Some(shared)))
    }

    fn of(
        environment: Rc<Environment>,
        gateway: Arc<Gateway>,
        shared: Option<Arc<Shared>>,
    ) -> Self {
        Self {
            environment,
            number: ADDON.new_number(),
            gateway: RefCell::new(Some(gateway)),
            shared,
            member: RefCell::new(None),
            dirty: Cell::new(ShardSet::default()),
            started: Cell::new(false),
            has_started: Cell::new(false),
            held: Cell::new(true),
            notices: Cell::new(None),
            log: RefCell::new(None),
            channel_name_bytes: FixedLimits::default().channel_name_bytes,
            questions: Questions::default(),
            sendings: Sendings::default(),
            answering: RefCell::default(),
            _counted: Counted::new(&ADDON.counts().gateways),
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

    /// The shared part, if several threads share the gateway.
    pub(crate) fn shared(&self) -> Option<&Arc<Shared>> {
        self.shared.as_ref()
    }

    /// The membership of this thread, until everything of its own has stopped; `None` if it does not share the gateway.
    pub(crate) fn member(&self) -> Option<Rc<Member>> {
        self.member.borrow().clone()
    }

    /// The membership in whose name this thread uses the gateway; `None` if the thread does not share it.
    pub(crate) fn party(&self) -> Outcome<Option<Rc<Member>>> {
        let member = self.member();
        if self.shared.is_some() && member.is_none() {
            let error = ListenError::NotRunning;
            return Err(Failure::Coded(error.code(), error.to_string()));
        }
        Ok(member)
    }

    /// Starts the gateway, or joins it if several threads share it and it runs already.
    pub(crate) fn start(&self, config: GatewayConfig, door: Arc<dyn Doorbell>) -> Outcome<()> {
        let gateway = self.gateway()?;
        let started = if self.shared.is_none() {
            gateway.start(config, door)
        } else if self.member().is_some() {
            Ok(())
        } else {
            gateway.share(config, door).map(|member| {
                self.member.replace(Some(Rc::new(member)));
            })
        };
        started.map_err(|error| Failure::Coded(error.code(), error.to_string()))
    }

    /// Stops the gateway, or leaves it to the other threads that share it.
    pub(crate) fn shutdown(&self) -> Outcome<()> {
        let gateway = self.gateway()?;
        match self.member() {
            Some(member) => member.leave(),
            None if self.shared.is_none() => gateway.shutdown(),
            None => {}
        }
        self.started.set(false);
        Ok(())
    }

    /// Whether the gateway is started, as far as this thread knows.
    pub(crate) fn is_running(&self) -> Outcome<bool> {
        let is_ours = self.shared.is_none() || self.started.get();
        self.with(|gateway| is_ours && gateway.is_running())
    }

    /// Ends the membership, because everything has stopped.
    pub(crate) fn forget_member(&self) {
        self.member.take();
    }

    /// Uses the gateway without cloning the reference.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&Arc<Gateway>) -> R) -> Outcome<R> {
        self.gateway.borrow().as_ref().map(work).ok_or_else(gone)
    }

    /// Posts a change. Wakes the dirty I/O shards now, or at the end of the running drain.
    pub(crate) fn post<R>(
        &self,
        work: impl FnOnce(&Arc<Gateway>, &mut ShardSet) -> R,
    ) -> Outcome<R> {
        self.with(|gateway| {
            let mut dirty = self.dirty.take();
            let result = work(gateway, &mut dirty);
            if self.environment.is_draining() {
                self.dirty.set(dirty);
            } else {
                gateway.wake(&mut dirty);
            }
            result
        })
    }

    /// Wakes the I/O shards that a drain made dirty.
    pub(crate) fn wake_dirty(&self) {
        let mut dirty = self.dirty.take();
        if !dirty.is_empty()
            && let Some(gateway) = self.gateway.borrow().as_ref()
        {
            gateway.wake(&mut dirty);
        }
    }

    /// What handlers answer from, if there is or was a worker.
    pub(crate) fn answering(&self) -> Option<Rc<Answering>> {
        self.answering.borrow().upgrade()
    }

    pub(crate) fn answer_from(&self, answering: &Rc<Answering>) {
        self.answering.replace(Rc::downgrade(answering));
    }

    /// The environment that it belongs to.
    pub(crate) fn environment(&self) -> &Rc<Environment> {
        &self.environment
    }

    pub(crate) fn sendings(&self) -> &Sendings {
        &self.sendings
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// The longest name that a channel may have.
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

    /// Sets whether the gateway keeps the process running. Returns the value before.
    pub(crate) fn set_held(&self, held: bool) -> bool {
        self.held.replace(held)
    }

    pub(crate) fn log(&self) -> &RefCell<Option<Logging>> {
        &self.log
    }

    pub(crate) fn set_started(&self, started: bool) {
        self.started.set(started);
        self.has_started.set(self.has_started.get() || started);
    }

    /// Releases the gateway, which cannot be used from here any more.
    fn let_go(&self) -> Option<Arc<Gateway>> {
        let gateway = self.gateway.take()?;
        let mut dirty = ShardSet::default();
        for message in self.sendings.take_all() {
            // nothing completes it any more
            gateway.abort_stream(&message.sending, &mut dirty);
        }
        gateway.wake(&mut dirty);
        if let Some(member) = self.member() {
            member.leave();
        } else if self.started.replace(false) {
            gateway.shutdown();
        }
        Some(gateway)
    }
}

impl Shell for Bound {
    fn wake(&self) {
        self.wake_dirty();
    }

    fn lost(&self) {
        self.let_go();
    }

    fn end(&self, _js: Js<'_>) {
        self.log.take();
        // The runtime may unload the addon or end the process after this, so the threads that this one has started must
        // have ended. Waiting blocks no JavaScript, because none runs on this thread any more.
        let gateway = self.let_go();
        let _late = match (self.member.take(), gateway) {
            (Some(member), _) => member.join(LONGEST_END),
            (None, Some(gateway)) if self.has_started.get() && !gateway.is_running() => {
                gateway.join(LONGEST_END)
            }
            (None, _) => true,
        };
    }
}

impl Owner for Bound {
    fn error_class(&self) -> Option<Reference> {
        self.environment.error_class()
    }

    fn keep(own: &Rc<Self>, js: Js<'_>, function: Value<'_>) -> Outcome<()> {
        own.environment.keep(js, (own.number, own), function)
    }
}

pub(crate) fn gone() -> Failure {
    Failure::Coded(
        "ERR_MILLRACE_GATEWAY_GONE",
        "the gateway no longer exists".to_owned(),
    )
}

/// The longest that a JavaScript thread waits for the threads of a gateway that it started.
const LONGEST_END: Duration = Duration::from_secs(2);
