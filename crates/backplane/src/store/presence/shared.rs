//! What the handle on members and its task share: what was noted since the task looked, and the counters.

use std::sync::atomic::{AtomicBool, AtomicU64};

use ahash::{AHashMap, AHashSet};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// What the handle and its task share.
#[derive(Default)]
pub(super) struct Shared {
    changes: Mutex<Changes>,
    pub(super) noted: Notify,
    pub(super) counters: Counters,
}

/// What was noted since the task looked.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) followed: AHashMap<Box<[u8]>, Change>,
    /// The channels whose members on this node have changed.
    pub(super) members: AHashSet<Box<[u8]>>,
}

/// What was noted about following a channel.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    /// It is not followed any more.
    pub(super) ends: bool,
    /// It is followed by this number, after that.
    pub(super) begins: Option<u64>,
}

/// See [`AttendanceStats`](super::AttendanceStats).
#[derive(Default)]
pub(super) struct Counters {
    pub(super) is_connected: AtomicBool,
    pub(super) sessions: AtomicU64,
    pub(super) rewritten: AtomicU64,
    pub(super) reread: AtomicU64,
    pub(super) losses: AtomicU64,
}

impl Shared {
    /// What was noted since the last call.
    pub(super) fn changes(&self) -> Changes {
        std::mem::take(&mut *self.changes.lock())
    }

    /// Notes that members of this node have changed.
    pub(super) fn changed(&self, channel: &[u8]) {
        let is_new = {
            let mut changes = self.changes.lock();
            !changes.members.contains(channel) && changes.members.insert(channel.into())
        };
        if is_new {
            self.noted.notify_one();
        }
    }

    /// Notes a change of what is followed.
    pub(super) fn follow(&self, channel: &[u8], apply: impl FnOnce(&mut Change)) {
        {
            let mut changes = self.changes.lock();
            match changes.followed.get_mut(channel) {
                Some(change) => apply(change),
                None => apply(changes.followed.entry(channel.into()).or_default()),
            }
        }
        self.noted.notify_one();
    }
}
