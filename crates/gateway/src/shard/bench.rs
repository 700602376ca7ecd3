//! Inner structures of the gateway for its benches (feature `bench`). They stay private behind wrappers, which call
//! them as a shard or a worker does for each message. Contains no behaviour.

use std::borrow::Cow;
use std::io::IoSlice;
use std::sync::Arc;

use millrace_core::{ChannelId, Kind, Name, ShardIndex, SocketId, Space};

use super::recipients::{Local, Recipients};
use crate::event::RecordKind;
use crate::frame::Message;
use crate::frame::{Encodings, Frame, Ledger};
use crate::hub::Hub;
use crate::inbox::Mail;
use crate::limits::GatewayLimits;
use crate::socket::outbox::Outbox;
use crate::socket::wheel::{Due, Wheel};
use crate::worker::queue::{Parcel, Queue};

/// A worker's queue between a shard that reads and a worker that drains.
#[derive(Debug)]
pub struct WorkerQueue {
    queue: Queue,
    parcel: Parcel,
    limits: (usize, usize),
}

/// An outbox whose kernel accepts everything or nothing.
#[derive(Debug)]
pub struct Writer {
    outbox: Outbox,
    encodings: Encodings,
    ledger: Arc<Ledger>,
    spare: Vec<u8>,
}

/// An encoded message, shared by its recipients.
#[derive(Debug)]
pub struct SharedFrame(Frame);

/// A gateway without threads. The bench itself empties the inboxes of its shards.
#[derive(Debug)]
pub struct Mailbox {
    hub: Arc<Hub>,
    shards: Box<[ShardIndex]>,
    mail: Mail,
}

/// A shard's recipients of one channel.
#[derive(Debug)]
pub struct ChannelRecipients {
    recipients: Recipients,
    name: Name,
}

/// A shard's timer wheel.
#[derive(Debug)]
pub struct Timers {
    wheel: Wheel<Due>,
    fired: Vec<Due>,
}

impl WorkerQueue {
    /// Appends the text messages of a turn.
    pub fn append(&mut self, payload: &[u8], count: usize) {
        let Self { queue, parcel, .. } = self;
        for _ in 0..count {
            parcel.message(RecordKind::Text, 7, true, Cow::Borrowed(payload));
            queue.accepts_more(parcel, self.limits);
        }
        if !parcel.is_empty() {
            queue.hand_over(parcel, self.limits);
        }
    }

    /// Takes and finishes all batches; returns the bytes of their records.
    pub fn drain(&self) -> usize {
        let mut bytes = 0;
        while let Some((batch, _)) = self.queue.take() {
            bytes += batch.bytes.len();
            self.queue.finish(batch);
        }
        bytes
    }
}

impl Writer {
    /// Makes a frame that several writers can share.
    pub fn share(&self, payload: &[u8]) -> SharedFrame {
        let bytes = self.encodings.encode(Encodings::LEAD, &text(payload));
        let bytes = bytes.expect("the lead carries everything");
        SharedFrame(Frame::new(bytes, &self.ledger))
    }

    /// Appends a message for this socket alone.
    pub fn message(&mut self, payload: &[u8]) {
        self.outbox.lend(|| std::mem::take(&mut self.spare));
        self.outbox.append(&self.ledger, |out| {
            Encodings::append_lead(&text(payload), out);
        });
    }

    /// Appends a publication's frame.
    pub fn frame(&mut self, frame: &SharedFrame) {
        self.outbox.lend(|| std::mem::take(&mut self.spare));
        self.outbox.append_frame(&self.ledger, &frame.0, 1);
    }

    /// The kernel accepts nothing: what waits is kept by reference.
    pub fn fall_behind(&mut self) {
        self.outbox.seal(&self.ledger);
    }

    /// The kernel accepts everything; returns the number of bytes.
    pub fn write(&mut self) -> usize {
        let mut total = 0;
        if let Some(chunk) = self.outbox.chunk() {
            total += chunk.len();
            self.outbox.advance_chunk(total, &self.ledger);
        }
        while self.outbox.is_backlogged() {
            let mut slices = [IoSlice::new(&[]); 64];
            let used = self.outbox.slices(&mut slices);
            let count = slices[..used].iter().map(|slice| slice.len()).sum();
            self.outbox.advance(count);
            total += count;
        }
        if let Some(buffer) = self.outbox.reclaim() {
            self.spare = buffer;
        }
        total
    }
}

impl Mailbox {
    /// The hub, for sending and publishing.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// With this many shards.
    pub fn of(shards: u8) -> Self {
        let hub = Arc::new(Hub::new(Arc::new(Encodings::new())));
        hub.inboxes().open(
            usize::from(shards),
            GatewayLimits::default().shard_inbox_bytes,
        );
        Self {
            hub,
            shards: (0..shards).filter_map(ShardIndex::new).collect(),
            mail: Mail::default(),
        }
    }

    /// Takes and drops the posted commands; returns their number.
    #[inline]
    pub fn empty(&mut self) -> usize {
        let mut commands = 0;
        for &shard in &self.shards {
            self.hub.inboxes().turn_begins(shard);
            self.hub.inboxes().take(shard, &mut self.mail);
            commands += self.mail.commands.len();
            self.hub.inboxes().processed(shard, &mut self.mail);
            assert!(!self.hub.inboxes().turn_ends(shard), "nothing posts now");
        }
        commands
    }
}

impl ChannelRecipients {
    /// Subscribes a socket.
    pub fn join(&mut self, socket: SocketId, slot: u32) {
        let local = Local {
            subscriber: socket,
            socket,
            slot,
            annotation: None,
        };
        self.recipients
            .join(ChannelId::new(1), self.name.clone(), local);
    }

    /// Unsubscribes a socket.
    pub fn leave(&mut self, socket: SocketId) {
        self.recipients.leave(ChannelId::new(1), socket);
    }
}

impl Timers {
    /// Sets a deadline, in milliseconds.
    pub fn arm(&mut self, slot: u32, at: u64) {
        self.wheel.insert(Due::new(slot, at), at);
    }

    /// Advances to `now`; returns the number of due deadlines.
    pub fn advance(&mut self, now: u64) -> usize {
        self.wheel.advance(now, &mut self.fired);
        self.fired.drain(..).count()
    }
}

impl Default for WorkerQueue {
    fn default() -> Self {
        let (queue, limits) = (Queue::new(), GatewayLimits::default());
        let limits = (limits.worker_queue_events, limits.worker_queue_bytes);
        let shard = ShardIndex::new(0).expect("there is a shard 0");
        Self {
            parcel: Parcel::new(shard, &queue, limits, 1),
            queue,
            limits,
        }
    }
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            encodings: Encodings::new(),
            outbox: Outbox::default(),
            ledger: Arc::new(Ledger::new()),
            spare: Vec::new(),
        }
    }
}

impl Default for ChannelRecipients {
    fn default() -> Self {
        Self {
            recipients: Recipients::default(),
            name: Name::new(Space::Channel, b"room:12345"),
        }
    }
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            wheel: Wheel::new(0),
            fired: Vec::new(),
        }
    }
}

fn text(payload: &[u8]) -> Message<'_> {
    Message {
        kind: Kind::Text,
        payload,
        via: None,
    }
}
