//! The way out of the node, shared between whoever publishes or subscribes here and the link's task: a bounded
//! queue of messages, and notes of what has a subscriber here. Adding never blocks; ringing is separate, so that
//! it happens under no lock. Owns the bounds. Whether publishers should wait is in [`pressure`].

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

/// See the module. Closed until somebody takes out what is put in.
#[derive(Debug)]
pub struct Outlet {
    node: u64,
    is_open: AtomicBool,
    /// Whether `Inner::pressure` is high, for whoever looks often.
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
    /// Times that publishers were made to wait.
    waits: u64,
    /// Times that something was taken out.
    takes: u64,
}

/// A message on its way out.
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

/// What changed since the last look.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The last word on each topic.
    pub(crate) changes: HashMap<Topic, bool, RandomState>,
    /// There were too many: everything has to be looked at again.
    pub(crate) is_incomplete: bool,
    /// Bytes of the names noted, each time.
    bytes: usize,
}

impl Notes {
    /// Everything has to be looked at.
    fn forget(&mut self) {
        *self = Self {
            is_incomplete: true,
            ..Self::default()
        };
    }
}

/// What waits, and what was not to wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
    pub(crate) dropped: u64,
    pub(crate) waits: u64,
}

impl Outlet {
    /// An empty one, of a node with a number that no other node has.
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

    /// From now on, what is put in waits for a link.
    pub fn open(&self) {
        self.is_open.store(true, Ordering::SeqCst);
        self.look_again();
    }

    /// What waits is dropped, and nothing more is put in.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::SeqCst);
        self.abandon(0);
    }

    /// Whether something takes out what is put in.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Sets the bounds, and counts from here.
    pub(crate) fn begin(&self, bounds: Bounds) {
        let mut inner = self.inner.lock();
        inner.bounds = bounds;
        inner.dropped = 0;
        inner.waits = 0;
    }

    /// The number that no other node has.
    pub fn node(&self) -> u64 {
        self.node
    }

    /// Adds a message to an open outlet. Where the queue is full, the oldest are dropped and counted; false: some were.
    pub fn publish(&self, is_sharded: bool, channel: &[u8], kind: Kind, body: Bytes) -> bool {
        let mut inner = self.inner.lock();
        if !self.is_open() {
            // closed since the caller looked: nobody would take it out
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
        // one that is dropped has its number, so that others see that it is missing
        let stamp = numbering.next(self.node, channel);
        let message = Outgoing {
            is_sharded,
            channel: channel.into(),
            content: Content::Message(kind),
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

    /// Notes that a topic has a subscriber here, or none any more; the last word on each holds.
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

    /// Everything has to be looked at.
    fn look_again(&self) {
        self.notes.lock().forget();
    }

    /// Wakes the link's task.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// Resolves when somebody has rung.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Takes messages out, oldest first: at least one if there is any, and no more than so many messages and bytes. True:
    /// whoever has waited to publish can go on.
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

    /// What changed since the last call.
    pub(crate) fn take_notes(&self) -> Notes {
        std::mem::take(&mut *self.notes.lock())
    }

    /// Drops what waits, and so many that were taken already, because nobody will send them.
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
    /// Drops the oldest until the bounds hold; one message always fits.
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

/// Good enough that no two nodes get the same.
pub(crate) fn random() -> u64 {
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

/// Bytes that a waiting message is charged beside its channel's name and its body.
const MESSAGE_CHARGE: usize = 64;

/// Topics noted between two looks; with one more, everything is looked at again.
const NOTES: usize = 65_536;

/// Bytes of their names, with the same outcome.
const NOTES_BYTES: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BackplaneFull;

    fn outlet(queue_messages: usize, queue_bytes: usize) -> Outlet {
        let bounds = Bounds {
            queue_messages,
            queue_bytes,
            message_bytes: 1000,
            full: BackplaneFull::default(),
        };
        let outlet = Outlet::new();
        outlet.begin(bounds);
        outlet.open();
        outlet.take_notes();
        outlet
    }

    fn add(outlet: &Outlet, body: &'static [u8]) -> bool {
        outlet.publish(false, b"room", Kind::Text, Bytes::from_static(body))
    }

    fn taken(outlet: &Outlet, messages: usize, bytes: usize) -> Vec<u64> {
        let mut into = VecDeque::new();
        outlet.take(messages, bytes, &mut into);
        into.iter().map(|message| message.stamp.number).collect()
    }

    #[test]
    fn the_oldest_is_dropped_and_keeps_its_number() {
        let outlet = outlet(3, 10_000);
        let fitted: Vec<bool> = (0..5).map(|_| add(&outlet, b"hello")).collect();
        assert_eq!(fitted, [true, true, true, false, false]);
        assert_eq!(outlet.backlog().dropped, 2);
        assert_eq!(taken(&outlet, 10, 10_000), [3, 4, 5]);
        assert_eq!(outlet.backlog().bytes, 0);
    }

    #[test]
    fn bytes_are_bounded_but_one_message_always_fits() {
        let outlet = outlet(100, 150);
        assert!(add(&outlet, &[0; 20]));
        assert!(!add(&outlet, &[0; 900]));
        assert_eq!(taken(&outlet, 10, 10_000), [2]);
        assert!(!add(&outlet, &[0; 1001]), "too large");
        assert_eq!(outlet.backlog().dropped, 2);
        add(&outlet, b"hello");
        assert_eq!(taken(&outlet, 10, 10_000), [4], "the third is missing");
        let name = vec![b'x'; LONGEST_NAME + 1];
        let body = Bytes::from_static(b"hello");
        assert!(!outlet.publish(false, &name, Kind::Text, body.clone()));
        assert!(outlet.publish(true, &name[1..], Kind::Text, body));
        assert_eq!(outlet.backlog().dropped, 3);
    }

    #[test]
    fn a_batch_is_bounded() {
        let outlet = outlet(100, 10_000);
        for _ in 0..10 {
            add(&outlet, &[0; 100]);
        }
        assert_eq!(taken(&outlet, 2, 10_000), [1, 2]);
        assert_eq!(taken(&outlet, 10, 250), [3, 4, 5]);
        assert_eq!(taken(&outlet, 10, 1), [6]);
        outlet.abandon(1);
        assert_eq!(
            (outlet.backlog().messages, outlet.backlog().dropped),
            (0, 5)
        );
    }

    #[test]
    fn notes_keep_the_last_word() {
        let outlet = outlet(1, 1);
        let topic = Topic::Channel((*b"a").into());
        outlet.note(topic.clone(), true);
        outlet.note(topic.clone(), false);
        let notes = outlet.take_notes();
        assert_eq!(
            notes.changes.into_iter().collect::<Vec<_>>(),
            [(topic, false)]
        );
        for index in 0..=NOTES {
            outlet.note(Topic::Channel(index.to_le_bytes().into()), true);
        }
        let notes = outlet.take_notes();
        assert!(notes.is_incomplete && notes.changes.is_empty());
        assert!(!outlet.take_notes().is_incomplete);
    }

    #[test]
    fn notes_of_long_names_are_bounded_by_their_bytes() {
        let outlet = outlet(1, 1);
        let mut name = vec![0; 1024 * 1024];
        for index in 0..100 {
            name[0] = index;
            outlet.note(Topic::Sharded((*name).into()), true);
            let held = outlet.notes.lock().changes.len();
            assert!(held <= 16, "{held} names of a megabyte");
        }
        assert!(outlet.take_notes().is_incomplete);
        assert!(!outlet.take_notes().is_incomplete);
    }
}
