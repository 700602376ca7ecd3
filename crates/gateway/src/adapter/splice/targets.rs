//! The targets of one session: their indices, the pending dials, and the notes that the session still has to send about
//! them. Shared by the session and its targets, on one thread; calls neither.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use ahash::AHashMap;
use millrace_protocol::splice::{MAX_INDEX, Problem, is_ascii_index};

use super::masks::Masks;
use super::terms::Terms;
use crate::contract::{Dialled, Hub, Link};
use crate::target_stats::HostStats;

/// See the module.
#[derive(Debug)]
pub(super) struct Targets {
    pub(super) terms: Arc<Terms>,
    hub: Arc<Hub>,
    /// The link to the session's own connection.
    client: Cell<Option<Link>>,
    masks: RefCell<Masks>,
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Targets by index.
    slots: Vec<Option<Slot>>,
    /// Free indices below the length of `slots`, the lowest first.
    free: BinaryHeap<Reverse<u16>>,
    /// The number of indices in use: by a target, or until the client was told that it is gone.
    placed: usize,
    /// The pending dials.
    dials: AHashMap<u64, Dialled>,
    last_dial: u64,
    notes: VecDeque<Note>,
    /// Targets that wait for room in the client's outbox.
    paused: Vec<Waker>,
    waker: Option<Waker>,
    /// Whether the session is over.
    over: bool,
}

/// A target with an index.
#[derive(Debug)]
struct Slot {
    place: Place,
    stats: Arc<HostStats>,
}

/// What the session needs to know of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) link: Link,
    pub(super) closing: Closing,
}

/// Whether this side closes a target: messages to it are then dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    No,
    /// The client asked for the close, and is told of the target's answer.
    Terminated,
    /// The target does not read; its answer is ignored.
    Dropped,
}

/// A note that the session still has to send to its client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A call to connect failed.
    Failed {
        id: i64,
        problem: Problem,
        text: String,
    },
    /// A target is gone.
    Gone { index: u16, end: End },
}

/// How a target ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: u16,
    pub(super) reason: String,
    /// Whether no close frame was received, and the client asked to be told so.
    pub(super) unclean: bool,
}

impl Targets {
    pub(super) fn new(terms: Arc<Terms>, hub: Arc<Hub>) -> Self {
        Self {
            terms,
            hub,
            client: Cell::new(None),
            masks: RefCell::default(),
            inner: RefCell::default(),
        }
    }

    /// The session is open: records its connection and its waker.
    pub(super) fn opened(&self, client: Link, waker: Waker) {
        self.client.set(Some(client));
        self.inner.borrow_mut().waker = Some(waker);
    }

    /// The session's connection; `None` once it is over.
    pub(super) fn client(&self) -> Option<Link> {
        self.client.get()
    }

    /// The number of targets and pending dials.
    pub(super) fn count(&self) -> usize {
        let inner = self.inner.borrow();
        inner.placed + inner.dials.len()
    }

    /// The counters of a host.
    pub(super) fn stats_of(&self, host: &str) -> Arc<HostStats> {
        self.hub.targets().of(host)
    }

    /// The number of the next dial.
    pub(super) fn next_dial(&self) -> u64 {
        let mut inner = self.inner.borrow_mut();
        inner.last_dial += 1;
        inner.last_dial
    }

    /// Records a pending dial.
    pub(super) fn dialling(&self, dial: u64, dialled: Dialled) {
        self.inner.borrow_mut().dials.insert(dial, dialled);
    }

    /// Records that a dial failed.
    pub(super) fn failed(&self, dial: u64, note: Note) {
        let dialled = self.inner.borrow_mut().dials.remove(&dial);
        drop(dialled);
        self.note(note);
    }

    /// Records that a dial succeeded and takes the lowest free index. `None`: no index is free, or the session is over.
    pub(super) fn place(
        &self,
        dial: u64,
        (link, stats): (Link, &Arc<HostStats>),
        ascii: bool,
    ) -> Option<u16> {
        let mut inner = self.inner.borrow_mut();
        let dialled = inner.dials.remove(&dial);
        let index = inner.take_index(ascii).filter(|_| !inner.over);
        if let Some(index) = index {
            inner.placed += 1;
            let place = Place {
                link,
                closing: Closing::No,
            };
            if let Some(slot) = inner.slots.get_mut(usize::from(index)) {
                *slot = Some(Slot {
                    place,
                    stats: Arc::clone(stats),
                });
            }
        }
        drop(inner);
        drop(dialled);
        index
    }

    /// The target with this index.
    pub(super) fn find(&self, index: u16) -> Option<Place> {
        let inner = self.inner.borrow();
        let slot = inner.slots.get(usize::from(index))?.as_ref();
        slot.map(|slot| slot.place)
    }

