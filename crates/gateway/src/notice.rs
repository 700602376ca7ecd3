//! What a gateway tells the JavaScript thread that started it, or those that share it: for each a bounded list and a doorbell.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// Every I/O shard has ended. To a thread that [shares](crate::Gateway::shared) the gateway and has left it: nothing of its
    /// own is left there.
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

/// Whom a gateway tells what concerns it as a whole.
#[derive(Debug)]
pub(crate) enum Audience {
    /// The thread that starts it.
    Starter(Arc<Notices>),
    /// Those that share it at the time.
    Members(Mutex<Vec<Arc<Notices>>>),
}

/// What waits for one thread.
pub(crate) struct Notices {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Notice>,
    door: Option<Arc<dyn Doorbell>>,
    /// When each kind of trouble was last reported.
    reported: Vec<(&'static str, Instant)>,
}

impl Audience {
    /// The list for what is nobody's in particular; without a starter one that nobody reads.
    pub(crate) fn starter(&self) -> Arc<Notices> {
        match self {
            Self::Starter(notices) => Arc::clone(notices),
            Self::Members(_) => Arc::default(),
        }
    }

    /// One more shares the gateway. It has no starter.
    pub(crate) fn add(&self, notices: &Arc<Notices>) {
        if let Self::Members(members) = self {
            members.lock().push(Arc::clone(notices));
        }
    }

    /// It does not any more. Returns how many are left; `None`: it did not before.
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

    /// Tells all of them.
    pub(crate) fn post(&self, notice: &Notice) {
        for notices in self.all() {
            notices.post(notice.clone());
        }
    }

    /// Tells all of them of trouble, each kind at most once a second.
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

    /// Tells of trouble, each kind at most once a second.
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

/// Error notices kept for a thread that is busy.
const WAITING_ERRORS: usize = 256;

/// How often one kind of trouble is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_all_told_what_concerns_the_gateway() {
        let audience = Audience::Members(Mutex::default());
        let (one, other) = (Arc::<Notices>::default(), Arc::<Notices>::default());
        audience.add(&one);
        audience.add(&other);
        audience.report("ERR_MILLRACE_ACCEPT_FAILED", "a");
        // of the same kind, and soon
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
    fn a_starter_is_told_everything() {
        let audience = Audience::Starter(Arc::default());
        audience.post(&Notice::Stopped);
        assert_eq!(audience.remove(&audience.starter()), None);
        assert_eq!(audience.starter().take(), [Notice::Stopped]);
    }
}
