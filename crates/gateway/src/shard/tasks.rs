//! Starts the tasks of a shard's thread.

use std::pin::Pin;

use tokio::task::AbortHandle;

/// Runs `task` on the event loop of the current shard. It is boxed because tokio's code for a task exists once for each
/// type of future, and twice on a shard: 8 KiB of the addon.
pub(crate) fn spawn(task: Pin<Box<dyn Future<Output = ()>>>) -> AbortHandle {
    tokio::task::spawn_local(task).abort_handle()
}
