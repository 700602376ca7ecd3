//! One connection as its I/O shard sees it: the stream, the outbox, the credit and the phase of its life. Only that
//! shard's thread accesses it. Over 400 lines because every state of a connection is in one place.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use millrace_core::SocketId;
use tokio::sync::oneshot;

use super::bodies::Bodies;
use super::credit::Credit;
use super::drain_waits::DrainWaits;
use super::gaps::Lost;
use super::message_streams::MessageStreams;
use super::moment::Deadline;
use super::outbox::Outbox;
use super::rate::{Pace, Rate};
use super::takeover::Takeover;
use super::times::Times;
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
    /// Whether it is in the list of connections to be written at the end of the turn.
    pub(crate) dirty: Cell<bool>,
    /// Whether the peer has sent its last byte and the session was told: nothing is read any more, but writing
    /// continues.
    pub(crate) half_closed: Cell<bool>,
    /// Whether other threads see the bytes in its outbox.
    pub(crate) is_shown: Cell<bool>,
    /// The state of its incomplete message.
    pub(crate) partial: Cell<Partial>,
    /// The traits of its session.
    pub(crate) traits: Cell<Traits>,
    /// Whether the readiness loop of the shard runs it.
    pub(crate) is_watched: Cell<bool>,
    /// Wakes the task that runs it, if there is one; boxed, because few connections have a task.
    pub(crate) task: Cell<Option<Box<Waker>>>,
    /// Whether it is in the list of connections to be run in the next round of the shard's readiness loop.
    pub(crate) runnable: Cell<bool>,
    pub(crate) io: RefCell<Io>,
    /// Counts the connection as long as it holds a descriptor.
    pub(crate) permit: Cell<Option<Permit>>,
}

/// Whether reading waits for the worker to catch up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Never,
    /// In the read queue of the shard.
    InLine,
    /// Released from the read queue, and nothing was read since.
    LetGo,
}

/// Whether the outbox is above its limits, and what waits for it to fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swelling {
    None,
    /// Transfers of which the worker would send more, or the session.
    Awaited,
    /// Reading as well, because of a frame that is being compressed: nobody is told.
    Parked,
    /// Reading as well, because the peer does not keep up.
    Paused,
}

impl Swelling {
    /// Whether reading waits.
    pub(crate) fn pauses(self) -> bool {
        matches!(self, Self::Parked | Self::Paused)
    }
}

/// The state of a connection's incomplete message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Partial {
    /// There is none, or it is too small to count.
    #[default]
    None,
    Counted,
    /// It is the largest while the total is over its limit, so its connection is not read.
    HeldBack,
}

/// The part of a connection that changes.
pub(crate) struct Io {
    pub(crate) phase: Phase,
    /// `None` until the handshake's answer is written.
    pub(crate) stream: Option<Stream>,
    pub(crate) session: Box<dyn Session>,
    /// The encoding of the shared frames that it takes.
    pub(crate) encoding: Encoding,
    pub(crate) outbox: Outbox,
    pub(crate) credit: Credit,
    /// Bytes that were read but not yet decoded, for lack of credit; boxed twice to take one word.
    pub(crate) stash: Option<Box<Box<[u8]>>>,
    /// Whether reading waits for the worker.
    pub(crate) wait: Wait,
    /// Once the worker was told that the outbox exceeds its read pause, it is told when it falls.
    pub(crate) swelling: Swelling,
    /// Whether the outbox overflowed before the connection was admitted. It is then closed after the admission.
    pub(crate) overflown: bool,
    /// The earliest deadline in the wheel.
    pub(crate) armed: Option<Deadline>,
    /// The deadline that was the earliest before. It is still in the wheel, so it need not be set again.
    pub(crate) armed_before: Option<Deadline>,
    pub(crate) times: Times,
    /// State that few connections have.
    pub(crate) extra: Option<Box<Extra>>,
    /// The number of outbox entries that the ledger counts.
    pub(crate) charged_entries: u32,
}

/// State that few connections have.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is of another subject, and changes by itself"
)]
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// The limits of messages per second, if there are any.
    pub(crate) rate: Option<Pace>,
    /// The time for which its session asked to be woken; 0: none.
    pub(crate) wake_at: u64,
    /// Its transfers.
    pub(crate) bodies: Bodies,
    /// Whether input is taken although much waits in the outbox.
    pub(crate) reads_on: bool,
    /// Whether its session holds input back.
    pub(crate) holds_input: bool,
    /// Whether other connections have a turn before it is read again.
    pub(crate) yields: bool,
    /// Whether the worker's queue was full when its session asked the worker something.
    pub(crate) awaits_worker: bool,
    /// Bytes to be written until its session is told; 0: it is not told.
    pub(crate) unwritten: usize,
    /// Whether its session waits for room in the outbox.
    pub(crate) wants_room: bool,
    /// Whether messages of the past wait for room in the outbox.
    pub(crate) reads_history: bool,
    /// Shared by its wakers, once there is one.
    pub(crate) waker: Option<Arc<SessionWaker>>,
    /// What its compressed messages refer to, if they refer to earlier ones.
    pub(crate) takeover: Option<Box<Takeover>>,
    /// Who waits for the outbox to fall to its low-water mark.
    pub(crate) drain_waits: Option<Box<DrainWaits>>,
    /// Messages that are sent in parts.
    pub(crate) message_streams: Option<Box<MessageStreams>>,
    /// What was told of messages of channels with history that a policy has dropped.
    pub(crate) lost: Option<Box<Lost>>,
    /// A reply in order that has to wait until a time.
    pub(crate) late: Option<(u64, LateReply)>,
}

