//! How the steps of a transfer reach the shard that owns it.

use millrace_core::ShardSet;

use super::Worker;
use crate::event::{Step, TransferId};
use crate::inbox::Command;

impl Worker {
    /// Posts a step of a transfer. If the shard has no room for a part of a body, the transfer is aborted.
    pub fn step(&self, id: TransferId, step: Step, dirty: &mut ShardSet) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let Some(shard) = id.shard() else {
            return;
        };
        let inboxes = hub.inboxes();
        match step.bytes() {
            // posted without a limit, because a refusal would be noticed by no one
            None => inboxes.post(shard, Command::Transfer { id, step }),
            Some(charge) => {
                let command = |_mail: &mut _| Command::Transfer { id, step };
                if !inboxes.deliver(shard, charge, 0, command) {
                    hub.report(
                        "ERR_MILLRACE_INBOX_FULL",
                        "an I/O thread has too much to send; an answer was aborted",
                    );
                    let step = Step::Lost;
                    inboxes.post(shard, Command::Transfer { id, step });
                }
            }
        }
        dirty.insert(shard);
    }
}
