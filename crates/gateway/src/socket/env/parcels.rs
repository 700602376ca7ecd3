//! What this thread has for its workers: the events of a turn, which each worker gets together at the turn's end, and
//! which workers are rung then. Events that are appended to a worker's queue directly follow those that wait here.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use super::{Ahead, Env};
use crate::hub::Worker;
use crate::worker::queue::{Parcel, Queue};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Parcels(RefCell<Vec<Outgoing>>);

#[derive(Debug)]
struct Outgoing {
    worker: Arc<Worker>,
    parcel: Parcel,
    rings: bool,
}

impl Env {
    /// The parcel for a worker; `None` once the worker is retired. Nothing else of this module may be called while the
    /// caller has it.
    #[inline]
    pub(crate) fn parcel(&self, worker: &Arc<Worker>) -> Option<RefMut<'_, Parcel>> {
        if worker.queue().is_retired() {
            return None;
        }
        let outgoing = self.outgoing(worker);
        Some(RefMut::map(outgoing, |outgoing| &mut outgoing.parcel))
    }

    /// Rings a worker at the end of the turn.
    pub(crate) fn ring_later(&self, worker: &Arc<Worker>) {
        let rings = std::mem::replace(&mut self.outgoing(worker).rings, true);
        if !rings {
            self.schedule_for(Ahead::Events);
        }
    }

    /// The queue of a worker for events that this thread appends directly. They follow everything that it has for the
    /// worker until now.
    pub(crate) fn queue_of<'w>(&self, worker: &'w Arc<Worker>) -> &'w Queue {
        let mut all = self.parcels.0.borrow_mut();
        if let Some(place) = find(&all, worker)
            && let Some(outgoing) = all.get_mut(place)
        {
            outgoing.hand_over(self.queue_limits());
        }
        worker.queue()
    }

    /// Hands everything over, and rings the workers.
    pub(crate) fn hand_over(&self) {
        self.turn_comes_to(Ahead::Nothing);
        let limits = self.queue_limits();
        let mut all = self.parcels.0.borrow_mut();
        let mut retired = false;
        for outgoing in all.iter_mut() {
            outgoing.hand_over(limits);
            if std::mem::take(&mut outgoing.rings) {
                outgoing.worker.ring();
                retired |= outgoing.worker.is_retired();
            }
        }
        if retired {
            all.retain(|outgoing| !outgoing.worker.is_retired());
        }
    }

    /// Frees buffers for events if there was no event since the last call.
    pub(crate) fn trim_parcels(&self) {
        for outgoing in self.parcels.0.borrow_mut().iter_mut() {
            outgoing.parcel.trim();
        }
    }

    /// A worker is gone and gets nothing any more.
    pub(crate) fn forget_parcel(&self, worker: u32) {
        let mut all = self.parcels.0.borrow_mut();
        all.retain(|outgoing| outgoing.worker.id() != worker);
    }

    /// The limits of a worker's queue: events and bytes.
    #[inline]
    pub(crate) fn queue_limits(&self) -> (usize, usize) {
        let limits = &self.limits;
        (limits.worker_queue_events, limits.worker_queue_bytes)
    }

    #[inline]
    fn outgoing(&self, worker: &Arc<Worker>) -> RefMut<'_, Outgoing> {
        let mut all = self.parcels.0.borrow_mut();
        let place = find(&all, worker).unwrap_or_else(|| {
            all.push(self.outgoing_for(worker));
            all.len() - 1
        });
        RefMut::map(all, |all| &mut all[place])
    }

    #[cold]
    fn outgoing_for(&self, worker: &Arc<Worker>) -> Outgoing {
        let shards = self.hub.shards();
        Outgoing {
            worker: Arc::clone(worker),
            parcel: Parcel::new(self.index, worker.queue(), self.queue_limits(), shards),
            rings: false,
        }
    }
}

impl Outgoing {
    #[inline]
    fn hand_over(&mut self, limits: (usize, usize)) {
        if !self.parcel.is_empty() {
            self.worker.queue().hand_over(&mut self.parcel, limits);
        }
    }
}

/// The place of a worker. A gateway has few of them.
#[inline]
fn find(all: &[Outgoing], worker: &Arc<Worker>) -> Option<usize> {
    all.iter()
        .position(|outgoing| Arc::ptr_eq(&outgoing.worker, worker))
}
