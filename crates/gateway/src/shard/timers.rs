//! The task that looks at deadlines as they come: those of connections, and those of HTTP.

use std::rc::Rc;
use std::time::Duration;

use super::Shard;
use crate::fault::Fault;
use crate::socket::wheel::{Due, TICK_MS};

/// Turns the wheel for as long as the shard lives; sleeps while nothing is armed.
pub(crate) async fn timers(shard: Rc<Shard>) {
    let mut fired = Vec::new();
    loop {
        if shard.wheel.borrow().is_empty() && shard.http_connections.borrow().is_empty() {
            shard.wheel_armed.notified().await;
        }
        tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
        shard.hub.faults().hit(Fault::Timers);
        shard.tick();
        shard.look_at_deadlines(&mut fired);
    }
}

impl Shard {
    /// Does what is due now.
    pub(super) fn look_at_deadlines(&self, fired: &mut Vec<Due>) {
        let now = self.now.get();
        self.wheel.borrow_mut().advance(now, fired);
        self.http_connections.borrow_mut().look(now);
        for due in fired.drain(..) {
            if let Some(connection) = self.find(due.slot, due.socket) {
                self.due(&connection, due.at);
            }
        }
    }
}
