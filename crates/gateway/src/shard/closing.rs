//! Closing from outside of a connection: by the application, and of many at once.

use super::Shard;
use crate::close::CloseReason;
use crate::socket::connection::{Connection, Phase, Shared};

impl Shard {
    /// The application closes a socket; one that waits for `handleOpen` is refused.
    pub(super) fn close_by_application(&self, connection: &Shared, code: u16, reason: Box<str>) {
        let pending = matches!(connection.io.borrow().phase, Phase::Pending(_));
        if pending {
            self.refuse(connection, 403, "Connection rejected");
        } else {
            self.close(
                connection,
                &mut connection.io.borrow_mut(),
                &CloseReason::by_application(code, reason),
            );
        }
    }

    /// Closes every connection that matches; pending ones are refused with 503 and `refusal`. What was sent to them has
    /// until `deadline` to leave.
    pub(super) fn close_all(
        &self,
        reason: &CloseReason,
        refusal: &'static str,
        deadline: u64,
        matches: impl Fn(&Connection) -> bool,
    ) {
        for connection in self.select(matches) {
            let pending = matches!(connection.io.borrow().phase, Phase::Pending(_));
            if pending {
                self.refuse(&connection, 503, refusal);
            } else {
                let io = &mut *connection.io.borrow_mut();
                self.close_until(&connection, io, reason, deadline);
            }
        }
    }

    /// The connections that match.
    pub(super) fn select(&self, matches: impl Fn(&Connection) -> bool) -> Vec<Shared> {
        let connections = self.connections.borrow();
        connections
            .iter()
            .map(|(_, connection)| connection)
            .filter(|connection| matches(connection))
            .cloned()
            .collect()
    }
}
