//! Checks whether workers answer their doorbells, including those that are leaving. Counts its own ticks instead of
//! reading the clock, so that no worker is retired because the process was suspended.

use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;

use super::Hub;
use crate::fault::Fault;
use crate::notice::Notice;

/// Rings every worker at each tick, and retires those that leave a ring unanswered for `timeout`. Ends with the shard
/// that runs it.
pub(crate) async fn watch(hub: Arc<Hub>, timeout: Duration) {
    if timeout.is_zero() {
        return;
    }
    let tick = (timeout / TICKS).max(SHORTEST_TICK);
    let limit = timeout.as_millis().div_ceil(tick.as_millis().max(1));
    let mut silences: AHashMap<u32, Silence> = AHashMap::new();
    loop {
        tokio::time::sleep(tick).await;
        hub.faults().hit(Fault::Liveness);
        let workers = hub.workers().all();
        silences.retain(|id, _| workers.iter().any(|worker| worker.id() == *id));
        for worker in workers {
            let silence = silences.entry(worker.id()).or_default();
            let queue = worker.queue();
            let is_ringing = queue.is_ringing() && !hub.liveness_suspended();
            let ticks = silence.tick(is_ringing, queue.answers());
            if !is_ringing {
                worker.ring();
            } else if ticks >= limit {
                let waited = tick.as_millis().saturating_mul(ticks);
                worker.retire();
                worker.give_up();
                hub.audience().post(&Notice::WorkerUnresponsive {
                    worker: worker.id(),
                    ms: u64::try_from(waited).unwrap_or(u64::MAX),
                });
            }
        }
    }
}

/// For how long a worker has not answered.
#[derive(Debug, Default)]
struct Silence {
    ticks: u128,
    /// The number of rings answered at the last tick.
    answers: u64,
}

impl Silence {
    /// Returns the number of ticks for which the same ring is unanswered. A busy worker is rung again as soon as it has
    /// answered.
    fn tick(&mut self, is_ringing: bool, answers: u64) -> u128 {
        let has_answered = answers != self.answers;
        self.answers = answers;
        self.ticks = match (is_ringing, has_answered) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => self.ticks + 1,
        };
        self.ticks
    }
}

/// Checks per timeout: an unresponsive worker is retired at most one eighth late.
const TICKS: u32 = 8;

const SHORTEST_TICK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_an_unanswered_ring_are_counted() {
        let mut silence = Silence::default();
        let ticks: Vec<u128> = (0..4).map(|_| silence.tick(true, 0)).collect();
        assert_eq!(ticks, [1, 2, 3, 4]);
        assert_eq!(silence.tick(false, 1), 0);
    }

    #[test]
    fn a_worker_that_answers_and_is_rung_again_is_not_silent() {
        let mut silence = Silence::default();
        for answers in 1..100 {
            assert_eq!(silence.tick(true, answers), 1);
        }
        assert_eq!(silence.tick(true, 99), 2);
    }
}
