//! One connection as its I/O shard sees it: the stream, the outbox, the credit and the phase of its
//! life. Only that shard's thread ever touches it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use millrace_core::SocketId;
use tokio::sync::oneshot;

use super::bodies::Bodies;
use super::credit::Credit;
use super::outbox::Outbox;
use super::rate::Rate;
use super::waker::SessionWaker;
use crate::close::{CloseMode, CloseReason};
use crate::event::{Acceptance, Rejection};
use crate::frame::{Encoding, LateReply};
use crate::hub::Worker;
use crate::listener::ListenerState;
use crate::net::stream::Stream;
use crate::permits::Permit;
use crate::socket::{Session, Traits};

/// See the module.
pub(crate) struct Connection {
    pub(crate) socket: SocketId,
    pub(crate) slot: u32,
    pub(crate) worker: Arc<Worker>,
    pub(crate) worker_slot: Cell<u32>,
    pub(crate) listener: Arc<ListenerState>,
    /// In the list of connections to be written at the end of the turn.
    pub(crate) dirty: Cell<bool>,
    /// The peer has sent its last byte, and the session was told: nothing is read any more, writing goes on.
    pub(crate) half_closed: Cell<bool>,
    /// What becomes of its message that is not complete.
    pub(crate) partial: Cell<Partial>,
    /// Its session's, asked when it opened.
    pub(crate) traits: Traits,
    /// Wakes the connection's task.
    pub(crate) waker: Cell<Option<Waker>>,
    pub(crate) io: RefCell<Io>,
    /// Counts the connection for as long as it holds a descriptor.
    pub(crate) permit: Cell<Option<Permit>>,
}

/// Whether reading waits for the worker to catch up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Never,
    /// In the shard's line of those that wait.
    InLine,
    /// Let go from there, and nothing read since.
    LetGo,
}

/// Whether the outbox holds more than it should, and who waits for it to fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swelling {
    None,
    /// Transfers of which the worker would send more.
    Awaited,
    /// Reading too.
    Paused,
}

/// What becomes of a connection's message that is not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Partial {
    /// There is none, or next to nothing of it.
    #[default]
    None,
    Counted,
    /// It is the largest of too many, so its connection is not read.
    HeldBack,
}

/// What changes while the connection lives.
pub(crate) struct Io {
    pub(crate) phase: Phase,
    /// `None` until the handshake's answer is written.
    pub(crate) stream: Option<Stream>,
    pub(crate) session: Box<dyn Session>,
    /// Which shared frames it takes now.
    pub(crate) encoding: Encoding,
    pub(crate) outbox: Outbox,
    pub(crate) credit: Credit,
    /// Bytes read and not yet decoded, for lack of credit.
    pub(crate) stash: Box<[u8]>,
    /// Whether reading waits for the worker.
    pub(crate) wait: Wait,
    /// Once the outbox exceeded its read pause, a drain event is due when it falls.
    pub(crate) swelling: Swelling,
    /// The outbox overflowed before the connection was admitted: it is closed once it is.
    pub(crate) overflown: bool,
    /// The earliest deadline set in the wheel.
    pub(crate) armed: u64,
    /// The one that was the earliest before: still in the wheel, so it need not be set again.
    pub(crate) armed_before: u64,
    pub(crate) times: Times,
    /// What few connections have.
    pub(crate) extra: Option<Box<Extra>>,
    /// What of the outbox is counted in the shard's ledger.
    pub(crate) charged_entries: u32,
}

/// What few connections have.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// Messages per second, where limited.
    pub(crate) rate: Option<Rate>,
    /// When its session asked to be woken; 0 is not.
    pub(crate) wake_at: u64,
    /// Its large bodies.
    pub(crate) bodies: Bodies,
    /// Input is taken though much waits in the outbox.
    pub(crate) reads_on: bool,
    /// Its session has input wait.
    pub(crate) holds_input: bool,
    /// Bytes to be written until its session is to be told so; 0: it is not.
    pub(crate) unwritten: usize,
    /// Its session waits for room in the outbox.
    pub(crate) wants_room: bool,
    /// What its wakers share, once there is one.
    pub(crate) waker: Option<Arc<SessionWaker>>,
    /// A reply in order that has to wait for a time.
    pub(crate) late: Option<(u64, LateReply)>,
}

impl Extra {
    /// Whether input waits for the worker to take more of a large body, or for the session.
    pub(crate) fn stalls(&self) -> bool {
        self.holds_input || self.bodies.stall()
    }

    /// The next time that it waits for.
    pub(crate) fn next(&self) -> Option<u64> {
        let late = self.late.as_ref().map(|(at, _)| *at);
        let wake = (self.wake_at > 0).then_some(self.wake_at);
        late.into_iter().chain(wake).min()
    }
}

/// When things last happened, in milliseconds of the shard's clock; 0 is never.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Something complete arrived.
    pub(crate) alive: u64,
    /// A message went in or out.
    pub(crate) message: u64,
    /// An unanswered ping was sent.
    pub(crate) ping: u64,
    /// Bytes of an unfinished message that had arrived by then.
    pub(crate) ping_received: u64,
    /// The first byte of a message not yet complete.
    pub(crate) unfinished: u64,
    /// The last progress of a blocked write.
    pub(crate) blocked: u64,
    /// A closing connection is cut.
    pub(crate) deadline: u64,
}

