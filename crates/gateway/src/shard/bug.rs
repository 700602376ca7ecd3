//! What becomes of tasks that a bug of ours ends, which the runtime would keep to itself: that of a connection is counted,
//! and without one of its own the shard ends, the gateway with it. Sees panics as they unwind, and stops none.

use std::rc::Rc;

use tokio::task::AbortHandle;

use super::Shard;

/// Lives as long as a connection's task: one that a panic ends is counted.
pub(crate) struct BugGuard(Rc<Shard>);

/// … as long as a task that the shard cannot do without, or a part of one.
pub(super) struct VitalGuard(Rc<Shard>);

impl Shard {
    pub(crate) fn guard_connection(self: &Rc<Self>) -> BugGuard {
        BugGuard(Rc::clone(self))
    }

    /// Counts a connection whose parts are dropped because of a panic. To be called where they are dropped.
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
        tokio::task::spawn_local(guarded).abort_handle()
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
