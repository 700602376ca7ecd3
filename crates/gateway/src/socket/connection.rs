//! One connection as its I/O shard sees it: the stream, the outbox, the credit and the phase of its
//! life. Only that shard's thread ever touches it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use millrace_core::SocketId;
use tokio::sync::oneshot;

use super::outbox::Outbox;
use super::rate::Rate;
use crate::close::{CloseMode, CloseReason};
use crate::event::{Acceptance, Rejection};
use crate::frame::{Encoding, LateReply};
use crate::hub::Worker;
use crate::limits::GatewayLimits;
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
    /// Its session's, asked when it opened.
    pub(crate) traits: Traits,
    /// Wakes the connection's task.
    pub(crate) waker: Cell<Option<Waker>>,
    /// What of its unfinished message counts in the total of all of them.
    pub(crate) unfinished: Cell<u32>,
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
    /// Once the outbox exceeded its read pause; a drain event is due when it falls.
    pub(crate) swollen: bool,
    /// The outbox overflowed before the connection was admitted: it is closed once it is.
    pub(crate) overflown: bool,
    /// Not read, because its unfinished message is the largest of too many.
    pub(crate) held_back: bool,
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
    /// A reply in order that has to wait for a time.
    pub(crate) late: Option<(u64, LateReply)>,
}

impl Extra {
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

/// `handleOpen`'s answer.
pub(crate) type Admission = Result<Box<Acceptance>, Box<Rejection>>;

/// Events of a connection that its worker has not handled.
#[derive(Debug, Default)]
pub(crate) struct Credit {
    /// The newest batch that holds one of its events.
    batch: u64,
    events: u32,
    bytes: usize,
    held_events: u32,
    held_bytes: usize,
}

impl Phase {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
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
            swollen: false,
            overflown: false,
            held_back: false,
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
        self.wait == Wait::InLine || self.swollen || self.held_back
    }

    /// Whether something waits for the kernel.
    pub(crate) fn is_behind(&self) -> bool {
        self.outbox.is_backlogged() || self.stream.as_ref().is_some_and(Stream::has_unsent)
    }

    /// Whether the application may still be told of messages and send some.
    pub(crate) fn is_live(&self) -> bool {
        !self.overflown
            && matches!(
                self.phase,
                Phase::Pending(_) | Phase::Admitted | Phase::Open | Phase::Ending(_)
            )
    }
}

impl Credit {
    /// One event of `bytes` bytes went into batch `batch`.
    pub(crate) fn spend(&mut self, batch: u64, bytes: usize) {
        self.batch = batch;
        self.events += 1;
        self.bytes += bytes;
    }

    /// The newest batch that holds one of its events, if there was any.
    pub(crate) fn newest(&self) -> Option<u64> {
        (self.batch > 0).then_some(self.batch)
    }

    /// Whether events wait behind a promise.
    pub(crate) fn is_holding(&self) -> bool {
        self.held_events > 0
    }

    /// Whether another event may be taken from the wire. `handled` is the newest batch that the
    /// worker is done with.
    pub(crate) fn has_room(&mut self, handled: u64, limits: &GatewayLimits) -> bool {
        if handled >= self.batch {
            (self.events, self.bytes) = (0, 0);
        }
        !self.is_spent(limits)
    }

    /// Whether a bound is reached, without looking at what the worker did meanwhile.
    pub(crate) fn is_spent(&self, limits: &GatewayLimits) -> bool {
        self.events.saturating_add(self.held_events) >= limits.unhandled_events.max(1)
            || self.bytes.saturating_add(self.held_bytes) >= limits.unhandled_bytes.max(1)
    }

    /// Events of a batch wait behind a promise.
    pub(crate) fn hold(&mut self, events: u32, bytes: u32) {
        self.held_events = self.held_events.saturating_add(events);
        self.held_bytes = self
            .held_bytes
            .saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// … and are handled.
    pub(crate) fn release(&mut self, events: u32, bytes: u32) {
        self.held_events = self.held_events.saturating_sub(events);
        self.held_bytes = self
            .held_bytes
            .saturating_sub(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}

/// A connection shared between the shard's table, its task and the turn.
pub(crate) type Shared = Rc<Connection>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_comes_back_when_its_last_batch_is_handled() {
        let limits = GatewayLimits {
            unhandled_events: 2,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        credit.spend(5, 10);
        assert!(credit.has_room(4, &limits));
        credit.spend(6, 10);
        assert!(credit.is_spent(&limits));
        assert!(
            !credit.has_room(5, &limits),
            "an earlier batch alone brings nothing back"
        );
        assert!(credit.has_room(6, &limits));
    }

    #[test]
    fn held_events_count_until_they_are_released() {
        let limits = GatewayLimits {
            unhandled_events: 2,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        credit.spend(1, 10);
        credit.spend(1, 10);
        credit.hold(2, 20);
        assert!(!credit.has_room(1, &limits));
        credit.release(1, 10);
        assert!(credit.has_room(1, &limits));
    }

    #[test]
    fn bytes_are_bounded_and_one_message_fits() {
        let limits = GatewayLimits {
            unhandled_bytes: 100,
            ..GatewayLimits::default()
        };
        let mut credit = Credit::default();
        assert!(credit.has_room(0, &limits));
        credit.spend(1, 1_000_000);
        assert!(!credit.has_room(0, &limits));
        assert!(credit.has_room(1, &limits));
    }

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