    /// Counts something for a target.
    pub(super) fn count_for(&self, index: u16, count: impl FnOnce(&HostStats)) {
        let inner = self.inner.borrow();
        if let Some(Some(slot)) = inner.slots.get(usize::from(index)) {
            count(&slot.stats);
        }
    }

    /// Records that a target is being closed.
    pub(super) fn closes(&self, index: u16, closing: Closing) {
        let mut inner = self.inner.borrow_mut();
        if let Some(Some(slot)) = inner.slots.get_mut(usize::from(index)) {
            slot.place.closing = closing;
        }
    }

    /// A masking key for a frame to a target.
    pub(super) fn next_mask(&self) -> [u8; 4] {
        self.masks.borrow_mut().next()
    }

    /// Records that a target is gone. Its index is not reused before the client was told.
    pub(super) fn gone(&self, index: u16, end: End) {
        let mut inner = self.inner.borrow_mut();
        if let Some(slot) = inner.slots.get_mut(usize::from(index)) {
            *slot = None;
        }
        drop(inner);
        self.note(Note::Gone { index, end });
    }

    /// The next note to send. Sending that a target is gone frees its index.
    pub(super) fn next_note(&self) -> Option<Note> {
        let mut inner = self.inner.borrow_mut();
        let note = inner.notes.pop_front();
        if let Some(Note::Gone { index, .. }) = note {
            inner.placed -= 1;
            inner.free.push(Reverse(index));
        }
        note
    }

    /// Wakes this target when the client's outbox has room.
    pub(super) fn wait_for_room(&self, target: Waker) {
        self.inner.borrow_mut().paused.push(target);
    }

    /// The client's outbox has room: wakes the targets that wait for it.
    pub(super) fn room(&self) {
        let paused = std::mem::take(&mut self.inner.borrow_mut().paused);
        paused.into_iter().for_each(Waker::wake);
    }

    /// The session is over: aborts the pending dials and returns the links of the targets.
    pub(super) fn end(&self) -> Vec<Link> {
        self.client.set(None);
        let mut inner = self.inner.borrow_mut();
        inner.over = true;
        inner.notes.clear();
        inner.waker = None;
        let dials = std::mem::take(&mut inner.dials);
        let paused = std::mem::take(&mut inner.paused);
        let links = inner.slots.iter().flatten().map(|slot| slot.place.link);
        let links = links.collect();
        drop(inner);
        drop(dials);
        paused.into_iter().for_each(Waker::wake);
        links
    }

    fn note(&self, note: Note) {
        let mut inner = self.inner.borrow_mut();
        if inner.over {
            return;
        }
        inner.notes.push_back(note);
        drop(inner);
        self.look();
    }

    /// Wakes the session: there is a note to send, or a target has room.
    pub(super) fn look(&self) {
        let waker = self.inner.borrow().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Inner {
    /// The lowest free index, or with `ascii` the lowest one whose bytes are ASCII.
    fn take_index(&mut self, ascii: bool) -> Option<u16> {
        let mut passed = Vec::new();
        let mut found = None;
        while let Some(Reverse(index)) = self.free.pop() {
            if !ascii || is_ascii_index(index) {
                found = Some(index);
                break;
            }
            passed.push(Reverse(index));
        }
        self.free.extend(passed);
        while found.is_none() {
            let index = u16::try_from(self.slots.len()).ok()?;
            if index > MAX_INDEX {
                return None;
            }
            self.slots.push(None);
            if !ascii || is_ascii_index(index) {
                found = Some(index);
            } else {
                self.free.push(Reverse(index));
            }
        }
        found
    }
}

/// The error when no index is free.
pub(super) const TOO_MANY: &str = "too many targets";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_index_is_taken() {
        let mut inner = Inner::default();
        let mut take = |ascii| inner.take_index(ascii).unwrap();
        assert_eq!([take(false), take(false), take(true)], [0, 1, 2]);
        inner.free.extend([Reverse(1), Reverse(0)]);
        let mut take = |ascii| inner.take_index(ascii).unwrap();
        assert_eq!([take(false), take(false), take(false)], [0, 1, 3]);
        for _ in 4..=127 {
            take(true);
        }
        assert_eq!([take(true), take(false), take(true)], [256, 128, 257]);
    }

    #[test]
    fn the_index_of_the_control_channel_is_never_taken() {
        let mut inner = Inner::default();
        for index in 0..=MAX_INDEX {
            assert_eq!(inner.take_index(false), Some(index));
        }
        assert_eq!(inner.take_index(false), None);
        inner.free.push(Reverse(200));
        assert_eq!(inner.take_index(true), None);
        assert_eq!(inner.take_index(false), Some(200));
    }
}
