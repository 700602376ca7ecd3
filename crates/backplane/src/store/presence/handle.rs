//! A node's handle on the members in a store: notes which channels are to be followed, and in which this node's members have
//! changed. Never blocks, and knows no link.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::watch;

use super::super::handle::{StoreSetupError, encryption};
use super::roll::{AttendanceStats, Presence, Roll};
use super::shared::{Change, Shared};
use super::task::AttendanceTask;
use crate::config::Config;

/// See the module. The task ends when it is [told to](Self::end), or when the last handle is dropped.
pub struct Attendance {
    shared: Arc<Shared>,
    end: watch::Sender<Option<Instant>>,
}

impl fmt::Debug for Attendance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attendance").finish_non_exhaustive()
    }
}

impl Attendance {
    /// Makes a handle and its task, which must be run. `node` is the number of this node.
    pub fn new(
        config: &Config,
        node: u64,
        roll: Arc<dyn Roll>,
    ) -> Result<(Arc<Self>, AttendanceTask), StoreSetupError> {
        let encryption = encryption(config)?;
        let shared = Arc::new(Shared::default());
        let (end, ended) = watch::channel(None);
        let of = (Arc::clone(&shared), node, roll);
        let task = AttendanceTask::new((config.clone(), encryption), of, ended);
        Ok((Arc::new(Self { shared, end }), task))
    }

    /// Ends the task when the members of this node are removed, and at `deadline` at the latest.
    pub fn end(&self, deadline: Instant) {
        self.end.send_replace(Some(deadline));
    }
}

impl Presence for Attendance {
    fn follow(&self, channel: &[u8], following: u64) {
        self.shared
            .follow(channel, |change| change.begins = Some(following));
    }

    fn forget(&self, channel: &[u8]) {
        self.shared.follow(channel, |change| {
            *change = Change {
                ends: true,
                begins: None,
            };
        });
    }

    fn changed(&self, channel: &[u8]) {
        self.shared.changed(channel);
    }

    fn stats(&self) -> AttendanceStats {
        let counters = &self.shared.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        AttendanceStats {
            is_connected: counters.is_connected.load(Ordering::Relaxed),
            sessions: read(&counters.sessions),
            rewritten: read(&counters.rewritten),
            reread: read(&counters.reread),
            losses: read(&counters.losses),
        }
    }
}
