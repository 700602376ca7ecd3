//! The outgoing side of the node, shared by the code that publishes or subscribes here and the link's task: a bounded
//! queue of messages, and notes of which topics have subscribers here. Adding never blocks. Ringing is a separate call,
//! so that no lock is held during it. Owns the limits. Whether publishers should wait is in [`pressure`].

mod pressure;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use ahash::RandomState;
use bytes::Bytes;
use millrace_core::Kind;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::config::Bounds;
use crate::envelope::{Content, Stamp};
use crate::sequence::Numbering;
use crate::topic::{LONGEST_NAME, Topic};
pub(crate) use pressure::Pressure;

/// See the module. It is closed until a task takes messages out.
#[derive(Debug)]
pub struct Outlet {
    node: u64,
    is_open: AtomicBool,
    /// Whether `Inner::pressure` is high, for code that checks often.
    is_awaited: AtomicBool,
    inner: Mutex<Inner>,
    notes: Mutex<Notes>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    queue: VecDeque<Outgoing>,
    bytes: usize,
    bounds: Bounds,
    numbering: Numbering,
    sharded: Numbering,
    dropped: u64,
    pressure: Pressure,
    /// How often publishers had to wait.
    waits: u64,
    /// How often messages were taken out.
    takes: u64,
}

/// A message in the send queue.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) is_sharded: bool,
    pub(crate) channel: Box<[u8]>,
    pub(crate) content: Content,
    pub(crate) stamp: Stamp,
    pub(crate) body: Bytes,
}

impl Outgoing {
    fn charge(&self) -> usize {
        self.channel.len() + self.body.len() + MESSAGE_CHARGE
    }
}

/// The changes since the task last took them.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The last change of each topic.
    pub(crate) changes: HashMap<Topic, bool, RandomState>,
    /// There were too many changes: every topic must be compared again.
    pub(crate) is_incomplete: bool,
    /// The bytes of the names of all changes.
    bytes: usize,
}

impl Notes {
    /// Discards the changes, so that every topic must be compared again.
    fn forget(&mut self) {
        *self = Self {
            is_incomplete: true,
            ..Self::default()
        };
    }
}

/// The numbers of waiting and of dropped messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
    pub(crate) dropped: u64,
    pub(crate) waits: u64,
}

impl Outlet {
    /// Makes an empty outlet for a node, with a unique number.
    pub fn new() -> Self {
        Self {
            node: random(),
            is_open: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            inner: Mutex::new(Inner::default()),
            notes: Mutex::new(Notes::default()),
            bell: Notify::new(),
        }
    }

