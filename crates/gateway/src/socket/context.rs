//! What a session may do while it is called: hand messages to the worker, answer, change the core, ask to be woken. A
//! struct and no trait: it writes straight into the queue, the outbox and the inbox, so a message costs no dynamic call.
//! What follows from all of a call is its outcome, which the shard looks at once.

mod effects;
mod links;

use std::borrow::Cow;
use std::sync::Arc;

use millrace_core::{Kind, ShardSet, SocketId};

use super::Flow;
use super::connection::{Audience, Connection, Extra, Swelling, Wait};
use super::credit::Credit;
use super::env::Env;
use super::outbox::Outbox;
use crate::event::record::record_bytes;
use crate::event::{Handlers, RecordKind};
use crate::frame::{Charge, Encoding, Frame, LateReply};
use crate::hub::Hub;
use crate::inbox::Command;
use crate::worker::queue;

/// See the module.
pub(crate) struct Context<'a> {
    env: &'a Env,
    connection: &'a Connection,
    /// The worker's queue, locked from the first message on.
    appender: Option<queue::Appender<'a>>,
    parts: Parts<'a>,
    audience: Audience,
    outcome: Outcome,
}

/// What of a connection a session's calls change.
pub(crate) struct Parts<'a> {
    pub(crate) credit: &'a mut Credit,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) encoding: &'a mut Encoding,
    pub(crate) extra: &'a mut Option<Box<Extra>>,
    pub(crate) wait: Wait,
    pub(crate) swelling: &'a mut Swelling,
}

/// What came of a call.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is told apart from the others"
)]
pub(crate) struct Outcome {
    pub(crate) alive: bool,
    pub(crate) replied: Replied,
    /// Something was sent that counts as a message.
    pub(crate) sent: bool,
    /// A piece of a large body went to the worker, or a message to another connection.
    pub(crate) passed: bool,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// A reply in order is on its way: input pauses until it is written.
    pub(crate) pauses: bool,
    /// Input pauses until no I/O shard has too much to do.
    pub(crate) waits_for_shards: bool,
    /// It has a new deadline.
    pub(crate) look_again: bool,
    /// Something came that the worker has no handler for.
    pub(crate) no_handler: bool,
    /// Shards that something was posted to.
    pub(crate) dirty: ShardSet,
}

/// Whether something was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Replied {
    #[default]
    No,
    Short,
    /// At length: that is written before more follows.
    Long,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        env: &'a Env,
        connection: &'a Connection,
        parts: Parts<'a>,
        audience: Audience,
    ) -> Self {
        Self {
            env,
            connection,
            appender: None,
            parts,
            audience,
            outcome: Outcome::default(),
        }
    }

    /// What came of the call. Unlocks the worker's queue.
    pub(crate) fn outcome(self) -> Outcome {
        self.outcome
    }
}

/// What it may know.
impl<'a> Context<'a> {
    /// Milliseconds since the gateway was made, as of this turn.
    pub(crate) fn now(&self) -> u64 {
        self.env.now()
    }

    pub(crate) fn hub(&self) -> &'a Arc<Hub> {
        self.env.hub()
    }

    /// Whether the connection is closing: what comes counts no more.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.audience, Audience::Last | Audience::Nobody)
    }
}

/// What it may say of itself.
impl Context<'_> {
    /// Something complete arrived: the peer lives.
    pub(crate) fn alive(&mut self) {
        self.outcome.alive = true;
    }

    /// Takes frames of this encoding from here on.
    pub(crate) fn speaks(&mut self, encoding: Encoding) {
        *self.parts.encoding = encoding;
    }

    /// Has the session [woken](super::Wake::Time) at this time, in milliseconds since the gateway was made, and no longer at an
    /// earlier one that it asked for.
    pub(crate) fn wake_at(&mut self, at: u64) {
        self.extra().wake_at = at;
        self.outcome.look_again = true;
    }

    /// The peer is about to be closed because it may not come in.
    pub(crate) fn count_refused(&self) {
        self.env.count_refused();
    }

    fn extra(&mut self) -> &mut Extra {
        self.parts.extra.get_or_insert_default()
    }
}

