//! What a session may do during a call: pass messages to the worker, answer, change the core, ask to be woken. It is a
//! struct and not a trait: it writes directly into the queue, the outbox and the inbox, so that a message needs no
//! dynamic call. Effects that concern the whole call are collected in its outcome, which the shard applies once.

mod effects;
mod links;

use std::borrow::Cow;
use std::cell::RefMut;
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
use crate::worker::queue::Parcel;

/// See the module.
pub(crate) struct Context<'a> {
    env: &'a Env,
    connection: &'a Connection,
    /// The parcel for the worker, from the first message on.
    parcel: Option<RefMut<'a, Parcel>>,
    parts: Parts<'a>,
    audience: Audience,
    outcome: Outcome,
}

/// The parts of a connection that the calls of its session change.
pub(crate) struct Parts<'a> {
    pub(crate) credit: &'a mut Credit,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) encoding: &'a mut Encoding,
    pub(crate) extra: &'a mut Option<Box<Extra>>,
    pub(crate) wait: Wait,
    pub(crate) swelling: &'a mut Swelling,
}

/// The outcome of a call.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is independent of the others"
)]
pub(crate) struct Outcome {
    pub(crate) alive: bool,
    pub(crate) replied: Replied,
    /// Whether something was sent that counts as a message.
    pub(crate) sent: bool,
    /// Whether a piece of a transfer went to the worker, or a message to another connection.
    pub(crate) passed: bool,
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Whether a reply in order is on its way: input pauses until it is written.
    pub(crate) pauses: bool,
    /// Whether input pauses until the I/O shards have caught up.
    pub(crate) waits_for_shards: bool,
    /// Whether there is a new deadline.
    pub(crate) look_again: bool,
    /// Whether something arrived for which the worker has no handler.
    pub(crate) no_handler: bool,
    /// The shards that were posted to.
    pub(crate) dirty: ShardSet,
}

/// Whether the session answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Replied {
    #[default]
    No,
    Short,
    /// With a long reply, which is written before more follows.
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
            parcel: None,
            parts,
            audience,
            outcome: Outcome::default(),
        }
    }

    /// The outcome of the call. Returns the worker's parcel.
    pub(crate) fn outcome(self) -> Outcome {
        self.outcome
    }
}

/// What the session may read.
impl<'a> Context<'a> {
    /// Milliseconds since the gateway was made, at the start of this turn.
    pub(crate) fn now(&self) -> u64 {
        self.env.now()
    }

    pub(crate) fn hub(&self) -> &'a Arc<Hub> {
        self.env.hub()
    }

    /// Whether the connection is closing: further input is ignored.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.audience, Audience::Last | Audience::Nobody)
    }
}

/// What the session may report about itself.
impl Context<'_> {
    /// Records that something complete arrived, which shows that the peer is alive.
    pub(crate) fn alive(&mut self) {
        self.outcome.alive = true;
    }

    /// Sets the encoding of shared frames from now on.
    pub(crate) fn speaks(&mut self, encoding: Encoding) {
        *self.parts.encoding = encoding;
    }

    /// Has the session [woken](super::Wake::Time) at this time, in milliseconds since the gateway was made. Replaces an
    /// earlier request.
    pub(crate) fn wake_at(&mut self, at: u64) {
        self.extra().wake_at = at;
        self.outcome.look_again = true;
    }

    /// Counts a peer that is refused; its connection is about to be closed.
    pub(crate) fn count_refused(&self) {
        self.env.count_refused();
    }

    fn extra(&mut self) -> &mut Extra {
        self.parts.extra.get_or_insert_default()
    }
}

