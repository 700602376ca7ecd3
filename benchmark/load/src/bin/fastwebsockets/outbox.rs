//! The messages waiting to be written to one connection: unbounded, as in a server without
//! backpressure.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::sync::Notify;

/// One frame to write.
#[derive(Debug)]
pub(crate) enum Out {
    /// A text message, shared by all its recipients.
    Text(Rc<[u8]>),
    /// The echo of a close frame, which is written last.
    Close(Vec<u8>),
    /// The answer to a ping.
    Pong(Vec<u8>),
}

/// The queue between senders and the task that writes.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: RefCell<Vec<Out>>,
    ready: Notify,
    over: Cell<bool>,
}

impl Outbox {
    pub(crate) fn push(&self, out: Out) {
        let mut queue = self.queue.borrow_mut();
        let first = queue.is_empty();
        queue.push(out);
        if first {
            self.ready.notify_one();
        }
    }

    /// Ends the queue: nothing more will be pushed.
    pub(crate) fn end(&self) {
        self.over.set(true);
        self.ready.notify_one();
    }

    /// Exchanges an emptied list for what is queued. Returns false if nothing more will come.
    pub(crate) async fn take(&self, into: &mut Vec<Out>) -> bool {
        loop {
            if !self.queue.borrow().is_empty() {
                std::mem::swap(&mut *self.queue.borrow_mut(), into);
                return true;
            }
            if self.over.get() {
                return false;
            }
            self.ready.notified().await;
        }
    }
}
