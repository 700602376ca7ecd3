//! The task that checks deadlines: those of connections, and those of the shard's parts.

use std::rc::Rc;
use std::time::Duration;

use super::Shard;
use crate::fault::Fault;
use crate::socket::connection::Shared;
use crate::socket::moment::Deadline;
use crate::socket::wheel::{Due, TICK_MS};

/// Advances the wheel for as long as the shard lives; sleeps while no deadline is armed.
pub(crate) async fn timers(shard: Rc<Shard>) {
    let mut fired = Vec::new();
    let mut parts_wait = false;
    // trims that follow the last deadline
    let mut trims = 0;
    let mut ticks = 0;
    loop {
        if parts_wait || !shard.wheel.borrow().is_empty() {
            trims = LAST_TRIMS;
        } else if trims == 0 {
            shard.wheel_armed.notified().await;
        }
        tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
        shard.hub.faults().hit(Fault::Timers);
        shard.tick();
        parts_wait = shard.look_at_deadlines(&mut fired);
        ticks += 1;
        if ticks >= TRIM_TICKS {
            ticks = 0;
            trims = trims.saturating_sub(1);
            shard.trim();
        }
    }
}

/// Ticks between two trims: a second.
const TRIM_TICKS: u32 = 20;

/// Trims without deadlines, after which nothing is left to be freed.
const LAST_TRIMS: u32 = 2;

impl Shard {
    /// Handles what is due now. Returns whether a part has more deadlines, or something is held for readers.
    pub(super) fn look_at_deadlines(&self, fired: &mut Vec<Due>) -> bool {
        self.wheel.borrow_mut().advance(self.now.get(), fired);
        let parts_wait = self.look_at_parts() | self.look_at_past();
        for due in fired.drain(..) {
            if let Some((connection, deadline)) = self.armed(due) {
                self.due(&connection, deadline);
            }
        }
        parts_wait
    }

    /// The connection of an entry of the wheel, and its deadline; `None` if the entry is stale. An entry of a former
    /// connection in the same slot may meet a deadline of the present one, which is due as well then.
    fn armed(&self, due: Due) -> Option<(Shared, Deadline)> {
        let connections = self.connections.borrow();
        let connection = connections.get(due.slot)?;
        let io = connection.io.borrow();
        let now = self.now.get();
        let mut deadlines = [io.armed, io.armed_before].into_iter().flatten();
        let deadline = deadlines.find(|deadline| due.is_of(deadline.near(now)))?;
        Some((Rc::clone(connection), deadline))
    }
}
