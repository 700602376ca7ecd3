//! Other connections of the same shard, as a session knows them, and connections that it has made. Owns what is to be made; who
//! makes it is the shard.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use millrace_core::SocketId;
use tokio::task::AbortHandle;

use super::Session;
use crate::listener::ListenerState;
use crate::net::stream::Stream;

/// A connection of the same shard. It may be gone: its name is never another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(super) slot: u32,
    pub(super) socket: SocketId,
}

/// A connection to be made.
pub(crate) struct Dial {
    /// Reaches the peer. `None`: it could not, and whoever asked knows; the future told them.
    pub(crate) reach: Reaching,
}

/// A peer on its way to being reached.
pub(crate) type Reaching = Pin<Box<dyn Future<Output = Option<Reached>>>>;

/// A peer that was reached.
pub(crate) struct Reached {
    pub(crate) stream: Stream,
    /// What it has said already.
    pub(crate) early: Bytes,
    /// Begins to speak; it is woken when the connection is open.
    pub(crate) session: Box<dyn Session>,
    /// Whether it counts as a connection of its own.
    pub(crate) counts: bool,
}

/// A connection that is being made. Dropping it gives that up, until it is there.
#[derive(Debug)]
pub(crate) struct Dialled(Rc<Attempt>);

/// Whether somebody still wants it, and what makes it.
#[derive(Default)]
pub(crate) struct Attempt {
    unwanted: Cell<bool>,
    task: Cell<Option<AbortHandle>>,
}

/// What the shard is still to begin with.
#[derive(Default)]
pub(crate) struct Dials(RefCell<Vec<Waiting>>);

/// What is to be made, who wants it, and on which terms.
pub(crate) type Waiting = (Dial, Rc<Attempt>, Arc<ListenerState>);

impl Drop for Dialled {
    fn drop(&mut self) {
        self.0.unwanted.set(true);
        if let Some(task) = self.0.task.take() {
            task.abort();
        }
    }
}

impl Attempt {
    /// Whether nobody wants it any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.unwanted.get()
    }

    /// What makes it.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        self.task.set(Some(task));
    }

    /// It is made: from here on it is a connection like others.
    pub(crate) fn made(&self) {
        self.task.take();
    }
}

impl Dials {
    /// To be begun when the turn ends.
    pub(super) fn push(&self, dial: Dial, listener: &Arc<ListenerState>) -> Dialled {
        let attempt = Rc::<Attempt>::default();
        let waiting = (dial, Rc::clone(&attempt), Arc::clone(listener));
        self.0.borrow_mut().push(waiting);
        Dialled(attempt)
    }

    /// What is to be begun now.
    pub(crate) fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("unwanted", &self.unwanted)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").finish_non_exhaustive()
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reached").finish_non_exhaustive()
    }
}

impl fmt::Debug for Dials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dials")
            .field(&self.0.borrow().len())
            .finish()
    }
}
