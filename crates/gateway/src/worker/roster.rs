//! The workers of a gateway: who takes the next connection, and closes that wait for a worker.

use std::sync::Arc;

use super::Worker;
use super::queue::PendingClose;
use super::record::NO_SLOT;
use crate::sync::{AtomicUsize, Mutex, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct Roster {
    workers: Mutex<Vec<Arc<Worker>>>,
    next: AtomicUsize,
    /// Closes of dead workers' connections, until somebody can handle them.
    orphans: Mutex<Vec<PendingClose>>,
}

impl Roster {
    pub(crate) fn new() -> Self {
        Self {
            workers: Mutex::new(Vec::new()),
            next: AtomicUsize::new(0),
            orphans: Mutex::new(Vec::new()),
        }
    }

    /// Registers a worker for connections and hands it the closes that found nobody.
    pub(crate) fn activate(&self, worker: &Arc<Worker>) {
        {
            let mut workers = self.workers.lock();
            if worker.is_retired() || workers.iter().any(|known| known.id() == worker.id()) {
                return;
            }
            workers.push(Arc::clone(worker));
        }
        if worker.handlers().close {
            let orphans = std::mem::take(&mut *self.orphans.lock());
            self.inherit(orphans);
        }
    }

    pub(crate) fn remove(&self, id: u32) {
        self.workers.lock().retain(|worker| worker.id() != id);
    }

    /// The next worker in turn.
    pub(crate) fn pick(&self) -> Option<Arc<Worker>> {
        let workers = self.workers.lock();
        if workers.is_empty() {
            return None;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        workers.get(turn % workers.len()).cloned()
    }

    /// Gives closes to a worker that handles them; without one they wait.
    pub(crate) fn inherit(&self, closes: Vec<PendingClose>) {
        let mut orphans = Vec::new();
        for close in closes {
            let heir = {
                let workers = self.workers.lock();
                let turn = self.next.fetch_add(1, Ordering::Relaxed);
                let able: Vec<_> = workers
                    .iter()
                    .filter(|worker| worker.handlers().close)
                    .collect();
                turn.checked_rem(able.len())
                    .and_then(|index| able.get(index).map(|worker| Arc::clone(worker)))
            };
            match heir {
                Some(heir) => match heir.queue().close(NO_SLOT, close, true) {
                    Ok(()) => heir.ring(),
                    // it was retired this moment
                    Err(close) => orphans.push(close),
                },
                None => orphans.push(close),
            }
        }
        if !orphans.is_empty() {
            self.orphans.lock().extend(orphans);
        }
    }

    /// Forgets the closes that found nobody and counts them.
    pub(crate) fn drop_orphans(&self) -> usize {
        std::mem::take(&mut *self.orphans.lock()).len()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Worker>> {
        self.workers.lock().clone()
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<Worker>> {
        self.workers
            .lock()
            .iter()
            .find(|worker| worker.id() == id)
            .cloned()
    }
}