/// The phases of a connection's life.
pub(crate) enum Phase {
    /// `handleOpen` has not answered; the answer goes to the HTTP request that waits.
    Pending(oneshot::Sender<Admission>),
    /// Accepted; the handshake's answer is on its way.
    Admitted,
    /// Messages flow.
    Open,
    /// The peer said its last, and what came before it is being handled.
    Ending(Box<Ending>),
    /// Our goodbye is said or queued.
    Closing { peer_close: PeerClose },
    /// Everything is said; the peer's end of the stream is awaited, because it may still be sending:
    /// closing on unread bytes would take our goodbye from it.
    Draining,
    /// Nothing left to do.
    Gone,
}

/// An end that waits for the handlers of what came before it.
pub(crate) struct Ending {
    pub(crate) reason: CloseReason,
    pub(crate) peer_close: PeerClose,
    /// All its events are handled, or held behind promises.
    pub(crate) handled: bool,
}

/// What a closing connection has heard of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerClose {
    /// No goodbye yet: it is awaited.
    Nothing,
    /// It did wrong, so nothing it says counts.
    Mistake,
    /// Its goodbye, the last it may send: with ours, the conversation is over.
    Goodbye,
    /// The end of its stream, so nothing is read any more; it may still read.
    StreamEnd,
}

/// Who hears of what a session says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The peer alone, once it may come in.
    Later,
    Both,
    /// The peer alone: the worker handles its last words.
    Last,
    Nobody,
}

/// `handleOpen`'s answer.
pub(crate) type Admission = Result<Box<Acceptance>, Box<Rejection>>;

impl Phase {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Who hears of what the session says.
    pub(crate) fn audience(&self) -> Audience {
        match self {
            Self::Pending(_) | Self::Admitted => Audience::Later,
            Self::Open => Audience::Both,
            Self::Ending(_) => Audience::Last,
            Self::Closing { .. } | Self::Draining | Self::Gone => Audience::Nobody,
        }
    }

    /// Who waits for `handleOpen`, which has answered.
    pub(crate) fn admit(&mut self) -> Option<oneshot::Sender<Admission>> {
        match std::mem::replace(self, Self::Admitted) {
            Self::Pending(waiting) => Some(waiting),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Takes what an end is; a new phase has to follow.
    pub(crate) fn take_ending(&mut self) -> Option<Ending> {
        match std::mem::replace(self, Self::Gone) {
            Self::Ending(ending) => Some(*ending),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl PeerClose {
    /// What a reason to close says about it.
    pub(crate) fn of(reason: &CloseReason) -> Self {
        match reason.mode {
            CloseMode::Final if reason.is_by_peer() => Self::Goodbye,
            CloseMode::Final => Self::Mistake,
            CloseMode::Handshake | CloseMode::Cut => Self::Nothing,
        }
    }
}

impl Connection {
    /// Makes the connection's task run.
    pub(crate) fn wake(&self) {
        self.with_waker(Waker::wake_by_ref);
    }

    /// Lends the waker of the connection's task, if it has run yet.
    pub(crate) fn with_waker<R>(&self, lend: impl FnOnce(&Waker) -> R) -> Option<R> {
        let waker = self.waker.take()?;
        let result = lend(&waker);
        self.waker.set(Some(waker));
        Some(result)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("socket", &self.socket)
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

impl Io {
    pub(crate) fn new(
        phase: Phase,
        (session, encoding): (Box<dyn Session>, Encoding),
        rate: Option<Rate>,
        now: u64,
    ) -> Self {
        let extra = rate.map(|rate| {
            Box::new(Extra {
                rate: Some(rate),
                ..Extra::default()
            })
        });
        Self {
            phase,
            stream: None,
            encoding,
            session,
            outbox: Outbox::default(),
            credit: Credit::default(),
            stash: Box::default(),
            wait: Wait::Never,
            swelling: Swelling::None,
            overflown: false,
            armed: u64::MAX,
            armed_before: u64::MAX,
            times: Times {
                alive: now,
                message: now,
                ..Times::default()
            },
            extra,
            charged_entries: 0,
        }
    }

    /// Whether reading stands still, or did a moment ago: the peer cannot show that it lives.
    pub(crate) fn is_paused(&self) -> bool {
        self.wait == Wait::InLine
            || self.swelling == Swelling::Paused
            || self.extra.as_deref().is_some_and(Extra::stalls)
    }

    /// Whether the peer is gone for good, as far as that is known without writing to it.
    pub(crate) fn is_broken(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::is_broken)
    }

    /// Whether something waits for the kernel.
    pub(crate) fn is_behind(&self) -> bool {
        self.outbox.is_backlogged() || self.stream.as_ref().is_some_and(Stream::has_unsent)
    }

    /// Whether input waits for the worker to take more of a large body, or for the session.
    pub(crate) fn stalls(&self) -> bool {
        self.extra.as_deref().is_some_and(Extra::stalls)
    }

    /// Whether the application may still be told of messages and send some.
    pub(crate) fn is_live(&self) -> bool {
        !self.overflown && self.phase.audience() != Audience::Nobody
    }
}

/// A connection shared between the shard's table, its task and the turn.
pub(crate) type Shared = Rc<Connection>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_compact() {
        assert!(
            // 368 without debug assertions, which make a RefCell remember who borrowed it
            size_of::<Connection>() <= 376,
            "{}: with the two counts of its Rc, a block of 384 bytes",
            size_of::<Connection>()
        );
    }
}
