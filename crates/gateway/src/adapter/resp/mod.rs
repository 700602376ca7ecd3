//! The adapter of RESP, the Redis protocol: connections that publish, listen, and use the key/value store. Their
//! commands are answered here, on the I/O shard: nothing of it enters JavaScript.

mod access;
mod call;
mod client;
mod clients;
mod commands;
mod connection;
mod describe;
mod expiry;
mod help;
mod keys;
mod long;
mod open;
mod pubsub;
mod scan;
mod server;
mod session;
mod table;
mod throttle;

use std::fmt;

use millrace_core::Space;
use millrace_protocol::resp::{self, Decoder, Reply, Version};

use super::{Adapter, Intake};
use crate::close::{CloseMode, CloseReason};
use crate::frame::{Encoding, EncodingDef, Encodings, Message};
use call::Flow;
use clients::Clients;
use session::Session;
use throttle::Throttle;

pub(crate) use open::adopt;
pub(crate) use session::Terms;

/// What connections of a gateway know of each other.
#[derive(Debug)]
pub(crate) struct Common {
    clients: Clients,
    throttle: Throttle,
    resp2: Encoding,
    resp3: Encoding,
}

impl Common {
    pub(crate) fn new(encodings: &mut Encodings) -> Self {
        Self {
            resp2: encodings.add(RESP2),
            resp3: encodings.add(RESP3),
            clients: Clients::new(),
            throttle: Throttle::new(),
        }
    }
}

/// One connection's side of the codec, and its session.
struct Resp {
    decoder: Decoder,
    session: Session,
    /// The version of its messages: that of its session, but for an answer that is still to come.
    spoken: Version,
}

impl fmt::Debug for Resp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resp").finish_non_exhaustive()
    }
}

impl Adapter for Resp {
    fn input(&mut self, bytes: &mut [u8], intake: &mut dyn Intake) -> Result<usize, CloseReason> {
        let length = bytes.len();
        if intake.is_closing() {
            // as if it had not come, or else a client could go on behind its mistake
            return Ok(length);
        }
        let mut rest = &*bytes;
        loop {
            let before = rest.len();
            let limits = self.session.limits();
            let request = match self.decoder.next(&mut rest, &limits) {
                Ok(Some(request)) => request,
                Ok(None) => return Ok(length),
                Err(error) => {
                    let text = [b"ERR ", &*error.text()].concat();
                    if !self.session.silence.is_silent() {
                        let version = self.session.version;
                        intake.reply(&mut |out| Reply::new(version, out).error(&text));
                    }
                    return Err(PROTOCOL_ERROR);
                }
            };
            intake.alive();
            let flow = call::run(&mut self.session, request, intake);
            if flow != Flow::Wait {
                self.spoken = self.session.version;
            }
            match flow {
                Flow::Next => {}
                Flow::Wait => {
                    intake.answered(before - rest.len());
                    return Ok(length - rest.len());
                }
                Flow::End => return Err(CloseReason::by_peer(Some(NORMAL), "")),
                Flow::Refuse => return Err(REFUSED),
                Flow::Cut => return Err(CloseReason::ABNORMAL),
            }
            if !intake.answered(before - rest.len()) {
                return Ok(length - rest.len());
            }
        }
    }

    fn encoding(&self) -> Encoding {
        let common = &self.session.terms.common;
        match self.spoken {
            Version::Resp2 => common.resp2,
            Version::Resp3 => common.resp3,
        }
    }

    fn append_ping(&mut self, _: &mut Vec<u8>) {
        // there is no such question in RESP: the kernel asks (keep-alive)
    }

    fn append_close(&mut self, _: &CloseReason, _: &mut Vec<u8>) {
        // as Redis does it: what is to be said was said, and a subscriber would take it for a message
    }

    fn unfinished(&self) -> Option<usize> {
        self.decoder.unfinished()
    }

    fn is_one_way(&self) -> bool {
        true
    }

    fn deadline(&self) -> Option<u64> {
        self.session.deadline()
    }

    fn answer_written(&mut self) {
        self.spoken = self.session.version;
    }
}

/// Messages in version 2, as answers to a subscriber.
const RESP2: EncodingDef = EncodingDef {
    name: "resp2",
    names_channel: true,
    most_payload: usize::MAX,
    around: AROUND,
    append: |message, out| append_message(Version::Resp2, message, out),
};

/// Messages in version 3, as pushes.
const RESP3: EncodingDef = EncodingDef {
    name: "resp3",
    append: |message, out| append_message(Version::Resp3, message, out),
    ..RESP2
};

/// Bytes around a payload and names, nearly always at most.
const AROUND: usize = 60;

/// Appends a message with the channel that it came on.
fn append_message(version: Version, message: &Message<'_>, out: &mut Vec<u8>) {
    let payload = message.payload;
    let Some(via) = message.via else {
        // sent to this socket alone
        return resp::append_message(version, b"", payload, out);
    };
    let channel = via.channel.as_bytes();
    match via.pattern {
        Some(pattern) => {
            resp::append_pattern_message(version, pattern.as_bytes(), channel, payload, out);
        }
        None if via.channel.space() == Space::Sharded => {
            resp::append_shard_message(version, channel, payload, out);
        }
        None => resp::append_message(version, channel, payload, out),
    }
}

/// RFC 6455's code for an ordinary end, in which the worker of a WebSocket would be told it.
const NORMAL: u16 = 1000;

/// The peer is told in an error.
const PROTOCOL_ERROR: CloseReason = CloseReason::new(1002, "Protocol error", CloseMode::Final);
const REFUSED: CloseReason = CloseReason::new(1008, "Refused", CloseMode::Final);
