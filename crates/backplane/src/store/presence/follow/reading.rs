//! Reading all members of a session, and what arrives meanwhile. Owns the bound on that.

use super::super::message::Change;

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
            is_outdated: false,
        }
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

/// The most bytes of changes that are held back while the members of a session are read.
const MOST_HELD: usize = 1024 * 1024;
