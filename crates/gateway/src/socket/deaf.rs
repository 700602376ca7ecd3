//! Connections that are closed to free the memory of their message: further input is discarded.

use super::connection::{Io, Shared};
use super::env::Env;
use super::{Context, Goodbye, Liveness, Session, Taken, Traits};
use crate::close::CloseReason;
use crate::frame::Encodings;

/// The session of such a connection: it keeps nothing.
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
    /// Closes a connection, and frees the bytes of its incomplete message.
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
        // further input is discarded
        io.session = Box::new(Deaf);
        self.count_unfinished(connection, io, 0);
    }
}
