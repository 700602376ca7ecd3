//! Links to other connections of the same shard, and connections that a session dials. Owns the dials that were
//! requested; the shard carries them out.

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

/// A link to a connection of the same shard. That may be gone: a link never refers to another connection later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(super) slot: u32,
    pub(super) socket: SocketId,
}

/// A connection to be dialled.
pub(crate) struct Dial {
    /// Connects to the peer. `None`: it failed, and the future itself has told the session.
    pub(crate) reach: Reaching,
}

/// A peer that is being connected to.
pub(crate) type Reaching = Pin<Box<dyn Future<Output = Option<Reached>>>>;

/// A peer after it was connected to.
pub(crate) struct Reached {
    pub(crate) stream: Stream,
    /// The bytes that it has sent already.
    pub(crate) early: Bytes,
    /// The session of the connection; it is woken when the connection is open.
    pub(crate) session: Box<dyn Session>,
    /// Whether the connection is counted.
    pub(crate) counts: bool,
}

/// A connection that is being dialled. Dropping it aborts the dial, unless the connection is established.
#[derive(Debug)]
pub(crate) struct Dialled(Rc<Attempt>);

/// Whether the dial is still wanted, and its task.
#[derive(Default)]
pub(crate) struct Attempt {
    unwanted: Cell<bool>,
    task: Cell<Option<AbortHandle>>,
}

/// Dials that the shard still has to start.
#[derive(Default)]
pub(crate) struct Dials(RefCell<Vec<Waiting>>);

/// A dial, its handle, and the listener whose configuration it uses.
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
    /// Whether the dial is no longer wanted.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.unwanted.get()
    }

    /// Sets the task of the dial.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        self.task.set(Some(task));
    }

    /// The connection is established: from now on it is a connection like others.
    pub(crate) fn made(&self) {
        self.task.take();
    }
}

impl Dials {
    /// Requests a dial, which starts when the turn ends.
    pub(super) fn push(&self, dial: Dial, listener: &Arc<ListenerState>) -> Dialled {
        let attempt = Rc::<Attempt>::default();
        let waiting = (dial, Rc::clone(&attempt), Arc::clone(listener));
        self.0.borrow_mut().push(waiting);
        Dialled(attempt)
    }

    /// Takes the dials to start now.
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
