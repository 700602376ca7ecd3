//! The entries of a backlog whose frames are being compressed: nothing from the first of them on is written.

use std::collections::VecDeque;

use crate::frame::Late;

/// The places of these entries, in order. A backlog has at least one, or no such list.
#[derive(Debug, Default)]
pub(super) struct Lates {
    waiting: VecDeque<(usize, Late)>,
    /// Entries that have left the front of the queue: the place of an entry is its index and this number.
    left: usize,
}

impl Lates {
    /// Adds the entry at this index, behind all others.
    pub(super) fn push(&mut self, index: usize, late: Late) {
        self.waiting.push_back((self.left + index, late));
    }

    /// The index of the first one.
    pub(super) fn first(&self) -> usize {
        let first = self.waiting.front();
        first.map_or(usize::MAX, |(place, _)| place - self.left)
    }

    /// Records that entries have left the front, all of them before the first one here.
    pub(super) fn leave(&mut self, entries: usize) {
        self.left += entries;
    }

    /// Records that the first entry of the queue has left; returns its frame if it is one of these.
    pub(super) fn leave_first(&mut self) -> Option<Late> {
        let is_late = self.first() == 0;
        let late = is_late.then(|| self.waiting.pop_front()).flatten();
        self.left += 1;
        late.map(|(_, late)| late)
    }

    /// Records that the entry at this index was removed.
    pub(super) fn remove(&mut self, index: usize) {
        let gone = self.left + index;
        self.waiting.retain_mut(|(place, _)| {
            let stays = *place != gone;
            *place -= usize::from(*place > gone);
            stays
        });
    }

    /// Records that an entry was put in front of that at this index.
    pub(super) fn insert(&mut self, index: usize) {
        let from = self.left + index;
        for (place, _) in &mut self.waiting {
            *place += usize::from(*place >= from);
        }
    }

    /// Takes the indexes of the entries of a frame that is made now.
    pub(super) fn take(&mut self, made: &Late) -> Vec<usize> {
        let left = self.left;
        let mut taken = Vec::new();
        self.waiting.retain(|(place, late)| {
            let is_made = late.is(made);
            if is_made {
                taken.push(place - left);
            }
            !is_made
        });
        taken
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
