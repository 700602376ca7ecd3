//! The workers of a gateway: which one takes the next connection, which ones are leaving, and the closes that wait for
//! a worker.

use std::sync::Arc;

use super::Worker;
use crate::event::Handlers;
use crate::event::record::NO_SLOT;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use crate::worker::queue::PendingClose;

/// See the module.
#[derive(Debug)]
pub(crate) struct Workers {
    lists: Mutex<Lists>,
    /// Sockets and requests have separate turns: with one counter, clients that alternate between a request and a
    /// socket would open all sockets on one of two workers.
    sockets: Turns,
    requests: Turns,
    closes: Turns,
    /// Whether some worker takes requests, now or earlier.
    takes_requests: AtomicBool,
    /// Whether some worker takes requests as a Node listener.
    takes_node_requests: AtomicBool,
    /// Whether some worker decides which connections are accepted or where they go. Once it is gone, no connection is
    /// accepted without another such worker.
    judges: AtomicBool,
    /// Closes of dead workers' connections, until a worker can handle them.
    orphans: Mutex<Vec<PendingClose>>,
    /// Workers that have ended, for whatever reason.
    ended: AtomicUsize,
    /// Takes the place of a worker for connections that no worker is told of.
    none: Arc<Worker>,
}

#[derive(Debug, Default)]
struct Lists {
    /// Workers that take connections, in the order of their registration.
    active: Vec<Arc<Worker>>,
    /// Workers that take no more connections, but still have to answer.
    leaving: Vec<Arc<Worker>>,
    /// Workers that take only connections of their own thread, and inherit nothing.
    own: Vec<Arc<Worker>>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self {
            lists: Mutex::new(Lists::default()),
            sockets: Turns::default(),
            requests: Turns::default(),
            closes: Turns::default(),
            takes_requests: AtomicBool::new(false),
            takes_node_requests: AtomicBool::new(false),
            judges: AtomicBool::new(false),
            orphans: Mutex::new(Vec::new()),
            ended: AtomicUsize::new(0),
            none: Arc::new(Worker::none()),
        }
    }

    /// The worker that is told nothing.
    pub(crate) fn none(&self) -> &Arc<Worker> {
        &self.none
    }

    /// Registers a worker for connections, and passes it the closes that had no worker.
    pub(crate) fn activate(&self, worker: &Arc<Worker>) {
        {
            let mut workers = self.lists.lock();
            if worker.is_retired() || workers.all().any(|known| known.id() == worker.id()) {
                return;
            }
            if worker.is_own() {
                workers.own.push(Arc::clone(worker));
                return;
            }
            workers.active.push(Arc::clone(worker));
        }
        let handlers = worker.handlers();
        if handlers.contains(Handlers::OPEN) || handlers.contains(Handlers::SPLICE_CONNECT) {
            self.judges.store(true, Ordering::Relaxed);
        }
        if worker.handlers().contains(Handlers::REQUEST) {
            self.takes_requests.store(true, Ordering::Relaxed);
        }
        if worker.handlers().contains(Handlers::NODE_REQUEST) {
            self.takes_node_requests.store(true, Ordering::Relaxed);
        }
        if worker.handlers().contains(Handlers::CLOSE) {
            let orphans = std::mem::take(&mut *self.orphans.lock());
            self.inherit(orphans);
        }
    }

    /// Makes a worker take no more connections and inherit nothing.
    pub(crate) fn leave(&self, id: u32) {
        let mut workers = self.lists.lock();
        let place = workers.active.iter().position(|worker| worker.id() == id);
        if let Some(place) = place {
            let worker = workers.active.remove(place);
            workers.leaving.push(worker);
        }
    }

    pub(crate) fn remove(&self, id: u32) {
        let mut workers = self.lists.lock();
        let before = workers.all().count();
        workers.active.retain(|worker| worker.id() != id);
        workers.leaving.retain(|worker| worker.id() != id);
        workers.own.retain(|worker| worker.id() != id);
        let gone = before - workers.all().count();
        self.ended.fetch_add(gone, Ordering::Relaxed);
    }

    /// The number of workers that have ended: that were replaced, have crashed, or did not answer.
    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// The next worker in turn whose queue has room for a connection within these limits.
    pub(crate) fn pick(&self, events: usize, bytes: usize) -> Option<Arc<Worker>> {
        let workers = self.lists.lock();
        workers
            .in_turn(&self.sockets)
            .find(|worker| worker.queue().has_room_to_open(events, bytes))
            .cloned()
    }

    /// The own-thread worker with this id, if its queue has room for a connection within these limits.
    pub(crate) fn pick_own(&self, id: u32, events: usize, bytes: usize) -> Option<Arc<Worker>> {
        let workers = self.lists.lock();
        let own = workers.own.iter().find(|worker| worker.id() == id)?;
        let has_room = own.queue().has_room_to_open(events, bytes);
        has_room.then(|| Arc::clone(own))
    }

    /// The next worker in turn that takes requests and has fewer than `most` to answer.
    pub(crate) fn pick_for_request(&self, most: usize) -> Option<Arc<Worker>> {
        let workers = self.lists.lock();
        workers
            .in_turn(&self.requests)
            .find(|worker| {
                worker.handlers().contains(Handlers::REQUEST) && worker.requests() < most
            })
            .cloned()
    }

    /// Whether workers decide which connections are accepted, or where a session goes.
    pub(crate) fn judge(&self) -> bool {
        self.judges.load(Ordering::Relaxed)
    }

    /// Whether workers take requests.
    pub(crate) fn takes_requests(&self) -> bool {
        self.takes_requests.load(Ordering::Relaxed)
    }

    /// Whether requests go to a Node listener, which gets them as they were sent.
    pub(crate) fn takes_node_requests(&self) -> bool {
        self.takes_node_requests.load(Ordering::Relaxed)
    }

    /// Passes closes to a worker that handles them; without one they wait.
    pub(crate) fn inherit(&self, closes: Vec<PendingClose>) {
        for mut close in closes {
            loop {
                match self.bequeath(close) {
                    None => break,
                    // the worker was just retired, and left the list before that
                    Some(back) => close = back,
                }
            }
        }
    }

    /// Passes a close to a worker, or keeps it; returns it if that worker accepts nothing any more.
    fn bequeath(&self, close: PendingClose) -> Option<PendingClose> {
        let workers = self.lists.lock();
        let able = || {
            let active = workers.active.iter();
            active.filter(|worker| worker.handlers().contains(Handlers::CLOSE))
        };
        let turn = self.closes.next(able().count());
        let heir = turn.and_then(|index| able().nth(index).map(Arc::clone));
        let Some(heir) = heir else {
            // while the list is locked, so that a worker that is activated next finds it
            self.orphans.lock().push(close);
            return None;
        };
        drop(workers);
        match heir.queue().close(NO_SLOT, close, true) {
            Ok(_) => {
                heir.ring();
                None
            }
            Err(close) => Some(close),
        }
    }

    /// Drops the closes that had no worker, and returns their number.
    pub(crate) fn drop_orphans(&self) -> usize {
        std::mem::take(&mut *self.orphans.lock()).len()
    }

    /// The workers that take connections, in the order of their registration.
    pub(crate) fn active(&self) -> Vec<Arc<Worker>> {
        let workers = self.lists.lock();
        workers.active.iter().chain(&workers.own).cloned().collect()
    }

    /// Whether some worker takes connections.
    pub(crate) fn has_active(&self) -> bool {
        !self.lists.lock().active.is_empty()
    }

    /// The workers that have to answer the doorbell, including those that are leaving.
    pub(crate) fn all(&self) -> Vec<Arc<Worker>> {
        self.lists.lock().all().cloned().collect()
    }

    pub(crate) fn find(&self, id: u32) -> Option<Arc<Worker>> {
        let workers = self.lists.lock();
        workers.all().find(|worker| worker.id() == id).cloned()
    }
}

