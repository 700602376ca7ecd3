//! Sessions of a multiplexer that speaks splice: has each connected to its targets, and keeps apart what
//! travels under their indexes. Without targets it is plain connections, for what a direct one costs.
//! It measures nothing and decides nothing about the messages.

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
/// The most targets of one session: the bits that one number has.
pub const MOST: usize = 64;

/// Bytes of an index.
const INDEX: usize = 2;
const CONTROL: [u8; INDEX] = [0xff; INDEX];

/// The sessions of a run. A lane is the way to one target of one of them.
#[derive(Debug)]
pub struct Sessions {
    /// By connection: the targets that are connected, as bits.
    connected: Vec<u64>,
    targets: usize,
    target: SocketAddr,
    left: usize,
}

/// What a message from the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// It comes from the target of a lane.
    From(usize, &'a [u8]),
    /// It was on the control channel.
    Control,
}

impl Sessions {
    /// So many connections with so many targets each, all at one address.
    pub fn new(connections: usize, targets: usize, target: SocketAddr) -> Self {
        Self {
            connected: vec![0; connections],
            targets,
            target,
            left: connections * targets,
        }
    }

    /// How many lanes there are: one for each target, or for each connection without.
    pub fn lanes(&self) -> usize {
        self.connected.len() * self.targets.max(1)
    }

    /// The connection of a lane.
    #[inline]
    pub fn connection(&self, lane: usize) -> usize {
        lane / self.targets.max(1)
    }

    /// A binary frame for a lane whose message has so many bytes with the index. Without targets it has
    /// those that the target of a session would get.
    pub fn template(&self, lane: usize, letter: u8, size: usize) -> Template {
        let mut message = self.prefix(lane);
        let at = message.len() + NUMBER_AT;
        message.extend(stamp::payload(letter, lane, size - INDEX));
        Template::of(BINARY, &message, at, stamp::mask(lane))
    }

    /// Bytes that a target gets of a message of so many.
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

    /// A connection is open: asks for its targets.
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

    /// Which lane a message belongs to. A reply of the control channel must say that a target is connected.
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

/// The number of digits that a count of the targets' has: `c`, so many for messages, twice as many for
/// bytes.
const COUNT: usize = 1 + 3 * DIGITS;

/// What a counting target says: messages and bytes so far.
pub fn count(payload: &[u8]) -> Option<(u32, u64)> {
    if payload.len() != COUNT || payload[0] != b'c' {
        return None;
    }
    let (messages, bytes) = payload[1..].split_at(DIGITS);
    let bytes = str::from_utf8(bytes).ok()?.parse().ok()?;
    Some((frame::read_digits(messages)?, bytes))
}

/// Something else came than what may come.
pub(crate) fn violation(id: usize, what: &str, bytes: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    Failure::Violation(format!("connection {id} got {what}: {shown:?}"))
}

const SHOWN: usize = 200;
