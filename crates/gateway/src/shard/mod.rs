//! An I/O shard: one thread, one event loop, and the connections that it owns for life. This file has the shard itself;
//! its submodules have its work: [`accept`], [`open`], [`turn`], [`delivery`], [`timers`], [`stop`], and [`parts`] for
//! the state of protocols.

mod accept;
#[cfg(feature = "bench")]
pub mod bench;
mod bug;
#[cfg(test)]
mod bug_tests;
mod compression;
mod cursors;
mod delivery;
mod dial;
mod driver;
mod joins;
mod marks;
pub(crate) mod open;
mod parts;
mod past_pages;
mod preamble;
mod presence;
#[cfg(test)]
mod probe_tests;
pub(crate) mod protocol;
mod readiness;
mod recent_past;
mod recipients;
mod rush;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod send_ring;
mod sent;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod stage;
mod stop;
mod store_steps;
mod streams;
#[cfg(test)]
mod streams_tests;
pub(crate) mod tasks;
#[cfg(test)]
mod tests;
mod timers;
mod trim;
mod turn;
mod turns_to_close;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use millrace_core::ShardIndex;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, LocalSet};

use crate::config::GatewayConfig;
use crate::hub::Hub;
use crate::inbox::Mail;
use crate::socket::env::Env;
use crate::stats::ShardStats;
use compression::Parked;
use cursors::Cursors;
pub(crate) use parts::Part;
use parts::Parts;
use protocol::Services;
use readiness::{Readiness, Rounds};
use recipients::Recipients;

/// See the module. Stays on its thread, shared by the thread's tasks.
pub(crate) struct Shard {
    env: Env,
    /// The buffers of what a turn takes out of the inbox.
    mail: RefCell<Mail>,
    recipients: RefCell<Recipients>,
    parked: RefCell<Parked>,
    cursors: RefCell<Cursors>,
    readiness: Readiness,
    rounds: Rounds,
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    send_ring: RefCell<send_ring::SendRing>,
    acceptors: RefCell<Vec<(u32, Vec<AbortHandle>)>>,
    /// The state of protocols apart from sockets.
    parts: Parts,
    services: Arc<Services>,
    ended: Notify,
    /// What has changed among the members of channels has to be told by this shard.
    presence_is_due: Notify,
    /// Whether a bug ended one of its vital tasks.
    failed: Cell<bool>,
}

/// A shard includes the environment of its connections.
impl Deref for Shard {
    type Target = Env;

    fn deref(&self) -> &Env {
        &self.env
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl Shard {
    fn new(
        index: ShardIndex,
        hub: Arc<Hub>,
        config: &GatewayConfig,
        (stats, services): (Arc<ShardStats>, Arc<Services>),
        readiness: Readiness,
    ) -> Self {
        let env = Env::new(index, hub, config.limits.clone(), stats);
        Self {
            env,
            mail: RefCell::default(),
            recipients: RefCell::default(),
            parked: RefCell::default(),
            cursors: RefCell::default(),
            readiness,
            rounds: Rounds::default(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            send_ring: RefCell::new(send_ring::SendRing::new(config.io_uring)),
            acceptors: RefCell::default(),
            parts: Parts::default(),
            services,
            ended: Notify::new(),
            presence_is_due: Notify::new(),
            failed: Cell::new(false),
        }
    }

    /// Stores the tasks that accept or dial connections for a listener, so that they can be aborted when it stops.
    pub(crate) fn keep_acceptors(&self, listener: u32, tasks: Vec<AbortHandle>) {
        self.acceptors.borrow_mut().push((listener, tasks));
    }

    /// Removes the tasks of a listener, which have ended by themselves.
    fn forget_acceptors(&self, listener: u32) {
        self.acceptors
            .borrow_mut()
            .retain(|(id, _)| *id != listener);
    }
}

/// Runs a shard until it is told to end. `Err`: it ended for another reason, which is returned.
pub(crate) fn run(
    index: ShardIndex,
    hub: &Arc<Hub>,
    config: &GatewayConfig,
    (stats, services): (Arc<ShardStats>, Arc<Services>),
) -> Result<(), String> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(WAITING_THREADS)
            .build()?;
        let local = LocalSet::new();
        let readiness = {
            let _runtime = runtime.enter();
            Readiness::new()?
        };
        let parts = (stats, services);
        let shard = Rc::new(Shard::new(index, Arc::clone(hub), config, parts, readiness));
        let sound = local.block_on(&runtime, live(Rc::clone(&shard)));
        shard.end();
        drop((shard, local));
        // a disk that does not respond must not delay the end
        runtime.shutdown_timeout(LAST_READS);
        Ok::<_, std::io::Error>(sound)
    }));
    drop(hub.inboxes().shut(index));
    // this shard's inbox may have been the one that was too full
    hub.shards_caught_up();
    match outcome {
        Ok(Ok(true)) => Ok(()),
        Ok(Err(error)) => Err(format!("an I/O thread could not start: {error}")),
        Ok(Ok(false)) | Err(_) => {
            Err("an I/O thread ended by a bug in Millrace; the gateway ends".to_owned())
        }
    }
}

/// Threads beside a shard that wait for the disk; further reads wait for one of them.
const WAITING_THREADS: usize = 16;

/// Time for reads to end whose result is no longer needed.
const LAST_READS: Duration = Duration::from_secs(1);

/// Runs until the shard is told to end. False: a bug ended a vital task.
async fn live(shard: Rc<Shard>) -> bool {
    // one turn writes to any number of connections: with tokio's budget of 128 operations, the rest would wait for
    // another round through the event loop, each in its own task
    shard.spawn_vital(tokio::task::unconstrained(turn::turns(Rc::clone(&shard))));
    shard.spawn_vital(tokio::task::unconstrained(readiness::watch(Rc::clone(
        &shard,
    ))));
    shard.spawn_vital(timers::timers(Rc::clone(&shard)));
    if shard.index.get() == 0 {
        let timeout = shard.limits.worker_timeout;
        shard.spawn_vital(crate::hub::watch(Arc::clone(&shard.hub), timeout));
        shard.spawn_vital(crate::hub::expire(Arc::clone(&shard.hub)));
        shard.spawn_vital(presence::tell(Rc::clone(&shard)));
    }
    shard.ended.notified().await;
    !shard.failed.get()
}
