//! Handles tasks that end because of a bug in Millrace, which the runtime would not report. A connection's task is
//! counted; if a vital task of the shard ends, the shard ends and the gateway with it. Observes panics while they
//! unwind, and stops none.

use std::rc::Rc;

use tokio::task::AbortHandle;

use super::Shard;
use super::tasks::spawn;

/// Exists as long as the task of a connection, and counts the task if a panic ends it.
pub(crate) struct BugGuard(Rc<Shard>);

/// Exists as long as a vital task of the shard, or a vital part of a task, and ends the shard if a panic ends it.
pub(super) struct VitalGuard(Rc<Shard>);

impl Shard {
    pub(crate) fn guard_connection(self: &Rc<Self>) -> BugGuard {
        BugGuard(Rc::clone(self))
    }

    /// Counts a connection whose parts are dropped because of a panic. Call it where they are dropped.
    pub(crate) fn count_bug(&self) {
        if std::thread::panicking() {
            self.stats.panics.add(1);
            tracing::error!(target: "millrace::connection", "closed by a bug");
        }
    }

    /// While this is there, a panic ends the shard.
    pub(super) fn guard_vital(self: &Rc<Self>) -> VitalGuard {
        VitalGuard(Rc::clone(self))
    }

    #[cfg(test)]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Runs a task of this shard; if a panic ends it, the shard ends.
    pub(crate) fn spawn_vital(
        self: &Rc<Self>,
        task: impl Future<Output = ()> + 'static,
    ) -> AbortHandle {
        let guard = self.guard_vital();
        let guarded = async move {
            let _guard = guard;
            task.await;
        };
        spawn(Box::pin(guarded))
    }
}

impl Drop for BugGuard {
    fn drop(&mut self) {
        self.0.count_bug();
    }
}

impl Drop for VitalGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.set(true);
            self.0.ended.notify_one();
        }
    }
}
