//! What a store of histories tells this node: passes it on to the hub.

use std::sync::Arc;

use millrace_backplane::store::{Entry, Feed, StoreError, StoredPast};
use millrace_core::ShardSet;

use crate::hub::Hub;
use crate::sync::Mutex;

/// See the module.
pub(super) struct NodeFeed {
    hub: Arc<Hub>,
    /// I/O shards to wake after messages were posted.
    dirty: Mutex<ShardSet>,
}

impl NodeFeed {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            dirty: Mutex::new(ShardSet::default()),
        }
    }
}

impl Feed for NodeFeed {
    fn filled(&self, channel: &[u8], past: StoredPast) {
        self.hub.fill(channel, past, &mut self.dirty.lock());
    }

    fn next(&self, channel: &[u8], entry: Entry) {
        self.hub.apply(channel, &entry, &mut self.dirty.lock());
    }

    fn failed(&self, channel: &[u8], error: StoreError) {
        tracing::debug!(target: "millrace::backplane", %error, "a channel cannot be followed");
        self.hub.cannot_follow(channel);
    }

    fn flush(&self) {
        let mut dirty = std::mem::take(&mut *self.dirty.lock());
        self.hub.wake(&mut dirty);
    }

    fn report(&self, message: &str) {
        self.hub.report("ERR_MILLRACE_HISTORY_UNAVAILABLE", message);
    }
}
