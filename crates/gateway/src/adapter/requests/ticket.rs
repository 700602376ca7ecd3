//! The registration of a request that waits for an answer. Tells the worker when the wait ends before the answer does.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::pending::{Outcome, Pending, Requests, State, wake};
use crate::contract::{Asking, FIRST_CREDIT, Owner, Shard, TransferId, Turn, Worker, queue::Taken};

/// See the module. Dropped before the answer is complete, it tells the worker.
pub(super) struct Ticket {
    shard: Rc<Shard>,
    pending: Rc<Pending>,
    requests: Rc<Requests>,
    /// Its key in that list.
    key: usize,
}

impl Ticket {
    /// Registers a request; `timeout` is the time in milliseconds until its answer begins.
    pub(super) fn open(shard: &Rc<Shard>, worker: Arc<Worker>, timeout: Option<u64>) -> Self {
        let requests = shard.part::<Requests>();
        worker.count_request(true);
        let late_at = timeout.map_or(u64::MAX, |timeout| shard.elapsed().saturating_add(timeout));
        let pending = shard.transfers.open(|id| {
            let pending = Rc::new(Pending {
                id,
                worker,
                timeout,
                late_at: Cell::new(late_at),
                asked: Cell::new(false),
                left: Cell::new(false),
                state: RefCell::new(State::new(FIRST_CREDIT)),
                body: RefCell::default(),
            });
            let owner = Rc::clone(&pending);
            (Owner::Waiting(owner), pending)
        });
        let key = requests.pending.borrow_mut().insert(Rc::clone(&pending));
        if timeout.is_some() && !requests.watched.replace(true) {
            shard.arm_timers();
        }
        Self {
            shard: Rc::clone(shard),
            pending,
            requests,
            key,
        }
    }

    /// Waits for the answer or its beginning. Tells the worker if the client `leaves` before.
    pub(super) async fn outcome(&self, leaves: impl Future<Output = ()>) -> Outcome {
        let mut leaves = pin!(leaves);
        poll_fn(|cx| {
            if let Some(outcome) = self.pending.state.borrow_mut().outcome.take() {
                return Poll::Ready(outcome);
            }
            self.poll_leaving(cx, leaves.as_mut());
            self.pending.state.borrow_mut().waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The answer or its beginning, if it has come.
    pub(super) fn arrived(&self, cx: &Context<'_>) -> Option<Outcome> {
        let state = &mut *self.pending.state.borrow_mut();
        if state.outcome.is_none() {
            state.waker = Some(cx.waker().clone());
        }
        state.outcome.take()
    }

    /// Tells the worker, once, that the client sends nothing more: most clients that stop sending have left.
    pub(super) fn poll_leaving(
        &self,
        cx: &mut Context<'_>,
        leaves: Pin<&mut (impl Future<Output = ()> + ?Sized)>,
    ) {
        if !self.pending.left.get() && leaves.poll(cx).is_ready() {
            self.tell_left();
        }
    }

    /// Tells the worker, once, that the client sends nothing more.
    pub(super) fn tell_left(&self) {
        if self.pending.left.replace(true) {
            return;
        }
        self.pending
            .worker
            .queue()
            .turn(self.pending.id.get(), Turn::Left);
        self.shard.ring_later(&self.pending.worker);
    }

    /// Removes the request without a word to the worker. What is left of the request's body goes back to the
    /// connection.
    pub(super) fn close(&self) {
        {
            let state = &mut *self.pending.state.borrow_mut();
            state.over = true;
            state.end = Some(true);
            wake(&mut state.puller);
        }
        drop(self.pending.body.take());
    }

    /// Queues the request for the worker.
    pub(super) fn ask(&self, asking: &Asking<'_>) -> Taken {
        let limits = self.shard.limits();
        let (events, bytes) = (limits.worker_queue_events, limits.worker_queue_bytes);
        let worker = self.worker();
        let taken = worker.queue().ask(asking, events, bytes);
        if taken == Taken::Yes {
            self.pending.asked.set(true);
            self.shard.ring_later(worker);
        }
        taken
    }

    /// Takes the buffer for the head of a request.
    pub(super) fn take_head(&self) -> Vec<u8> {
        self.requests.head.take()
    }

    /// Keeps the buffer for the next request, unless a long head made it large.
    pub(super) fn keep_head(&self, mut head: Vec<u8>) {
        if head.capacity() <= HEAD_BYTES {
            head.clear();
            self.requests.head.set(head);
        }
    }

    pub(super) fn id(&self) -> TransferId {
        self.pending.id
    }

    pub(super) fn worker(&self) -> &Arc<Worker> {
        &self.pending.worker
    }

    pub(super) fn pending(&self) -> &Rc<Pending> {
        &self.pending
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let pending = &self.pending;
        self.shard.transfers.close(pending.id);
        self.requests.pending.borrow_mut().remove(self.key);
        pending.worker.count_request(false);
        let state = &mut *pending.state.borrow_mut();
        let late = state.over && state.end.is_none();
        // a request that the worker was never told of must take no room in its queue, which is full in this case
        if pending.asked.get() && (late || !state.over) {
            let what = if late { Turn::Late } else { Turn::Aborted };
            pending.worker.queue().turn(pending.id.get(), what);
            self.shard.ring_later(&pending.worker);
        }
        state.over = true;
        wake(&mut state.puller);
        drop(pending.body.take());
    }
}

/// The largest buffer that is kept for the heads of requests.
const HEAD_BYTES: usize = 16 * 1024;

/// Waits until the worker's queue has room: true; false if the request is over before.
pub(super) async fn room(shard: &Shard, pending: &Pending) -> bool {
    let limits = shard.limits();
    let queue = pending.worker.queue();
    let has_room = || {
        let (events, bytes) = queue.backlog();
        events < limits.worker_queue_events && bytes < limits.worker_queue_bytes
    };
    let mut listed = None;
    poll_fn(|cx| {
        let state = &mut *pending.state.borrow_mut();
        if state.over {
            return Poll::Ready(false);
        }
        if has_room() {
            return Poll::Ready(true);
        }
        queue.pause(1 << shard.index().get());
        // a batch that finished before this task was listed has not woken it
        if has_room() {
            return Poll::Ready(true);
        }
        state.puller = Some(cx.waker().clone());
        let requests = shard.part::<Requests>();
        // a client that goes on sending wakes this task often: one entry in the list is enough
        if listed.replace(requests.round.get()) != Some(requests.round.get()) {
            requests.waiting.borrow_mut().push(cx.waker().clone());
            shard.tell_parts();
        }
        Poll::Pending
    })
    .await
}
