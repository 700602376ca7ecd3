//! Requests of one shard that wait for their answers. Owns what has arrived of each answer, and the deadline of its
//! beginning.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use slab::Slab;

use crate::contract::{
    Env, Head, Part as ShardPart, Shard, Step, TakesSteps, TransferId, Turn, Whole, Worker,
};
use crate::fault::Fault;
use crate::http::Incoming;

/// See the module.
#[derive(Default)]
pub(super) struct Requests {
    pub(super) pending: RefCell<Slab<Rc<Pending>>>,
    /// Whether the shard's timer calls `look` for deadlines.
    pub(super) watched: Cell<bool>,
    /// The tasks that wait for room in a worker's queue, and how often this list was woken.
    pub(super) waiting: RefCell<Vec<Waker>>,
    pub(super) round: Cell<u64>,
    /// An empty buffer for the head of the next request.
    pub(super) head: Cell<Vec<u8>>,
}

/// A request that waits for its answer or for the rest of it.
pub(super) struct Pending {
    pub(super) id: TransferId,
    pub(super) worker: Arc<Worker>,
    /// How long its answer may take to begin, and when that time is over, in the shard's milliseconds.
    pub(super) timeout: Option<u64>,
    pub(super) late_at: Cell<u64>,
    /// Whether the worker was told of the request.
    pub(super) asked: Cell<bool>,
    /// Whether the worker was told that the client sends nothing more.
    pub(super) left: Cell<bool>,
    pub(super) state: RefCell<State>,
    /// The request's body, while it is sent to the worker.
    pub(super) body: RefCell<Option<Incoming>>,
}

/// What has arrived of an answer.
#[derive(Default)]
pub(super) struct State {
    pub(super) outcome: Option<Outcome>,
    /// Whether the answer has begun or can no longer begin.
    begun: bool,
    /// Whether the request is over: no task waits for anything of it.
    pub(super) over: bool,
    pieces: VecDeque<Bytes>,
    buffered: usize,
    /// `Some` once the body has ended: whether it is complete.
    pub(super) end: Option<bool>,
    wants_room: bool,
    /// Wakes the task that waits for the answer, then for its next piece.
    pub(super) waker: Option<Waker>,
    /// The bytes of the request's body that the worker has room for.
    pub(super) credit: usize,
    pub(super) puller: Option<Waker>,
    /// The trailers of the request's body, in the form of the records.
    pub(super) trailers: Option<Vec<u8>>,
}

impl State {
    /// The state of a new request, of whose body this many bytes may be sent.
    pub(super) fn new(credit: usize) -> Self {
        Self {
            credit,
            ..Self::default()
        }
    }

    /// Records that the answer begins or can no longer begin.
    fn begin(&mut self, outcome: Outcome) {
        self.begun = true;
        self.outcome = Some(outcome);
    }
}

/// How an answer begins, or why there is none.
pub(super) enum Outcome {
    Whole(Box<Whole>),
    Begin(Box<Head>),
    /// The worker aborted the answer.
    Abort,
    WorkerGone,
    Late,
}

/// The next part of an answer's body.
pub(super) enum Part {
    Piece(Bytes),
    End,
    Broken,
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests")
            .field("pending", &self.pending.borrow().len())
            .finish_non_exhaustive()
    }
}

impl ShardPart for Requests {
    fn new(_: &Env) -> Self {
        Self::default()
    }

    /// Wakes the tasks that wait for room: a worker's queue may have room again.
    fn turn_ends(&self, _: &Shard) {
        if self.waiting.borrow().is_empty() {
            return;
        }
        self.round.set(self.round.get() + 1);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Ends the requests whose answers are late.
    fn look(&self, shard: &Shard) -> bool {
        if !self.watched.get() {
            return false;
        }
        shard.hub().faults().hit(Fault::Requests);
        let all = self.pending.borrow();
        for (_, pending) in &*all {
            let state = &mut *pending.state.borrow_mut();
            if !state.begun && shard.now() >= pending.late_at.get() {
                state.begun = true;
                state.over = true;
                state.outcome = Some(Outcome::Late);
                wake(&mut state.waker);
                wake(&mut state.puller);
            }
        }
        self.watched.set(!all.is_empty());
        !all.is_empty()
    }

    fn worker_gone(&self, worker: u32) {
        for pending in self.pending.borrow().iter().map(|(_, pending)| pending) {
            if pending.worker.id() != worker {
                continue;
            }
            let state = &mut *pending.state.borrow_mut();
            if state.begun {
                state.end = state.end.or(Some(false));
            } else {
                state.begun = true;
                state.outcome = Some(Outcome::WorkerGone);
            }
            wake(&mut state.waker);
            wake(&mut state.puller);
        }
    }
}

impl TakesSteps for Pending {
    fn step(&self, step: Step) {
        let state = &mut *self.state.borrow_mut();
        match step {
            Step::Whole(whole) if !state.begun => state.begin(Outcome::Whole(whole)),
            Step::Begin(head) if !state.begun => state.begin(Outcome::Begin(head)),
            Step::Abort | Step::Lost if !state.begun => state.begin(Outcome::Abort),
            Step::Piece(piece) if state.end.is_none() => {
                state.buffered += piece.len();
                state.pieces.push_back(*piece);
            }
            Step::End => state.end = state.end.or(Some(true)),
            Step::Abort | Step::Lost => state.end = state.end.or(Some(false)),
            Step::WantRoom => {
                state.wants_room = true;
                return self.tell_room(state);
            }
            Step::Pull(bytes) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                state.credit = state.credit.saturating_add(bytes);
                return wake(&mut state.puller);
            }
            Step::Whole(_) | Step::Begin(_) | Step::Piece(_) => {}
        }
        wake(&mut state.waker);
    }
}

impl Pending {
    /// A piece of the request's body arrived: the deadline of the answer starts again.
    pub(super) fn progressed(&self, now: u64) {
        if let Some(timeout) = self.timeout {
            self.late_at.set(now.saturating_add(timeout));
        }
    }

    /// Tells the worker that it may go on, if it asked and few bytes are left.
    fn tell_room(&self, state: &mut State) {
        if state.wants_room && state.buffered <= LOW_WATER {
            state.wants_room = false;
            self.worker.queue().turn(self.id.get(), Turn::Room);
            self.worker.ring();
        }
    }

    /// The next part of the answer's body.
    pub(super) fn poll_part(&self, cx: &Context<'_>) -> Poll<Part> {
        let state = &mut *self.state.borrow_mut();
        if let Some(piece) = state.pieces.pop_front() {
            state.buffered -= piece.len();
            self.tell_room(state);
            return Poll::Ready(Part::Piece(piece));
        }
        match state.end {
            Some(true) => Poll::Ready(Part::End),
            Some(false) => Poll::Ready(Part::Broken),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

pub(super) fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// The number of unwritten bytes of an answer at which the worker may go on.
const LOW_WATER: usize = 64 * 1024;