/// Takes turns in a circle.
#[derive(Debug)]
struct Turns(AtomicUsize);

impl Turns {
    /// The next index below `count`, if `count` is not zero.
    fn next(&self, count: usize) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed).checked_rem(count)
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self(AtomicUsize::new(0))
    }
}

impl Lists {
    fn all(&self) -> impl Iterator<Item = &Arc<Worker>> {
        self.active.iter().chain(&self.leaving).chain(&self.own)
    }

    /// The workers that take connections, starting with the one whose turn it is.
    fn in_turn(&self, turns: &Turns) -> impl Iterator<Item = &Arc<Worker>> {
        let first = turns.next(self.active.len()).unwrap_or_default();
        let (before, after) = self.active.split_at(first);
        after.iter().chain(before)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use millrace_core::SocketId;

    use super::*;
    use crate::doorbell::Doorbell;

    struct Silent;

    impl Doorbell for Silent {
        fn ring(&self) {}
    }

    fn workers(count: u32) -> Workers {
        let workers = Workers::new();
        let handlers = Handlers::REQUEST | Handlers::CLOSE;
        for id in 1..=count {
            let worker = Worker::new(id, handlers, Arc::new(Silent), Weak::new());
            workers.activate(&Arc::new(worker));
        }
        workers
    }

    #[test]
    fn sockets_are_dealt_evenly_with_any_number_of_requests_between() {
        for requests in 0..4 {
            let workers = workers(2);
            let mut sockets = [0; 2];
            for _client in 0..10 {
                for _ in 0..requests {
                    assert!(workers.pick_for_request(1).is_some());
                }
                let worker = workers.pick(1, 1).expect("two workers take connections");
                sockets[usize::from(worker.id() == 2)] += 1;
            }
            assert_eq!(sockets, [5, 5], "{requests} requests of each client");
        }
    }

    #[test]
    fn an_own_thread_worker_has_no_turn_and_inherits_nothing() {
        let workers = Workers::new();
        let own = Worker::new(7, Handlers::CLOSE, Arc::new(Silent), Weak::new());
        let own = Arc::new(own.for_own_thread());
        workers.activate(&own);
        assert!(workers.pick(1, 1).is_none());
        assert!(workers.pick_own(8, 1, 1).is_none());
        let picked = workers.pick_own(7, 1, 1).map(|worker| worker.id());
        assert_eq!(picked, Some(7));
        workers.inherit(vec![PendingClose {
            socket: SocketId::new(1).expect("1 is an id"),
            code: 1006,
            reason: "".into(),
            token: None,
        }]);
        assert_eq!(workers.drop_orphans(), 1);
        for _ in 0..2 {
            workers.remove(7);
        }
        assert!(workers.pick_own(7, 1, 1).is_none());
        assert_eq!(workers.ended(), 1, "a worker ends once");
    }

    #[test]
    fn requests_are_dealt_evenly_with_any_number_of_sockets_between() {
        let workers = workers(2);
        let mut requests = [0; 2];
        for _client in 0..10 {
            assert!(workers.pick(1, 1).is_some());
            let worker = workers
                .pick_for_request(1)
                .expect("two workers take requests");
            requests[usize::from(worker.id() == 2)] += 1;
        }
        assert_eq!(requests, [5, 5]);
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: checks every interleaving of the calls above.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
