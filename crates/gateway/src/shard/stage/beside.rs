//! More shards of the same gateway, beside that of a stage.

use std::rc::Rc;
use std::sync::Arc;

use millrace_core::ShardIndex;

use super::{Flag, Stage};
use crate::config::GatewayConfig;
use crate::frame::Encodings;
use crate::shard::Shard;
use crate::shard::readiness::Readiness;
use crate::shard::stage::Forms;
use crate::stats::ShardStats;

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
        let stats = Arc::new(ShardStats::default());
        hub.add_counters(Arc::clone(&stats));
        let shard = Rc::new(Shard::new(
            index,
            Arc::clone(&hub),
            &config,
            (stats, Arc::default()),
            Readiness::none(),
        ));
        shard.set_clock(1_000);
        let turn = Arc::new(Flag::default());
        *shard.turn_waker.borrow_mut() = Some(Flag::waker(&turn));
        hub.inboxes().set_waker(index, Flag::waker(&turn));
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
