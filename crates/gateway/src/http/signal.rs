//! An event that happens once, and that tasks of the shard may wait for.

use std::cell::Cell;

use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    set: Cell<bool>,
    changed: Notify,
}

impl Signal {
    pub(super) fn set(&self) {
        if !self.set.replace(true) {
            self.changed.notify_waiters();
        }
    }

    /// Waits until it is set, or not at all if it already is.
    pub(crate) async fn wait(&self) {
        let changed = self.changed.notified();
        if !self.set.get() {
            changed.await;
        }
    }
}
