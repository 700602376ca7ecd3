//! Watches whether workers answer their doorbells, those that leave too. Counts its own ticks, not
//! the clock, so that a process that was stopped for a while condemns nobody.

use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;

use super::Hub;
use crate::fault::Fault;
use crate::notice::Notice;

/// Rings every worker at each tick and retires those that leave a ring unanswered for `timeout`.
/// Ends with the shard that runs it.
pub(crate) async fn watch(hub: Arc<Hub>, timeout: Duration) {
    if timeout.is_zero() {
        return;
    }
    let tick = (timeout / TICKS).max(SHORTEST_TICK);
    let limit = timeout.as_millis().div_ceil(tick.as_millis().max(1));
    let mut unanswered: AHashMap<u32, u128> = AHashMap::new();
    loop {
        tokio::time::sleep(tick).await;
        hub.faults().hit(Fault::Liveness);
        let workers = hub.workers().all();
        unanswered.retain(|id, _| workers.iter().any(|worker| worker.id() == *id));
        for worker in workers {
            let silent = unanswered.entry(worker.id()).or_default();
            if !worker.queue().is_ringing() || hub.liveness_suspended() {
                *silent = 0;
                worker.ring();
                continue;
            }
            *silent += 1;
            if *silent >= limit {
                let waited = tick.as_millis().saturating_mul(*silent);
                worker.retire();
                hub.notices().post(Notice::WorkerUnresponsive {
                    worker: worker.id(),
                    ms: u64::try_from(waited).unwrap_or(u64::MAX),
                });
            }
        }
    }
}

/// Looks per timeout: a worker is condemned at most one eighth late.
const TICKS: u32 = 8;

const SHORTEST_TICK: Duration = Duration::from_millis(20);
