//! What the operations of a connection that speaks `millrace.v1` need, and how it answers.

use millrace_core::Kind;
use millrace_protocol::v1;
use millrace_protocol::websocket::{self, Opcode};

use super::V1Terms;
use super::asked::Asked;
use super::bads::Bads;
use super::calls::Calls;
use super::entering::Entering;
use crate::close::CloseReason;
use crate::contract::{Context, Flow};

/// What the operations of a connection need.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) terms: V1Terms,
    pub(super) bads: Option<Box<Bads>>,
    pub(super) entering: Entering,
    /// What waits for handlers.
    pub(super) asked: Option<Box<Asked>>,
    /// What the client was asked for.
    pub(super) calls: Option<Box<Calls>>,
}

/// Appends a header without a payload as a frame.
pub(super) fn append_header(header: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let mut line = Vec::new();
    header(&mut line);
    websocket::append_frame(out, Opcode::Text, &line);
}

/// Appends a header and a payload as a frame.
pub(super) fn append_message(
    header: impl FnOnce(&mut Vec<u8>),
    (kind, payload): (Kind, &[u8]),
    out: &mut Vec<u8>,
) {
    let mut message = Vec::new();
    header(&mut message);
    message.push(b'\n');
    message.extend_from_slice(payload);
    let opcode = match kind {
        Kind::Text => Opcode::Text,
        Kind::Binary => Opcode::Binary,
    };
    websocket::append_frame(out, opcode, &message);
}

impl Speaker {
    /// Handles a message of the client.
    pub(super) fn message(
        &mut self,
        kind: Kind,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<Flow, CloseReason> {
        if cx.is_closing() {
            return Ok(Flow::Go);
        }
        let flow = match v1::decode(message) {
            Ok(incoming) => self.operate(incoming, kind, cx)?,
            Err(bad) => {
                // the client would take it for the answer that it waits for
                let id = bad.id.filter(|id| !self.is_in_use(id));
                self.bad(id.as_ref(), bad.reason, cx)?;
                Flow::Go
            }
        };
        let done = cx.done(message.len());
        Ok(Flow::go_if(flow == Flow::Go && done == Flow::Go))
    }

    /// Answers a message that is malformed, or makes no sense now. Too many of those end the connection.
    pub(super) fn bad(
        &mut self,
        id: Option<&v1::Id<'_>>,
        reason: &str,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        fail(id, v1::Code::Bad, reason, cx);
        self.count_bad(cx)
    }

    /// Counts a message that is refused as bad. `Err`: these are too many.
    pub(super) fn count_bad(&mut self, cx: &Context<'_>) -> Result<(), CloseReason> {
        if self.bads.get_or_insert_default().add(cx.now()) {
            return Err(CloseReason::TOO_MANY_BAD);
        }
        Ok(())
    }
}

/// Answers with an error.
pub(super) fn fail(id: Option<&v1::Id<'_>>, code: v1::Code, reason: &str, cx: &mut Context<'_>) {
    cx.reply(|out| {
        append_header(
            |line| v1::append_error(id, code.text(), Some(reason), line),
            out,
        );
    });
}