/// Messages to the worker.
impl Context<'_> {
    /// Passes on a complete message.
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
        if self.parcel.is_none() {
            self.parcel = self.env.parcel(worker);
        }
        // the connections of a retired worker are about to be closed
        let Some(parcel) = &mut self.parcel else {
            return Flow::Stop;
        };
        let length = payload.len();
        let slot = self.connection.worker_slot.get();
        let number = parcel.message(record, slot, ascii, payload);
        self.parts.credit.spend(number, record_bytes(length));
        let room = worker.queue().accepts_more(parcel, self.env.queue_limits());
        let unhurried = self.count(length);
        Flow::go_if(room && unhurried && !self.parts.credit.is_spent(self.env.limits()))
    }

    /// No handler takes what arrived, which closes the connection. Input behind it is kept, because it may be the
    /// peer's close.
    #[cold]
    fn no_handler(&mut self) -> Flow {
        self.outcome.no_handler = true;
        Flow::Stop
    }

    /// Counts a complete request of this many bytes that was answered here, without the worker.
    pub(crate) fn done(&mut self, bytes: usize) -> Flow {
        let unhurried = self.count(bytes);
        if !self.outcome.pauses && self.hub().is_congested() {
            // what is published here goes to all shards
            self.outcome.waits_for_shards = true;
            return Flow::Stop;
        }
        Flow::go_if(unhurried && self.outcome.replied != Replied::Long && self.answers_fit())
    }

    /// Counts a complete message that was relayed to another connection, or answered because its target is gone.
    pub(crate) fn relayed(&mut self, bytes: usize) -> Flow {
        let unhurried = self.count(bytes);
        Flow::go_if(unhurried && self.answers_fit())
    }

    /// Whether more answers may be appended before the waiting ones are written. If not, the input waits until the peer has read.
    fn answers_fit(&self) -> bool {
        let outbox = &self.parts.outbox;
        !outbox.wants_flush() && outbox.charge() <= self.env.limits().outbox_read_pause_bytes
    }

    /// Counts a message. Returns whether its sender may continue.
    fn count(&mut self, bytes: usize) -> bool {
        self.outcome.delivered += 1;
        self.outcome.delivered_bytes += u64::try_from(bytes).unwrap_or_default();
        let extra = self.parts.extra.as_deref_mut();
        match extra.and_then(|extra| extra.rate.as_mut()) {
            None => true,
            Some(pace) => pace.count(self.env.now()),
        }
    }
}

/// Replies to the peer.
impl Context<'_> {
    /// Replies behind what was sent before.
    pub(crate) fn reply(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.begin_reply() {
            self.parts.outbox.append_reply(self.env.ledger(), encode);
        }
    }

    /// Replies with a control frame, which may be between the parts of a message.
    pub(crate) fn reply_control(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.begin_reply() {
            self.parts.outbox.append_control(self.env.ledger(), encode);
        }
    }

    /// Whether anybody is to get a short reply.
    fn begin_reply(&mut self) -> bool {
        if self.audience == Audience::Nobody {
            return false;
        }
        self.outcome.replied = self.outcome.replied.max(Replied::Short);
        let env = self.env;
        self.parts.outbox.lend(|| env.spare_buffer());
        true
    }

    /// Like [`reply`](Self::reply), for a reply that may be long: it is in a frame that was counted before it was made.
    pub(crate) fn reply_long(&mut self, reply: Frame) {
        if self.audience == Audience::Nobody {
            return;
        }
        self.outcome.replied = Replied::Long;
        self.parts.outbox.append_asked(self.env.ledger(), reply);
    }

    /// The charge with which a long reply is counted before it is made.
    pub(crate) fn charge(&self) -> Charge {
        let limit = self.env.limits().outboxes_total_bytes;
        Charge::new(self.env.ledger(), self.env.hub().ledgers(), limit)
    }

    /// Replies after everything that was posted to this shard so far, and not before `at`, in milliseconds since the
    /// gateway was made. Input pauses until then, so the caller has to stop taking it.
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

/// Changes of the core.
impl Context<'_> {
    /// Changes something. The shards that this makes dirty are woken after the call.
    pub(crate) fn post<R>(&mut self, change: impl FnOnce(&Hub, SocketId, &mut ShardSet) -> R) -> R {
        let socket = self.connection.socket;
        change(self.env.hub(), socket, &mut self.outcome.dirty)
    }
}
