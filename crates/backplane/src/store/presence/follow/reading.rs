//! Reading all members of a session, and what arrives meanwhile. Owns the bound on that.

use ahash::AHashSet;

use super::super::message::Change;
use super::super::roll::Seat;
use super::step::Page;

/// See the module.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) mark: u32,
    /// Where the next page begins.
    pub(super) cursor: Box<str>,
    pub(super) is_sent: bool,
    /// What arrived since the first page was asked for.
    pub(super) held: Vec<Change>,
    held_bytes: usize,
    /// The last change that has arrived.
    pub(super) newest: u64,
    /// The sockets of which something newer was read.
    seen: AHashSet<u64>,
    /// What is read must be read once more.
    pub(super) is_outdated: bool,
}

impl Reading {
    /// What is read is behind this change, or a later one.
    pub(super) fn new(mark: u32, version: u64) -> Self {
        Self {
            mark,
            cursor: "0".into(),
            is_sent: false,
            held: Vec::new(),
            held_bytes: 0,
            newest: version,
            seen: AHashSet::new(),
            is_outdated: false,
        }
    }

    /// What a page says that was not said by an earlier one.
    pub(super) fn newest_of(&mut self, page: Page) -> Vec<Seat> {
        let mut seats = page.seats;
        if !self.seen.is_empty() {
            seats.retain(|seat| !self.seen.contains(&seat.socket));
        }
        for change in page.changes {
            let socket = change
                .as_ref()
                .map_or_else(|socket| *socket, |seat| seat.socket);
            if self.seen.len() < MOST_SEEN && self.seen.insert(socket) {
                seats.extend(change.ok());
            }
        }
        seats
    }

    /// Holds a change back.
    pub(super) fn hold(&mut self, change: Change) {
        self.held_bytes += change.bytes();
        self.newest = self.newest.max(change.version);
        if self.held_bytes > MOST_HELD {
            self.held = Vec::new();
            self.is_outdated = true;
        }
        if !self.is_outdated {
            self.held.push(change);
        }
    }
}

/// The most sockets of which changes are read: more than a node has that keeps to the form.
const MOST_SEEN: usize = 2 * 1024 * 1024;

/// The most bytes of changes that are held back while the members of a session are read.
const MOST_HELD: usize = 1024 * 1024;
