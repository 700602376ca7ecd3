//! The body of one HTTP/2 request as it arrives: its limit, and whether it is too slow. A violation is answered with
//! the matching status, or resets the stream if an answer was begun.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use hyper::body::Frame;
use millrace_protocol::http::Refusal;
use tokio::task::AbortHandle;

use crate::http::clock::Course;
use crate::shard::Shard;

/// See the module.
pub(in crate::http) struct Inflow {
    shard: Rc<Shard>,
    /// Bytes that may still arrive.
    left: Cell<u64>,
    course: Cell<Course>,
    /// Since when the stream waits for the peer.
    since: Cell<Option<u64>>,
    refusal: Cell<Option<Refusal>>,
    /// Wakes the task that makes the answer, until the answer begins.
    answerer: RefCell<Option<Waker>>,
    /// The task that serves the stream.
    task: AbortHandle,
}

/// The result of polling a body.
type Polled = Poll<Option<Result<Frame<Bytes>, hyper::Error>>>;

impl Inflow {
    pub(super) fn new(shard: Rc<Shard>, most: u64, task: AbortHandle) -> Rc<Self> {
        Rc::new(Self {
            shard,
            left: Cell::new(most),
            course: Cell::default(),
            since: Cell::new(None),
            refusal: Cell::new(None),
            answerer: RefCell::new(None),
            task,
        })
    }

    /// Records what the body gave. Data over the limit is held back, and the task that waits for it is dropped.
    pub(in crate::http) fn note(&self, polled: Polled) -> Polled {
        if self.refusal.get().is_some() {
            return Poll::Pending;
        }
        let now = self.shard.now();
        match &polled {
            Poll::Pending => {
                self.since.set(self.since.get().or(Some(now)));
                return Poll::Pending;
            }
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                let waited = self.since.take().map_or(0, |since| now - since);
                let mut course = self.course.get();
                course.go_on(waited, length);
                self.course.set(course);
                let length = u64::try_from(length).unwrap_or(u64::MAX);
                let Some(left) = self.left.get().checked_sub(length) else {
                    self.refuse(Refusal::BodyTooBig);
                    return Poll::Pending;
                };
                self.left.set(left);
            }
            Poll::Ready(_) => self.since.set(None),
        }
        polled
    }

    /// Records that the stream does not wait for the peer now.
    pub(in crate::http) fn pause(&self) {
        self.since.set(None);
    }

    /// Checks whether the peer is too slow. It may pause for `timeout` milliseconds.
    pub(super) fn look(&self, now: u64, timeout: u64) {
        if let Some(since) = self.since.get()
            && now >= self.course.get().late_at(since, timeout)
        {
            self.refuse(Refusal::BodyTooSlow);
        }
    }

    /// Waits for an answer, and stops waiting when the body is refused.
    pub(super) async fn unless_refused<A>(
        &self,
        answering: impl Future<Output = A>,
    ) -> Result<A, Refusal> {
        let mut answering = pin!(answering);
        let answer = poll_fn(|cx| {
            if let Some(refusal) = self.refusal.get() {
                return Poll::Ready(Err(refusal));
            }
            *self.answerer.borrow_mut() = Some(cx.waker().clone());
            answering.as_mut().poll(cx).map(Ok)
        })
        .await;
        self.answerer.take();
        answer
    }

    fn refuse(&self, refusal: Refusal) {
        if self.refusal.get().is_some() {
            return;
        }
        self.refusal.set(Some(refusal));
        match self.answerer.take() {
            Some(answerer) => answerer.wake(),
            None => self.task.abort(),
        }
    }
}
