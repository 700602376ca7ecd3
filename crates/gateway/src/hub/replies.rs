//! How the steps of an answer reach the shard that their request came from.

use millrace_core::{ShardIndex, ShardSet};

use super::Worker;
use crate::event::Reply;
use crate::inbox::Command;

impl Worker {
    /// A step of the answer to a request. One that the shard has no room for ends the answer.
    pub fn reply(&self, request: u64, reply: Reply, dirty: &mut ShardSet) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        let Some(shard) = shard_of(request) else {
            return;
        };
        let charge = reply.bytes();
        let inboxes = hub.inboxes();
        if !inboxes.deliver(shard, charge, 0, |_mail| Command::Reply { request, reply }) {
            hub.report(
                "ERR_MILLRACE_INBOX_FULL",
                "an I/O thread has too much to send, an answer was given up",
            );
            inboxes.post(
                shard,
                Command::Reply {
                    request,
                    reply: Reply::Abort,
                },
            );
        }
        dirty.insert(shard);
    }
}

/// The shard that a request's id names.
fn shard_of(request: u64) -> Option<ShardIndex> {
    u8::try_from(request % REQUEST_SHARDS)
        .ok()
        .and_then(ShardIndex::new)
}

/// A request's id is a count times this, plus its shard.
pub(crate) const REQUEST_SHARDS: u64 = 64;
