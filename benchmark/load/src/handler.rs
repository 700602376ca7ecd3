//! The contract between [`Io`] and the scenarios.

use crate::failure::Failure;
use crate::io::Io;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a close frame of this code.
    Closed(u16),
    /// Without a close frame.
    Cut,
}

/// A scenario. Every method may send, open and close.
pub trait Handler {
    /// The handshake of a connection is complete, or a bare connection is established.
    fn opened(&mut self, _io: &mut Io, _id: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// A text message arrived.
    fn message(&mut self, _io: &mut Io, id: usize, _payload: &[u8]) -> Result<(), Failure> {
        let what = format!("connection {id} got a message that nobody waits for");
        Err(Failure::Violation(what))
    }

    /// A binary message arrived.
    fn binary(&mut self, _io: &mut Io, id: usize, _payload: &[u8]) -> Result<(), Failure> {
        let what = format!("connection {id} got a binary message that nobody waits for");
        Err(Failure::Violation(what))
    }

    /// Bytes arrived on a bare connection. Returns how many of them were consumed; the others are
    /// given again, followed by new ones.
    fn bytes(&mut self, _io: &mut Io, id: usize, _bytes: &[u8]) -> Result<usize, Failure> {
        let what = format!("connection {id} got bytes that nobody waits for");
        Err(Failure::Violation(what))
    }

    /// All messages of one read were handled, so several answers can be sent at once.
    fn read_done(&mut self, _io: &mut Io, _id: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// A connection could not be made, or its handshake failed; its id is free.
    fn refused(&mut self, _io: &mut Io, _id: usize, failure: Failure) -> Result<(), Failure> {
        Err(failure)
    }

    /// A connection is over; its id is free.
    fn closed(&mut self, _io: &mut Io, id: usize, ending: Ending) -> Result<(), Failure> {
        Err(Failure::Violation(format!(
            "connection {id} was ended by the server: {ending:?}"
        )))
    }
}
