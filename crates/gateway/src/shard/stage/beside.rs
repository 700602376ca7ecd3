//! More shards of the same gateway, beside that of a stage.

use std::sync::Arc;

use millrace_core::ShardIndex;

use super::{Stage, shard_of};
use crate::config::GatewayConfig;
use crate::frame::Encodings;
use crate::shard::readiness::Readiness;
use crate::shard::stage::Forms;

impl Stage {
    /// A stage with another shard of the same gateway.
    pub(in crate::shard) fn beside(&self, index: u8) -> Self {
        let hub = Arc::clone(&self.hub);
        let index = ShardIndex::new(index).expect("a few shards");
        let config = GatewayConfig {
            limits: self.shard.limits.clone(),
            ..GatewayConfig::default()
        };
        hub.inboxes()
            .open(index.get() + 1, config.limits.shard_inbox_bytes);
        let (shard, turn) = shard_of(&hub, index, &config, Readiness::none());
        Self {
            shard,
            hub,
            worker: Arc::clone(&self.worker),
            listener: Arc::clone(&self.listener),
            // only for sessions that do not depend on registered encodings
            forms: Forms::new(&Arc::new(Encodings::new())),
            turn,
            actors: std::cell::RefCell::default(),
        }
    }
}
