//! The adapter of RESP, the Redis protocol: connections publish, subscribe and use the key/value store. Their commands
//! are answered on the I/O shard and never reach JavaScript.

mod access;
mod call;
mod client;
mod clients;
mod commands;
mod connection;
mod describe;
mod dispatch;
mod expiry;
mod help;
mod keys;
mod limits;
mod long;
mod options;
mod protocol;
mod pubsub;
mod scan;
mod server;
mod session;
mod stored;
mod table;
mod throttle;

use std::fmt;

use millrace_core::Space;
use millrace_protocol::resp::{self, Decoder, Reply, Version};

use crate::contract::{
    self, CloseMode, CloseReason, Context, EncodingDef, Goodbye, Liveness, Message, Operation,
    Taken, Traits, Wake,
};
use call::Flow;
use session::Session;

pub(crate) use protocol::RespProtocol;

/// One connection: its decoder and its session.
struct Resp {
    decoder: Decoder,
    session: Session,
}

impl fmt::Debug for Resp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resp").finish_non_exhaustive()
    }
}

impl contract::Session for Resp {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            // as in Redis: the last reply was already sent, and a subscriber would read another one as a message
            goodbye: Goodbye::None,
            feeds_worker: false,
            half_close: false,
            encoding: self.session.encoding(),
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        if cx.is_closing() {
            // input is ignored, or a client could go on after its error
            return Ok(self.taken(length));
        }
        let mut rest = &*bytes;
        loop {
            if self.decoder.unfinished().is_none() && !self.session.may_read(rest) {
                cx.hold_input(true);
                return Ok(self.taken(length - rest.len()));
            }
            let before = rest.len();
            let limits = self.session.limits();
            let request = match self.decoder.next(&mut rest, &limits) {
                Ok(Some(request)) => request,
                Ok(None) => return Ok(self.taken(length)),
                Err(error) => {
                    let text = [b"ERR ", &*error.text()].concat();
                    // it would be taken for the answer to a publication that waits
                    if !self.session.silence.is_silent() && !self.session.stored.waits() {
                        let version = self.session.version;
                        cx.reply(|out| Reply::new(version, out).error(&text));
                    }
                    return Err(PROTOCOL_ERROR);
                }
            };
            cx.alive();
            let flow = dispatch::run(&mut self.session, request, cx);
            if flow != Flow::Wait {
                // an answer that is still due is sent in the version before
                cx.speaks(self.session.encoding());
            }
            let more = cx.done(before - rest.len());
            match flow {
                Flow::Next if more == contract::Flow::Go => {}
                Flow::Next | Flow::Wait => return Ok(self.taken(length - rest.len())),
                Flow::End => return Err(CloseReason::by_peer(Some(NORMAL), "")),
                Flow::Refuse => return Err(REFUSED),
                Flow::Cut => return Err(CloseReason::ABNORMAL),
            }
        }
    }

    fn wake(&mut self, why: Wake, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                self.session.begin(cx.now());
                self.watch_password(cx)?;
            }
            Wake::Time => self.watch_password(cx)?,
            Wake::Resumed => cx.speaks(self.session.encoding()),
            Wake::Told(answer) if answer.operation() == Some(Operation::V1Answer) => {
                self.session.store_answered(&answer, cx);
            }
            Wake::Posted
            | Wake::Written
            | Wake::Room
            | Wake::Told(_)
            | Wake::WorkerGone
            | Wake::Called(_)
            | Wake::Transfer(..)
            | Wake::Entered(..)
            | Wake::Gap(..) => {}
        }
        Ok(())
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished().unwrap_or_default()
    }
}

impl Resp {
    /// Closes a client that has not authenticated in time.
    fn watch_password(&self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let Some(until) = self.session.deadline() else {
            return Ok(());
        };
        if cx.now() >= until {
            cx.count_refused();
            return Err(UNAUTHENTICATED);
        }
        cx.wake_at(until);
        Ok(())
    }

    fn taken(&self, bytes: usize) -> Taken {
        Taken {
            bytes,
            unfinished: self.decoder.unfinished().is_some(),
        }
    }
}

/// Messages in version 2: arrays, like answers to a subscriber.
const RESP2: EncodingDef = EncodingDef {
    name: "resp2",
    names_channel: true,
    most_payload: usize::MAX,
    around: AROUND,
    append: |message, out| append_message(Version::Resp2, message, out),
};

/// Messages in version 3: pushes.
const RESP3: EncodingDef = EncodingDef {
    name: "resp3",
    append: |message, out| append_message(Version::Resp3, message, out),
    ..RESP2
};

/// The bytes that a message adds to its payload and names, in nearly all cases.
const AROUND: usize = 60;

/// Appends a message with the channel that it was published to.
fn append_message(version: Version, message: &Message<'_>, out: &mut Vec<u8>) {
    let payload = message.payload;
    let Some(via) = message.via else {
        // the message was sent to this socket alone
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

/// RFC 6455's code for a normal close. RESP does not transmit it.
const NORMAL: u16 = 1000;

/// The peer has received an error that says why.
const PROTOCOL_ERROR: CloseReason = CloseReason::new(1002, "Protocol error", CloseMode::Final);
const REFUSED: CloseReason = CloseReason::new(1008, "Refused", CloseMode::Final);

/// The client has not authenticated in time.
const UNAUTHENTICATED: CloseReason =
    CloseReason::new(1008, "No password in time", CloseMode::Handshake);
