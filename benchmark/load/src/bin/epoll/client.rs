//! One connection of the bare epoll loop: its stream, a partial frame, frames not yet written.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Handshaking,
    Open,
    /// The connection ends when its output is written.
    Closing,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) stage: Stage,
    /// Already in the list of connections to flush.
    pub(crate) touched: bool,
    pub(crate) waits_for_room: bool,
    pub(crate) partial: Vec<u8>,
    pub(crate) out: Vec<u8>,
    /// Its channel, in the headline scenario.
    pub(crate) channel: usize,
    /// The received messages and bytes, if the handler counts them.
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            stage: Stage::Handshaking,
            touched: false,
            waits_for_room: false,
            partial: Vec::new(),
            out: Vec::new(),
            channel: 0,
            messages: 0,
            bytes: 0,
        }
    }

    /// Reads after the partial frame. Returns `None` at the end of the stream, and zero if nothing
    /// was received.
    pub(crate) fn read(&mut self, scratch: &mut [u8]) -> Option<usize> {
        let kept = self.partial.len();
        scratch[..kept].copy_from_slice(&self.partial);
        match (&self.stream).read(&mut scratch[kept..]) {
            Ok(0) => None,
            Ok(count) => {
                self.partial.clear();
                Some(kept + count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Some(0),
            Err(_) => None,
        }
    }

    /// Writes the queued output once. Returns false at the end of the stream.
    pub(crate) fn flush(&mut self) -> bool {
        if self.out.is_empty() {
            return true;
        }
        match (&self.stream).write(&self.out) {
            Ok(count) if count == self.out.len() => self.out.clear(),
            Ok(count) => drop(self.out.drain(..count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
        true
    }
}
