//! What a gateway tells the JavaScript thread that started it: a bounded list and a doorbell.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::doorbell::Doorbell;
use crate::sync::Mutex;

/// One thing to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The connections of a stopped set of listeners are gone.
    ListenersStopped {
        /// What [`Gateway::stop_listeners`](crate::Gateway::stop_listeners) returned.
        ticket: u32,
        /// Connections that had not finished at the deadline.
        cut: u64,
    },
    /// Every I/O shard has ended.
    Stopped,
    /// The link to other nodes is up, for the first time or again.
    BackplaneReady,
    /// A worker left its doorbell unanswered; it is retired already and has to be replaced.
    WorkerUnresponsive {
        /// Its id.
        worker: u32,
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// A peer was not reached.
    DialFailed {
        /// What [`Gateway::dial`](crate::Gateway::dial) returned.
        dial: u32,
        /// Why not.
        error: Arc<DialError>,
    },
    /// Something the application should know.
    Error {
        /// Stable, `ERR_MILLRACE_…`.
        code: &'static str,
        /// One sentence.
        message: String,
    },
}

/// Why a peer was not reached.
#[derive(Debug, PartialEq, Eq)]
pub struct DialError {
    /// Whom this is about; `None` for a unix socket.
    pub address: Option<SocketAddr>,
    /// The system's number for it, where it is the system that said so.
    pub code: Option<i32>,
    /// It did not answer in time.
    pub timed_out: bool,
    /// It was reached, but TLS failed.
    pub is_tls: bool,
    /// In words.
    pub message: String,
}

/// See the module.
pub(crate) struct Notices {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Notice>,
    door: Option<Arc<dyn Doorbell>>,
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Notices {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
        }
    }

    pub(crate) fn set_door(&self, door: Arc<dyn Doorbell>) {
        self.state.lock().door = Some(door);
    }

    /// Errors beyond the bound are dropped, everything else is kept: it comes once per call of ours.
    pub(crate) fn post(&self, notice: Notice) {
        let door = {
            let mut state = self.state.lock();
            if state.waiting.len() >= WAITING_ERRORS && matches!(notice, Notice::Error { .. }) {
                return;
            }
            state.waiting.push(notice);
            state.door.clone()
        };
        if let Some(door) = door {
            door.ring();
        }
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state.lock().waiting)
    }
}

/// Error notices kept for a main thread that is busy.
const WAITING_ERRORS: usize = 256;