/// To the worker.
impl Context<'_> {
    /// A complete message.
    #[expect(
        clippy::inline_always,
        reason = "a call costs each message twenty instructions, and each protocol has one place"
    )]
    #[inline(always)]
    pub(crate) fn message(&mut self, kind: Kind, ascii: bool, payload: Cow<'_, [u8]>) -> Flow {
        if self.audience != Audience::Both {
            return Flow::Go;
        }
        let worker = &self.connection.worker;
        let (record, handler) = match kind {
            Kind::Text => (RecordKind::Text, Handlers::TEXT),
            Kind::Binary => (RecordKind::Binary, Handlers::BINARY),
        };
        if !worker.handlers().contains(handler) {
            return self.no_handler();
        }
        if self.appender.is_none() {
            self.appender = worker.queue().appender();
        }
        // a retired worker's connections are about to be closed
        let Some(appender) = &mut self.appender else {
            return Flow::Stop;
        };
        let length = payload.len();
        let slot = self.connection.worker_slot.get();
        let batch = appender.message(record, slot, ascii, payload);
        self.parts.credit.spend(batch, record_bytes(length));
        let limits = self.env.limits();
        let room = appender.has_room(limits.worker_queue_events, limits.worker_queue_bytes);
        let unhurried = self.count(length);
        Flow::go_if(room && unhurried && !self.parts.credit.is_spent(limits))
    }

    /// Nobody handles what came, which ends the connection. What lies behind it is kept: it may be the peer's goodbye.
    #[cold]
    fn no_handler(&mut self) -> Flow {
        self.outcome.no_handler = true;
        Flow::Stop
    }

    /// A complete request of so many bytes was answered here and is not for the worker.
    pub(crate) fn done(&mut self, bytes: usize) -> Flow {
        let unhurried = self.count(bytes);
        if !self.outcome.pauses && self.hub().is_congested() {
            // what is published here goes to all of them
            self.outcome.waits_for_shards = true;
            return Flow::Stop;
        }
        Flow::go_if(unhurried && self.outcome.replied != Replied::Long && self.answers_fit())
    }

    /// A complete message was passed on to somebody else than the worker, or answered because nobody is there.
    pub(crate) fn relayed(&mut self, bytes: usize) -> Flow {
        let unhurried = self.count(bytes);
        Flow::go_if(unhurried && self.answers_fit())
    }

    /// Whether more may be answered before what waits is written. Where not, what its peer has sent waits until that has read.
    fn answers_fit(&self) -> bool {
        let outbox = &self.parts.outbox;
        !outbox.wants_flush() && outbox.charge() <= self.env.limits().outbox_read_pause_bytes
    }

    /// Counts a message. Whether its sender may go on.
    fn count(&mut self, bytes: usize) -> bool {
        self.outcome.delivered += 1;
        self.outcome.delivered_bytes += u64::try_from(bytes).unwrap_or_default();
        let now = self.env.now();
        let extra = self.parts.extra.as_deref_mut();
        let rate = extra.and_then(|extra| extra.rate.as_mut());
        !rate.is_some_and(|rate| {
            rate.spend(now);
            rate.wait(now) > 0
        })
    }
}

/// To its peer.
impl Context<'_> {
    /// Answers at once.
    pub(crate) fn reply(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.audience == Audience::Nobody {
            return;
        }
        self.outcome.replied = self.outcome.replied.max(Replied::Short);
        let env = self.env;
        self.parts.outbox.lend(|| env.spare_buffer());
        self.parts.outbox.append_control(env.hub().ledger(), encode);
    }

    /// [`reply`](Self::reply), which may be long: in a frame that was counted before it was made.
    pub(crate) fn reply_long(&mut self, reply: Frame) {
        if self.audience == Audience::Nobody {
            return;
        }
        self.outcome.replied = Replied::Long;
        self.parts
            .outbox
            .append_asked(self.env.hub().ledger(), reply);
    }

    /// What a long reply is counted with before it is made.
    pub(crate) fn charge(&self) -> Charge {
        let limit = self.env.limits().outboxes_total_bytes;
        Charge::new(self.env.hub().ledger(), limit)
    }

    /// Answers behind everything that was posted to this shard so far, and not before `at`, in milliseconds since the gateway
    /// was made. Input pauses until then: take nothing more now.
    pub(crate) fn reply_in_order(&mut self, answer: LateReply, at: u64) {
        self.outcome.pauses = true;
        if at > self.now() {
            self.extra().late = Some((at, answer));
            self.outcome.look_again = true;
            return;
        }
        let command = Command::Answer {
            slot: self.connection.slot,
            socket: self.connection.socket,
            answer,
        };
        let shard = self.env.index();
        self.hub().inboxes().post(shard, command);
        self.outcome.dirty.insert(shard);
    }
}

/// To the core.
impl Context<'_> {
    /// Changes something. Shards that this made dirty are woken when the call is over.
    pub(crate) fn post<R>(&mut self, change: impl FnOnce(&Hub, SocketId, &mut ShardSet) -> R) -> R {
        let socket = self.connection.socket;
        change(self.env.hub(), socket, &mut self.outcome.dirty)
    }
}