impl Extra {
    /// Whether input waits for the worker's credit or for the session.
    pub(crate) fn stalls(&self) -> bool {
        self.holds_input || self.bodies.stall()
    }

    /// The earliest time that it waits for.
    pub(crate) fn next(&self) -> Option<u64> {
        let late = self.late.as_ref().map(|(at, _)| *at);
        let wake = (self.wake_at > 0).then_some(self.wake_at);
        late.into_iter().chain(wake).min()
    }
}

/// The phases of a connection's life.
pub(crate) enum Phase {
    /// `handleOpen` has not answered; its answer goes to the task that waits.
    Pending(oneshot::Sender<Admission>),
    /// Accepted; the handshake's answer is being sent.
    Admitted,
    /// Messages flow.
    Open,
    /// The peer has sent its last message or byte, and what came before it is being handled.
    Ending(Box<Ending>),
    /// Our close is written or queued.
    Closing { peer_close: PeerClose },
    /// Everything is written, and the peer's end of the stream is awaited, because the peer may still be sending:
    /// closing with unread bytes would make the system discard our close.
    Draining,
    /// The connection is gone.
    Gone,
}

/// A close that waits until handlers have processed what came before it.
pub(crate) struct Ending {
    pub(crate) reason: CloseReason,
    pub(crate) peer_close: PeerClose,
    /// Whether all events are handled, or held behind promises.
    pub(crate) handled: bool,
}

/// What the peer of a closing connection has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerClose {
    /// No close so far: it is awaited.
    Nothing,
    /// Invalid input, so that nothing more is read from it.
    Mistake,
    /// Its close, after which it sends nothing more: together with ours the handshake is complete.
    Goodbye,
    /// The end of its stream, so that nothing more is read; it may still read.
    StreamEnd,
}

/// Who gets what a session sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Only the peer, once it is admitted.
    Later,
    Both,
    /// Only the peer: the worker handles the last messages.
    Last,
    Nobody,
}

/// The answer of `handleOpen`.
pub(crate) type Admission = Result<Box<Acceptance>, Box<Rejection>>;

impl Phase {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Who gets what the session sends.
    pub(crate) fn audience(&self) -> Audience {
        match self {
            Self::Pending(_) | Self::Admitted => Audience::Later,
            Self::Open => Audience::Both,
            Self::Ending(_) => Audience::Last,
            Self::Closing { .. } | Self::Draining | Self::Gone => Audience::Nobody,
        }
    }

    /// The sender for the answer of `handleOpen`; the connection is then admitted.
    pub(crate) fn admit(&mut self) -> Option<oneshot::Sender<Admission>> {
        match std::mem::replace(self, Self::Admitted) {
            Self::Pending(waiting) => Some(waiting),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Takes the pending end; the caller has to set a new phase.
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
    /// What a close reason says about the peer.
    pub(crate) fn of(reason: &CloseReason) -> Self {
        match reason.mode {
            CloseMode::Final if reason.is_by_peer() => Self::Goodbye,
            CloseMode::Final => Self::Mistake,
            CloseMode::Handshake | CloseMode::Cut => Self::Nothing,
        }
    }
}

impl Connection {
    /// Calls `lend` with what a call on the stream needs to have the connection run again; `None` if nothing runs it.
    /// The readiness loop runs it without a waker.
    pub(crate) fn with_waker<R>(&self, lend: impl FnOnce(&Waker) -> R) -> Option<R> {
        if self.is_watched.get() {
            return Some(lend(Waker::noop()));
        }
        let waker = self.task.take()?;
        let result = lend(&waker);
        self.task.set(Some(waker));
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
                rate: Some(Pace {
                    own: Some(rate),
                    of_key: None,
                }),
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
            stash: None,
            wait: Wait::Never,
            swelling: Swelling::None,
            overflown: false,
            armed: None,
            armed_before: None,
            times: Times::new(now),
            extra,
            charged_entries: 0,
        }
    }

    /// Whether reading is paused, or was until just now: the peer cannot show that it is alive.
    pub(crate) fn is_paused(&self) -> bool {
        self.wait == Wait::InLine
            || self.swelling.pauses()
            || self.extra.as_deref().is_some_and(Extra::stalls)
    }

    /// Whether the stream is closed as soon as the output is written, and no unread input turns that into an error.
    #[cfg(unix)]
    pub(crate) fn ends_behind_output(&self) -> bool {
        let Phase::Closing { peer_close } = self.phase else {
            return false;
        };
        match peer_close {
            PeerClose::StreamEnd => true,
            PeerClose::Goodbye => !self.stream.as_ref().is_some_and(Stream::has_unread),
            PeerClose::Nothing | PeerClose::Mistake => false,
        }
    }

    /// Whether the peer is known to be gone, without writing to it.
    pub(crate) fn is_broken(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::is_broken)
    }

    /// Whether output waits for the kernel.
    pub(crate) fn is_behind(&self) -> bool {
        self.outbox.is_backlogged() || self.stream.as_ref().is_some_and(Stream::has_unsent)
    }

    /// Whether output waits, but only for its compression.
    pub(crate) fn is_parked(&self) -> bool {
        self.outbox.is_parked() && !self.stream.as_ref().is_some_and(Stream::has_unsent)
    }

    /// Whether input waits for the worker's credit or for the session.
    pub(crate) fn stalls(&self) -> bool {
        self.extra.as_deref().is_some_and(Extra::stalls)
    }

    /// Whether the application may still be told of messages, and send some.
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
            // 232 without debug assertions, in which a RefCell also stores where it was borrowed
            size_of::<Connection>() <= 248,
            "{}: more than a block of 256 bytes, with the two counts of its Rc and without debug assertions",
            size_of::<Connection>()
        );
    }
}