    /// Opens the outlet: messages wait for a link from now on.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
        self.look_again();
    }

    /// Closes the outlet: waiting messages are dropped, and no more are added.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
        self.abandon(0);
    }

    /// Whether the outlet is open.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Sets the limits and resets the counts.
    pub(crate) fn begin(&self, bounds: Bounds) {
        let mut inner = self.inner.lock();
        inner.bounds = bounds;
        inner.dropped = 0;
        inner.waits = 0;
    }

    /// The node's unique number.
    pub fn node(&self) -> u64 {
        self.node
    }

    /// Adds a message if the outlet is open. If the queue is full, the oldest messages are dropped and counted. Returns
    /// false if any were dropped.
    pub fn publish(&self, is_sharded: bool, channel: &[u8], kind: Kind, body: Bytes) -> bool {
        self.put((is_sharded, channel), Content::Message(kind), body)
    }

    /// Like [`publish`](Self::publish), with the id of the socket whose client has published it. Subscribers see it.
    pub fn publish_by(&self, channel: &[u8], socket: u64, kind: Kind, body: Bytes) -> bool {
        self.put((false, channel), Content::ByClient(kind, socket), body)
    }

    fn put(&self, (is_sharded, channel): (bool, &[u8]), content: Content, body: Bytes) -> bool {
        let mut inner = self.inner.lock();
        if !self.is_open() {
            // the outlet was closed since the caller checked: no task would take the message
            return true;
        }
        if channel.len() > LONGEST_NAME {
            inner.dropped += 1;
            return false;
        }
        let numbering = if is_sharded {
            &mut inner.sharded
        } else {
            &mut inner.numbering
        };
        // a dropped message keeps its number, so that other nodes detect that it is missing
        let stamp = numbering.next(self.node, channel);
        let message = Outgoing {
            is_sharded,
            channel: channel.into(),
            content,
            stamp,
            body,
        };
        if message.body.len() > inner.bounds.message_bytes {
            inner.dropped += 1;
            return false;
        }
        inner.bytes += message.charge();
        inner.queue.push_back(message);
        let fits = inner.trim();
        self.press(&mut inner);
        fits
    }

    /// Records that a topic has a subscriber here or has none. Only the last record of each topic counts.
    pub fn note(&self, topic: Topic, is_wanted: bool) {
        let mut notes = self.notes.lock();
        if notes.is_incomplete || !self.is_open() {
            return;
        }
        notes.bytes = notes.bytes.saturating_add(topic.name().len());
        notes.changes.insert(topic, is_wanted);
        if notes.changes.len() > NOTES || notes.bytes > NOTES_BYTES {
            notes.forget();
        }
    }

    /// Makes the task compare every topic again.
    fn look_again(&self) {
        self.notes.lock().forget();
    }

    /// Wakes the link's task.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// Resolves when the task was rung.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Takes messages out, the oldest first: at least one if there is any, and at most so many messages and bytes.
    /// Returns whether waiting publishers can continue.
    pub(crate) fn take(
        &self,
        messages: usize,
        bytes: usize,
        into: &mut VecDeque<Outgoing>,
    ) -> bool {
        let mut inner = self.inner.lock();
        let mut taken = 0;
        for _ in 0..messages {
            if taken >= bytes {
                break;
            }
            let Some(message) = inner.queue.pop_front() else {
                break;
            };
            inner.bytes -= message.charge();
            taken += message.body.len();
            into.push_back(message);
        }
        if !into.is_empty() {
            inner.takes += 1;
        }
        self.relax(&mut inner)
    }

    /// Takes the changes since the last call.
    pub(crate) fn take_notes(&self) -> Notes {
        std::mem::take(&mut *self.notes.lock())
    }

    /// Drops the waiting messages, and counts so many that were taken already as dropped, because they will not be
    /// sent.
    pub(crate) fn abandon(&self, taken: u64) {
        let mut inner = self.inner.lock();
        inner.dropped += taken + u64::try_from(inner.queue.len()).unwrap_or(u64::MAX);
        inner.queue.clear();
        inner.bytes = 0;
        self.relax(&mut inner);
    }

    pub(crate) fn backlog(&self) -> Backlog {
        let inner = self.inner.lock();
        Backlog {
            messages: inner.queue.len(),
            bytes: inner.bytes,
            dropped: inner.dropped,
            waits: inner.waits,
        }
    }
}

impl Default for Outlet {
    fn default() -> Self {
        Self::new()
    }
}

impl Inner {
    /// Drops the oldest messages until the limits hold. One message always fits.
    fn trim(&mut self) -> bool {
        let before = self.dropped;
        while self.queue.len() > self.bounds.queue_messages
            || (self.bytes > self.bounds.queue_bytes && self.queue.len() > 1)
        {
            let Some(oldest) = self.queue.pop_front() else {
                break;
            };
            self.bytes -= oldest.charge();
            self.dropped += 1;
        }
        self.dropped == before
    }
}

/// Random enough that no two nodes get the same number.
pub(crate) fn random() -> u64 {
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// What a waiting message counts in addition to its channel's name and its body.
const MESSAGE_CHARGE: usize = 64;

/// The most changes between two calls of the task. Above it, every topic is compared again.
const NOTES: usize = 65_536;

/// The most bytes of their names. Above it, every topic is compared again.
const NOTES_BYTES: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests;
