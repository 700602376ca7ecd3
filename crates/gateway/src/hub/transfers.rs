//! How the steps of a transfer reach the shard that it lies on.

use millrace_core::ShardSet;

use super::Worker;
use crate::event::{Step, TransferId};
use crate::inbox::Command;

impl Worker {
    /// A step of a transfer. One that the shard has no room for ends it.
    pub fn step(&self, id: TransferId, step: Step, dirty: &mut ShardSet) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let Some(shard) = id.shard() else {
            return;
        };
        let charge = step.bytes();
        let inboxes = hub.inboxes();
        if !inboxes.deliver(shard, charge, 0, |_mail| Command::Transfer { id, step }) {
            hub.report(
                "ERR_MILLRACE_INBOX_FULL",
                "an I/O thread has too much to send, an answer was given up",
            );
            let step = Step::Abort;
            inboxes.post(shard, Command::Transfer { id, step });
        }
        dirty.insert(shard);
    }
}
