//! The hub's link to other nodes: runs the backplane's task on a thread of its own, passes it what the core publishes,
//! and answers questions about all nodes. Owns the task's lifetime; the backplane owns the wire format.

mod answers;
mod feed;
mod local;
mod roll;
mod uplink;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millrace_backplane::store::{
    Attendance, AttendanceTask, SharedHistory, SharedPresence, Store, StoreSetupError, StoreTask,
};
use millrace_backplane::{
    Backplane, Bounds, Census, ClusterInfo, Config, KeptChannels, Member, Outlet, Stats, Task,
    TlsError,
};

use crate::config::ChannelTerms;
use crate::hub::Hub;
use crate::limits::GatewayLimits;
use crate::sync::Mutex;
use answers::{Answers, Pending};
use feed::NodeFeed;
use local::LocalNode;
use roll::NodeRoll;
use uplink::BackplaneUplink;

/// What a hub holds of its backplane.
pub(crate) struct BackplaneHandle {
    /// Made by the first start with a backplane and then kept, so that message numbers continue.
    outlet: OnceLock<Arc<Outlet>>,
    running: Mutex<Option<Running>>,
    answers: Arc<Answers>,
}

struct Running {
    backplane: Arc<Backplane>,
    store: Option<Arc<Store>>,
    attendance: Option<Arc<Attendance>>,
    /// The time until which messages that still wait at the end may be sent.
    drains_until: Option<Instant>,
}

impl fmt::Debug for BackplaneHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackplaneHandle").finish_non_exhaustive()
    }
}

impl BackplaneHandle {
    pub(crate) fn new() -> Self {
        Self {
            outlet: OnceLock::new(),
            running: Mutex::new(None),
            answers: Arc::new(Answers::new()),
        }
    }

    /// Prepares a task for this configuration, without running it, and those of the stores that the channels need.
    pub(crate) fn prepare(
        &self,
        mut config: Config,
        limits: &GatewayLimits,
        (hub, channels): (&Arc<Hub>, &[ChannelTerms]),
    ) -> Result<Prepared, PrepareError> {
        let kept = |terms: &ChannelTerms| {
            Some(KeptChannels {
                pattern: terms.text.clone(),
                terms: terms.history?,
            })
        };
        config.histories = channels.iter().filter_map(kept).collect();
        config.bounds = Bounds {
            queue_messages: limits.backplane_queue,
            queue_bytes: limits.backplane_queue_bytes,
            message_bytes: limits.backplane_message_bytes,
            full: limits.backplane_full,
        };
        let outlet = self.outlet.get_or_init(|| Arc::new(Outlet::new()));
        let store = if config.histories.is_empty() {
            None
        } else {
            let feed = Arc::new(NodeFeed::new(Arc::clone(hub)));
            Some(Store::new(&config, outlet.node(), feed)?)
        };
        let attendance = if channels.iter().any(|terms| terms.presence) {
            let roll = Arc::new(NodeRoll::new(Arc::clone(hub)));
            Some(Attendance::new(&config, outlet.node(), roll)?)
        } else {
            None
        };
        let (backplane, task) = Backplane::new(config, outlet)?;
        Ok(Prepared {
            backplane,
            task,
            store,
            attendance,
        })
    }

    /// Runs a task on a thread of its own. The last thing it does is to call `ended`, with the reason if a bug ended
    /// it.
    pub(crate) fn run(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        prepared: Prepared,
        log: Option<tracing::Dispatch>,
        ended: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let Prepared {
            backplane,
            task,
            store,
            attendance,
        } = prepared;
        let backplane = Arc::new(backplane);
        let (store, store_task) = store.unzip();
        let (attendance, attendance_task) = attendance.unzip();
        hub.set_uplink(|| {
            let outlet = Arc::clone(backplane.outlet());
            Arc::new(BackplaneUplink::new(outlet, hub, self))
        });
        backplane.outlet().open();
        if let Some(store) = &store {
            let link: SharedHistory = Arc::<Store>::clone(store);
            hub.replicas().connect(link, Arc::downgrade(hub));
        }
        if let Some(attendance) = &attendance {
            let link: SharedPresence = Arc::<Attendance>::clone(attendance);
            hub.rosters().connect(&link);
        }
        *self.running.lock() = Some(Running {
            backplane: Arc::clone(&backplane),
            store,
            attendance,
            drains_until: None,
        });
        let of = hub;
        let (owner, hub) = (Arc::clone(self), Arc::clone(of));
        let outlet = Arc::clone(backplane.outlet());
        let thread = std::thread::Builder::new()
            .name("millrace-backplane".to_owned())
            .spawn(move || {
                let _logging = log.as_ref().map(tracing::dispatcher::set_default);
                let outcome = live(&hub, task, (store_task, attendance_task));
                hub.store_ended();
                hub.attendance_ended();
                backplane.outlet().close();
                hub.shards_caught_up();
                owner.running.lock().take();
                ended(outcome);
            });
        if thread.is_err() {
            outlet.close();
            of.store_ended();
            of.attendance_ended();
            self.running.lock().take();
        }
        thread
    }

