//! What an adapter may do while it decodes: deliver to the worker, answer, change the core. Owns what comes of it until
//! the bytes are taken.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use millrace_core::{Kind, ShardSet};

use super::Shard;
use super::connection::{Connection, Credit};
use super::outbox::Outbox;
use super::rate::Rate;
use crate::adapter::{Intake, Site};
use crate::close::CloseReason;
use crate::event::record::{RecordKind, record_bytes};
use crate::frame::{Charge, Frame, LateReply};
use crate::inbox::Command;
use crate::worker::queue;

/// See the module.
pub(super) struct Taking<'a> {
    shard: &'a Shard,
    connection: &'a Connection,
    /// The worker's queue, locked from the first message on.
    appender: Option<queue::Appender<'a>>,
    credit: &'a mut Credit,
    outbox: &'a mut Outbox,
    rate: Option<&'a mut Rate>,
    /// The connection is closing: its messages are nobody's any more.
    discard: bool,
    taken: Taken,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) alive: bool,
    pub(super) replied: Replied,
    pub(super) delivered: u64,
    pub(super) delivered_bytes: u64,
    /// An answer is on its way through the inbox.
    pub(super) answer_later: bool,
    /// The adapter has a new deadline.
    pub(super) look_again: bool,
    /// Shards that something was posted to.
    pub(super) dirty: ShardSet,
}

/// Whether something was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Replied {
    #[default]
    No,
    Short,
    /// At length: that is written before more follows.
    Long,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        shard: &'a Shard,
        connection: &'a Connection,
        (credit, outbox, rate): (&'a mut Credit, &'a mut Outbox, Option<&'a mut Rate>),
        discard: bool,
    ) -> Self {
        Self {
            shard,
            connection,
            appender: None,
            credit,
            outbox,
            rate,
            discard,
            taken: Taken::default(),
        }
    }

    pub(super) fn taken(self) -> Taken {
        self.taken
    }

    /// Reading pauses until no I/O shard has too much to do: what is published here goes to all of them.
    fn wait_for_shards(&mut self) {
        self.taken.answer_later = true;
        let hub = Arc::clone(&self.shard.hub);
        let shard = self.shard.index;
        let command = Command::Answer {
            slot: self.connection.slot,
            socket: self.connection.socket,
            answer: LateReply::Short(Box::default()),
        };
        tokio::task::spawn_local(async move {
            while hub.inboxes().congested() {
                tokio::time::sleep(LOOK).await;
            }
            hub.inboxes().post(shard, command);
            hub.inboxes().wake_bits(1 << shard.get());
        });
    }

    /// Counts a message. Whether its sender may go on.
    fn count(&mut self, bytes: usize) -> bool {
        self.taken.delivered += 1;
        self.taken.delivered_bytes += u64::try_from(bytes).unwrap_or_default();
        let now = self.shard.now.get();
        !self.rate.as_mut().is_some_and(|rate| {
            rate.spend(now);
            rate.wait(now) > 0
        })
    }
}

impl Intake for Taking<'_> {
    fn deliver(
        &mut self,
        kind: Kind,
        ascii: bool,
        payload: Cow<'_, [u8]>,
    ) -> Result<bool, CloseReason> {
        if self.discard {
            return Ok(true);
        }
        let worker = &self.connection.worker;
        let handlers = worker.handlers();
        let (record, handled) = match kind {
            Kind::Text => (RecordKind::Text, handlers.text),
            Kind::Binary => (RecordKind::Binary, handlers.binary),
        };
        if !handled {
            return Err(CloseReason::NO_HANDLER);
        }
        if self.appender.is_none() {
            self.appender = worker.queue().appender();
        }
        // a retired worker's connections are about to be closed
        let Some(appender) = &mut self.appender else {
            return Ok(false);
        };
        let length = payload.len();
        let slot = self.connection.worker_slot.get();
        let batch = appender.message(record, slot, ascii, payload);
        self.credit.spend(batch, record_bytes(length));
        let limits = &self.shard.limits;
        let room = appender.has_room(limits.worker_queue_events, limits.worker_queue_bytes);
        let unhurried = self.count(length);
        Ok(room && unhurried && !self.credit.is_spent(limits))
    }

    fn reply(&mut self, encode: &mut dyn FnMut(&mut Vec<u8>)) {
        if self.discard {
            return;
        }
        self.taken.replied = self.taken.replied.max(Replied::Short);
        let shard = self.shard;
        self.outbox
            .lend(|| shard.spare.borrow_mut().pop().unwrap_or_default());
        self.outbox
            .append_control(shard.hub.ledger(), |out| encode(out));
    }

    fn reply_long(&mut self, reply: Frame) {
        if self.discard {
            return;
        }
        self.taken.replied = Replied::Long;
        self.outbox.append_asked(self.shard.hub.ledger(), reply);
    }

    fn charge(&self) -> Charge {
        let limit = self.shard.limits.outboxes_total_bytes;
        Charge::new(self.shard.hub.ledger(), limit)
    }

    fn answer_later(&mut self, answer: LateReply, delay: Duration) {
        self.taken.answer_later = true;
        let shard = self.shard.index;
        let command = Command::Answer {
            slot: self.connection.slot,
            socket: self.connection.socket,
            answer,
        };
        let hub = &self.shard.hub;
        if delay.is_zero() {
            hub.inboxes().post(shard, command);
            self.taken.dirty.insert(shard);
            return;
        }
        let hub = Arc::clone(hub);
        tokio::task::spawn_local(async move {
            tokio::time::sleep(delay).await;
            hub.inboxes().post(shard, command);
            hub.inboxes().wake_bits(1 << shard.get());
        });
    }

    fn answered(&mut self, bytes: usize) -> bool {
        let unhurried = self.count(bytes);
        if !self.taken.answer_later && self.shard.hub.inboxes().congested() {
            self.wait_for_shards();
            return false;
        }
        let limit = self.shard.limits.outbox_read_pause_bytes;
        unhurried
            && self.taken.replied != Replied::Long
            && !self.outbox.wants_flush()
            && self.outbox.charge() <= limit
    }

    fn alive(&mut self) {
        self.taken.alive = true;
    }

    fn look_again(&mut self) {
        self.taken.look_again = true;
    }

    fn is_closing(&self) -> bool {
        self.discard
    }

    fn now(&self) -> u64 {
        self.shard.now.get()
    }

    fn site(&mut self) -> Site<'_> {
        Site {
            hub: &self.shard.hub,
            socket: self.connection.socket,
            dirty: &mut self.taken.dirty,
        }
    }
}

/// How often a connection that waits for the I/O shards looks whether they have caught up.
const LOOK: Duration = Duration::from_millis(2);
