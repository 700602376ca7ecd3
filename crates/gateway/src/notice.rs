//! What a gateway tells the JavaScript thread that started it, or those that share it: a bounded list and a doorbell
//! for each.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::doorbell::Doorbell;
use crate::sync::Mutex;

/// A notice to the application.
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
    /// Every I/O shard has ended. For a thread that [shared](crate::Gateway::shared) the gateway and has left it:
    /// nothing that the thread owned is left.
    Stopped,
    /// The link to other nodes is up, for the first time or again.
    BackplaneReady,
    /// A worker left its doorbell unanswered. It is already retired and has to be replaced.
    WorkerUnresponsive {
        /// Its id.
        worker: u32,
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// A dial failed.
    DialFailed {
        /// What [`Gateway::dial`](crate::Gateway::dial) returned.
        dial: u32,
        /// The reason.
        error: Arc<DialError>,
    },
    /// An error that the application should know about.
    Error {
        /// A stable code, `ERR_MILLRACE_…`.
        code: &'static str,
        /// One sentence.
        message: String,
    },
}

/// Why a dial failed.
#[derive(Debug, PartialEq, Eq)]
pub struct DialError {
    /// The address that was dialled; `None` for a unix socket.
    pub address: Option<SocketAddr>,
    /// The system's error number, if the error came from the system.
    pub code: Option<i32>,
    /// Whether the peer did not answer in time.
    pub timed_out: bool,
    /// Whether the peer was reached but TLS failed.
    pub is_tls: bool,
    /// A description of the error.
    pub message: String,
}

/// The threads that receive the notices about the gateway as a whole.
#[derive(Debug)]
pub(crate) enum Audience {
    /// The thread that started it.
    Starter(Arc<Notices>),
    /// The threads that currently share it.
    Members(Mutex<Vec<Arc<Notices>>>),
}

/// The notices that wait for one thread.
pub(crate) struct Notices {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Notice>,
    door: Option<Arc<dyn Doorbell>>,
    /// When each kind of error was last reported.
    reported: Vec<(&'static str, Instant)>,
}

impl Audience {
    /// The list for notices that belong to no particular owner. Without a starter no thread reads it.
    pub(crate) fn starter(&self) -> Arc<Notices> {
        match self {
            Self::Starter(notices) => Arc::clone(notices),
            Self::Members(_) => Arc::default(),
        }
    }

    /// Adds a thread that shares the gateway. A gateway with a starter is not shared.
    pub(crate) fn add(&self, notices: &Arc<Notices>) {
        if let Self::Members(members) = self {
            members.lock().push(Arc::clone(notices));
        }
    }

    /// Removes a thread. Returns how many are left; `None` if it was not there.
    pub(crate) fn remove(&self, notices: &Arc<Notices>) -> Option<usize> {
        let Self::Members(members) = self else {
            return None;
        };
        let mut members = members.lock();
        let place = members
            .iter()
            .position(|known| Arc::ptr_eq(known, notices))?;
        members.remove(place);
        Some(members.len())
    }

    /// Posts to all of them.
    pub(crate) fn post(&self, notice: &Notice) {
        for notices in self.all() {
            notices.post(notice.clone());
        }
    }

    /// Reports an error to all of them, each kind at most once a second.
    pub(crate) fn report(&self, code: &'static str, message: &str) {
        for notices in self.all() {
            notices.report(code, message);
        }
    }

    fn all(&self) -> Vec<Arc<Notices>> {
        match self {
            Self::Starter(notices) => vec![Arc::clone(notices)],
            Self::Members(members) => members.lock().clone(),
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self {
            state: Mutex::new(State::default()),
        }
    }
}

impl Notices {
    pub(crate) fn set_door(&self, door: Arc<dyn Doorbell>) {
        self.state.lock().door = Some(door);
    }

    /// Errors beyond the limit are dropped. Everything else is kept: it results from a call and occurs once for each.
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

    /// Reports an error, each kind at most once a second.
    pub(crate) fn report(&self, code: &'static str, message: &str) {
        {
            let now = Instant::now();
            let reported = &mut self.state.lock().reported;
            match reported.iter_mut().find(|(known, _)| *known == code) {
                Some((_, last)) if now.duration_since(*last) < REPORT_INTERVAL => return,
                Some((_, last)) => *last = now,
                None => reported.push((code, now)),
            }
        }
        self.post(Notice::Error {
            code,
            message: message.to_owned(),
        });
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state.lock().waiting)
    }
}

/// The most error notices that wait for a busy thread.
const WAITING_ERRORS: usize = 256;

/// The least time between two reports of one kind of error.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_about_the_gateway_reach_all_members() {
        let audience = Audience::Members(Mutex::default());
        let (one, other) = (Arc::<Notices>::default(), Arc::<Notices>::default());
        audience.add(&one);
        audience.add(&other);
        audience.report("ERR_MILLRACE_ACCEPT_FAILED", "a");
        // the same kind within a second
        audience.report("ERR_MILLRACE_ACCEPT_FAILED", "again");
        assert_eq!(audience.remove(&one), Some(1));
        assert_eq!(audience.remove(&one), None);
        audience.post(&Notice::BackplaneReady);
        let error = Notice::Error {
            code: "ERR_MILLRACE_ACCEPT_FAILED",
            message: "a".to_owned(),
        };
        assert_eq!(one.take(), vec![error.clone()]);
        assert_eq!(other.take(), [error, Notice::BackplaneReady]);
        assert_eq!(audience.remove(&other), Some(0));
    }

    #[test]
    fn a_starter_gets_all_notices() {
        let audience = Audience::Starter(Arc::default());
        audience.post(&Notice::Stopped);
        assert_eq!(audience.remove(&audience.starter()), None);
        assert_eq!(audience.starter().take(), [Notice::Stopped]);
    }
}