    /// Allows messages that wait at the end to be sent until this time.
    pub(crate) fn may_drain(&self, until: Instant) {
        if let Some(running) = &mut *self.running.lock() {
            running.drains_until = running.drains_until.max(Some(until));
        }
    }

    /// Takes back that messages may be sent until `before`, unless something else allows it, too: until then is enough.
    pub(crate) fn may_drain_less(&self, before: Instant, until: Instant) {
        if let Some(running) = &mut *self.running.lock()
            && running.drains_until == Some(before)
        {
            running.drains_until = Some(until);
        }
    }

    /// Ends the task once everything is sent.
    pub(crate) fn end(&self) {
        if let Some(running) = &*self.running.lock() {
            let least = Instant::now() + LEAST_DRAIN;
            let deadline = running.drains_until.map_or(least, |until| until.max(least));
            running.backplane.end(deadline);
            if let Some(store) = &running.store {
                store.end(deadline);
            }
            if let Some(attendance) = &running.attendance {
                attendance.end(deadline);
            }
        }
    }

    /// The state of the link; `None` if there is no backplane.
    pub(crate) fn stats(&self) -> Option<Stats> {
        let running = self.running.lock();
        running.as_ref().map(|running| running.backplane.stats())
    }

    /// Asks all nodes about subscribers; returns a ticket for [`answer`](Self::answer).
    pub(crate) fn ask(&self, hub: &Hub, channels: Vec<Box<[u8]>>) -> u32 {
        let ticket = self.answers.open();
        let backplane = {
            let running = self.running.lock();
            running
                .as_ref()
                .map(|running| Arc::clone(&running.backplane))
        };
        let node = Member {
            node: backplane
                .as_ref()
                .map_or(0, |backplane| backplane.outlet().node()),
            is_self: true,
            census: hub.census(),
        };
        let own = ClusterInfo {
            nodes: vec![node],
            subscribers: channels.iter().map(|name| hub.subscribers(name)).collect(),
            is_complete: backplane.is_none(),
        };
        let pending = Pending::new(&self.answers, ticket, own);
        if let Some(backplane) = backplane {
            backplane.ask(channels, Box::new(move |info| pending.answer(info)));
        }
        ticket
    }

    /// Takes the answer if it has arrived.
    pub(crate) fn answer(&self, ticket: u32) -> Option<ClusterInfo> {
        self.answers.take(ticket)
    }
}

/// A backplane that does not run yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    backplane: Backplane,
    task: Task,
    store: Option<(Arc<Store>, StoreTask)>,
    attendance: Option<(Arc<Attendance>, AttendanceTask)>,
}

/// Why a backplane cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Store(#[from] StoreSetupError),
}

/// Questions that the backplane and the application ask about all nodes.
impl Hub {
    fn census(&self) -> Census {
        let counts = self.core().counts();
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        Census {
            sockets: number(counts.sockets),
            channels: number(counts.channels),
            subscriptions: number(counts.subscriptions),
        }
    }

    fn subscribers(&self, channel: &[u8]) -> u64 {
        let topic = millrace_core::Topic::Channel(channel);
        u64::try_from(self.core().subscribers(topic)).unwrap_or(u64::MAX)
    }
}

/// Runs the tasks until they end for any reason.
fn live(
    hub: &Arc<Hub>,
    task: Task,
    (store, attendance): (Option<StoreTask>, Option<AttendanceTask>),
) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(RESOLVERS)
            .build()?;
        let plain = task.run(Box::new(LocalNode::new(Arc::clone(hub))));
        let store = async {
            if let Some(store) = store {
                store.run().await;
            }
        };
        let attendance = async {
            if let Some(attendance) = attendance {
                attendance.run().await;
            }
        };
        runtime.block_on(async { tokio::join!(plain, store, attendance) });
        // a name server that does not answer must not delay the end
        runtime.shutdown_background();
        Ok::<_, std::io::Error>(())
    }));
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("the backplane could not start: {error}")),
        Err(_panic) => Err("the backplane ended by a bug in Millrace; the gateway ends".to_owned()),
    }
}

/// Threads that resolve the names of servers.
const RESOLVERS: usize = 1;

/// The least time for sending waiting messages at the end, even if clients have used up the time of the stop.
const LEAST_DRAIN: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests;
