//! Threads that share a gateway. Each has its own listeners, connections and worker there, which end with it. The first
//! thread that joins starts the gateway, and the last one that leaves ends it. Owns the list of members.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::ending::Phase;
use super::{DialConfig, Gateway, Listening, StartError};
use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::Handlers;
use crate::hub::Worker;
use crate::listener::Owner;
use crate::net::address::ListenError;
use crate::notice::{Notice, Notices};
use crate::sync::{AtomicBool, Mutex, Ordering};

/// A thread that shares a gateway. Dropping it leaves the gateway.
#[derive(Debug)]
pub struct Member {
    gateway: Arc<Gateway>,
    notices: Arc<Notices>,
    worker: Mutex<Option<Arc<Worker>>>,
    /// Whether the notice that nothing of it is left was taken.
    is_over: AtomicBool,
}

impl Gateway {
    /// Makes the calling thread a member of this gateway, which must be a [shared](Self::shared) one. If the gateway
    /// does not run, it is started with `config`; later members need not have the same configuration. `notices` rings
    /// when there are notices to [take](Member::take_notices).
    pub fn share(
        self: &Arc<Self>,
        config: GatewayConfig,
        notices: Arc<dyn Doorbell>,
    ) -> Result<Member, StartError> {
        let own = Arc::new(Notices::default());
        own.set_door(notices);
        let mut state = self.state.lock();
        if state.config.is_none() {
            self.run(&mut state, config)?;
        }
        self.hub.audience().add(&own);
        Ok(Member {
            gateway: Arc::clone(self),
            notices: own,
            worker: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }
}

impl Member {
    /// Like [`Gateway::listen`]. The connections go to the member's own worker, which has to exist.
    pub fn listen(&self, config: ListenerConfig) -> Result<Listening, ListenError> {
        self.gateway.listen_for(config, self.owner()?)
    }

    /// Like [`Gateway::dial`]. The connection goes to the member's own worker.
    pub fn dial(&self, config: DialConfig) -> Result<u32, ListenError> {
        self.gateway.dial_for(config, self.owner()?)
    }

    /// Like [`Gateway::stop_listeners`]. The notice goes to this member.
    pub fn stop_listeners(&self, ids: &[u32], drain: Duration) -> u32 {
        self.gateway
            .stop_for(ids, drain.into(), Arc::clone(&self.notices))
    }

    /// Like [`Gateway::add_worker`]: the worker gets the connections of this member's later listeners and dials, and no
    /// others. May be called once.
    pub fn add_worker(&self, handlers: Handlers, door: Arc<dyn Doorbell>) -> Arc<Worker> {
        let (id, hub) = (
            self.gateway.next_worker(),
            Arc::downgrade(&self.gateway.hub),
        );
        let worker = Arc::new(Worker::new(id, handlers, door, hub).for_own_thread());
        *self.worker.lock() = Some(Arc::clone(&worker));
        worker
    }

    /// Takes the notices since the last call about what this member owns, and about the gateway as a whole.
    pub fn take_notices(&self) -> Vec<Notice> {
        let notices = self.notices.take();
        if notices.contains(&Notice::Stopped) {
            self.is_over.store(true, Ordering::SeqCst);
        }
        notices
    }

    /// Leaves the gateway: its listeners stop, its connections close, its worker is retired, and the last member to
    /// leave ends the gateway. [`Notice::Stopped`] follows when nothing of this member is left. Later calls do nothing.
    pub fn leave(&self) {
        let gateway = &*self.gateway;
        let phase = {
            let mut state = gateway.state.lock();
            let Some(others) = gateway.hub.audience().remove(&self.notices) else {
                return;
            };
            let phase = (others == 0).then(|| gateway.end(&mut state));
            if matches!(phase, Some(Phase::Running | Phase::Ending)) {
                state.last = Some(Arc::clone(&self.notices));
            }
            phase
        };
        let worker = self.worker.lock().take();
        if let Some(worker) = worker {
            worker.retire();
        }
        match phase {
            None => {
                let notices = Arc::clone(&self.notices);
                gateway.stop(&self.terms(), Duration::ZERO.into(), (notices, None));
            }
            Some(Phase::Running) => gateway.end_threads(),
            Some(Phase::Ending) => {}
            Some(Phase::Over) => self.notices.post(Notice::Stopped),
        }
    }

    /// Waits after [`leave`](Self::leave), for at most this time, until nothing of this member is left, and no thread
    /// of the gateway if it was the last member; returns whether that is so. For a caller that is about to end itself.
    pub fn join(&self, most: Duration) -> bool {
        let deadline = Instant::now() + most;
        let (rings, rung) = channel();
        self.notices.set_door(Arc::new(Bell(rings)));
        while !self.is_over.load(Ordering::SeqCst)
            && !self.take_notices().contains(&Notice::Stopped)
        {
            let left = deadline.saturating_duration_since(Instant::now());
            if rung.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                return false;
            }
        }
        self.gateway
            .join(deadline.saturating_duration_since(Instant::now()))
    }

    /// The ids of its listeners and outgoing connections.
    fn terms(&self) -> Vec<u32> {
        let mut ids = self.gateway.dialled.of(&self.notices);
        let state = self.gateway.state.lock();
        let own = state.listeners.iter();
        ids.extend(
            own.filter(|listener| listener.is_of(&self.notices))
                .map(|listener| listener.id),
        );
        ids
    }

    /// The owner for what it opens. An error without a worker: then it has left.
    fn owner(&self) -> Result<Owner, ListenError> {
        let worker = self.worker.lock();
        let worker = worker.as_ref().ok_or(ListenError::NotRunning)?;
        Ok(Owner {
            notices: Arc::clone(&self.notices),
            worker: Some(worker.id()),
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Wakes a thread that waits for notices.
struct Bell(Sender<()>);

impl Doorbell for Bell {
    fn ring(&self) {
        // the receiver may have stopped waiting
        let _late = self.0.send(());
    }
}
