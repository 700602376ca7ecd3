//! Connections that are given up: nothing that still comes is kept. For those whose message has to make room.

use super::connection::{Io, Shared};
use super::env::Env;
use super::{Context, Goodbye, Liveness, Session, Taken, Traits};
use crate::close::CloseReason;
use crate::frame::Encodings;

/// What a connection speaks that was given up: it keeps nothing.
#[derive(Debug)]
struct Deaf;

impl Session for Deaf {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            goodbye: Goodbye::None,
            feeds_worker: false,
            half_close: false,
            encoding: Encodings::LEAD,
        }
    }

    fn input(&mut self, bytes: &mut [u8], _cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }
}

impl Env {
    /// Ends a connection, and frees what there is of its message.
    pub(super) fn give_up(&self, connection: &Shared, io: &mut Io) {
        if io.is_live() {
            self.stats.inbound_closes.add(1);
            tracing::warn!(
                target: "millrace::connection",
                socket = connection.socket.get(),
                unfinished_bytes = self.unfinished_of(connection),
                "closed because too much is being received"
            );
            self.close(connection, io, &CloseReason::INBOUND_OVERFLOW);
        } else {
            self.close(connection, io, &CloseReason::ABNORMAL);
        }
        // what still comes is nobody's
        io.session = Box::new(Deaf);
        self.count_unfinished(connection, io, 0);
    }
}
