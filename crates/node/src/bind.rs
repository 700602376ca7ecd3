//! A gateway as one JavaScript thread sees it: the object whose functions need no id. Owns the
//! collection of wake-ups between calls; decides nothing.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use millrace_gateway::limits::FixedLimits;
use millrace_gateway::{Gateway, ShardSet};

use crate::entry::{Call, Owner, define};
use crate::environment::Environment;
use crate::failure::{Failure, Outcome};
use crate::handlers::HandlerThread;
use crate::js::{Js, Value};
use crate::log::Logging;
use crate::{cluster, control, debug, handlers, hot, log, replies, stats};

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
    /// An object with every function of `gateway`.
    pub(crate) fn object<'s>(
        js: Js<'s>,
        environment: &'static Environment,
        gateway: Arc<Gateway>,
    ) -> Outcome<Value<'s>> {
        let bound: &'static Self = Box::leak(Box::new(Self {
            environment,
            gateway: RefCell::new(Some(gateway)),
            touched: Cell::new(ShardSet::default()),
            started: Cell::new(false),
            notices: Cell::new(None),
            log: RefCell::new(None),
            channel_name_bytes: FixedLimits::default().channel_name_bytes,
            collector: Cell::new(None),
        }));
        let object = js.object()?;
        define!(js, object, bound, {
            c"send" => hot::send,
            c"sendLong" => hot::send_long,
            c"reply" => replies::reply,
            c"subscribe" => hot::subscribe,
            c"unsubscribe" => hot::unsubscribe,
            c"copySubscriptions" => hot::copy_subscriptions,
            c"hasSubscriptions" => hot::has_subscriptions,
            c"createVirtualSocket" => hot::create_virtual_socket,
            c"deleteVirtualSocket" => hot::delete_virtual_socket,
            c"setToken" => hot::set_token,
            c"token" => hot::token,
            c"getKey" => hot::get_key,
            c"setKey" => hot::set_key,
            c"setKeyIf" => hot::set_key_if,
            c"close" => hot::close,
            c"openLog" => log::open_log,
            c"takeLog" => log::take_log,
            c"start" => control::start,
            c"isRunning" => control::is_running,
            c"listen" => control::listen,
            c"reloadTls" => control::reload_tls,
            c"stopListeners" => control::stop_listeners,
            c"shutdown" => control::shutdown,
            c"takeNotices" => control::take_notices,
            c"suspendLiveness" => control::suspend_liveness,
            c"ended" => control::ended,
            c"addWorker" => handlers::add_worker,
            c"debugState" => debug::debug_state,
            c"stats" => stats::stats,
            c"countError" => stats::count_error,
            c"askCluster" => cluster::ask_cluster,
            c"clusterAnswer" => cluster::cluster_answer,
        });
        environment.add_bound(bound);
        js.when_collected(object, collected, bound)?;
        Ok(object)
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

/// JavaScript has lost the object: nothing can use the gateway from here.
fn collected(bound: &'static Bound) {
    bound.environment.remove_bound(bound);
    bound.end();
}

/// `bind(id)`: the functions of a gateway.
pub(crate) fn bind<'s>(call: &Call<'s, Environment>) -> Outcome<Option<Value<'s>>> {
    let id = crate::arguments::whole(call.js, call.arguments[0], "id")?;
    let Some(gateway) = crate::addon::ADDON.find(id) else {
        return Err(gone());
    };
    Bound::object(call.js, call.own, gateway).map(Some)
}

fn gone() -> Failure {
    Failure::Coded(
        "ERR_MILLRACE_GATEWAY_GONE",
        "the gateway no longer exists".to_owned(),
    )
}
