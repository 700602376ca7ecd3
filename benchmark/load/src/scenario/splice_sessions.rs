//! Sessions of a splice multiplexer: connects each session to its targets, and separates the messages by
//! their indexes. Without targets these are plain connections, to measure the cost of a direct one. It
//! measures nothing and does not check the messages.

use std::net::SocketAddr;

use serde_json::Value;

use crate::failure::Failure;
use crate::frame::{self, BINARY, DIGITS, Template};
use crate::io::{Connect, Handler, Io};
use crate::scenario::{open_all, until};
use crate::stamp::{self, NUMBER_AT, STAMP};
use crate::window::Deadline;

/// Bytes of the smallest message: an index and a stamp.
pub const SMALLEST: usize = INDEX + STAMP;
/// The most targets of one session, which is the number of bits in the set of connected ones.
pub const MOST: usize = 64;

/// Bytes of an index.
const INDEX: usize = 2;
const CONTROL: [u8; INDEX] = [0xff; INDEX];

/// The sessions of a run. A lane is the path to one target of one session.
#[derive(Debug)]
pub struct Sessions {
    /// The connected targets of each connection, as bits.
    connected: Vec<u64>,
    targets: usize,
    target: SocketAddr,
    left: usize,
}

/// The source of a message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// The target of a lane.
    From(usize, &'a [u8]),
    /// The control channel.
    Control,
}

impl Sessions {
    /// Sessions with this many connections and targets each, all at one address.
    pub fn new(connections: usize, targets: usize, target: SocketAddr) -> Self {
        Self {
            connected: vec![0; connections],
            targets,
            target,
            left: connections * targets,
        }
    }

    /// The number of lanes: one for each target, or for each connection if there are no targets.
    pub fn lanes(&self) -> usize {
        self.connected.len() * self.targets.max(1)
    }

    /// The connection of a lane.
    #[inline]
    pub fn connection(&self, lane: usize) -> usize {
        lane / self.targets.max(1)
    }

    /// A binary frame for a lane whose message has `size` bytes including the index. Without targets it
    /// has the bytes that the target of a session would get.
    pub fn template(&self, lane: usize, letter: u8, size: usize) -> Template {
        let mut message = self.prefix(lane);
        let at = message.len() + NUMBER_AT;
        message.extend(stamp::payload(letter, lane, size - INDEX));
        Template::of(BINARY, &message, at, stamp::mask(lane))
    }

    /// The bytes that a target gets of a message of this size.
    pub fn relayed(size: usize) -> usize {
        size - INDEX
    }

    fn prefix(&self, lane: usize) -> Vec<u8> {
        if self.targets == 0 {
            return Vec::new();
        }
        let index = u16::try_from(lane % self.targets).unwrap_or(0);
        index.to_be_bytes().to_vec()
    }

    /// Opens all connections, and the targets of each. `sessions` finds this in the handler.
    pub fn open<H: Handler>(
        io: &mut Io,
        handler: &mut H,
        deadline: &Deadline,
        sessions: fn(&H) -> &Self,
    ) -> Result<(), Failure> {
        let ids = 0..sessions(handler).connected.len();
        open_all(io, handler, ids, Connect::default(), deadline)?;
        until(io, handler, deadline, "connecting targets", |handler| {
            sessions(handler).left == 0
        })
    }

    /// Requests the targets of a connection that has opened.
    pub fn opened(&self, io: &mut Io, id: usize) -> Result<(), Failure> {
        let target = self.target;
        let mut frames = Vec::new();
        for number in 0..self.targets {
            let call = format!(
                r#"{{"id":{number},"type":"method","method":"connect","params":{{"url":"ws://{target}/"}}}}"#
            );
            let message = [&CONTROL[..], call.as_bytes()].concat();
            frame::put_masked(BINARY, &message, stamp::mask(id), &mut frames);
        }
        io.send(id, &frames)
    }

    /// Finds the lane of a message. A reply on the control channel must report that a target is connected.
    #[inline]
    pub fn hear<'a>(&mut self, id: usize, message: &'a [u8]) -> Result<Heard<'a>, Failure> {
        if self.targets == 0 {
            return Ok(Heard::From(id, message));
        }
        let Some((index, payload)) = message.split_first_chunk() else {
            return Err(violation(id, "a message without an index", message));
        };
        if *index == CONTROL {
            self.control(id, payload)?;
            return Ok(Heard::Control);
        }
        let index = usize::from(u16::from_be_bytes(*index));
        if !self.has(id, index) {
            return Err(violation(id, "a message of no target", message));
        }
        Ok(Heard::From(id * self.targets + index, payload))
    }

    fn has(&self, id: usize, index: usize) -> bool {
        let bits = self.connected.get(id).copied().unwrap_or(0);
        index < self.targets && bits >> index & 1 == 1
    }

    fn control(&mut self, id: usize, json: &[u8]) -> Result<(), Failure> {
        let reply: Value = serde_json::from_slice(json).unwrap_or_default();
        let index = reply["result"]["index"].as_u64();
        let index = index.and_then(|index| usize::try_from(index).ok());
        match index {
            Some(index) if index < self.targets && !self.has(id, index) => {
                self.connected[id] |= 1 << index;
                self.left -= 1;
                Ok(())
            }
            _ => Err(violation(id, "on its control channel", json)),
        }
    }
}

/// The length of a target's count: `c`, the digits for messages, and twice as many digits for bytes.
const COUNT: usize = 1 + 3 * DIGITS;

/// Parses the count of a target: messages and bytes so far.
pub fn count(payload: &[u8]) -> Option<(u32, u64)> {
    if payload.len() != COUNT || payload[0] != b'c' {
        return None;
    }
    let (messages, bytes) = payload[1..].split_at(DIGITS);
    let bytes = str::from_utf8(bytes).ok()?.parse().ok()?;
    Some((frame::read_digits(messages)?, bytes))
}

/// An unexpected message was received.
pub(crate) fn violation(id: usize, what: &str, bytes: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    Failure::Violation(format!("connection {id} got {what}: {shown:?}"))
}

const SHOWN: usize = 200;
