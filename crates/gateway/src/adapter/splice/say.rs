//! Encodes control messages as frames to the client. Decides nothing.

use millrace_protocol::splice::{Problem, append_error, append_warning};
use millrace_protocol::websocket::{Opcode, append_part};

use crate::contract::Context;

/// Sends a message on the control channel.
pub(super) fn say(cx: &mut Context<'_>, encode: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    encode(&mut message);
    cx.reply(|out| append_control_message(&message, out));
}

pub(super) fn warn(problem: Problem, cx: &mut Context<'_>) {
    say(cx, |out| append_warning(problem, problem.text(), out));
}

pub(super) fn fail(id: i64, problem: Problem, text: &str, cx: &mut Context<'_>) {
    say(cx, |out| append_error(id, problem, text, out));
}

/// Encodes a control message as a frame to the client: binary, because its index is not valid UTF-8.
pub(super) fn append_control_message(message: &[u8], out: &mut Vec<u8>) {
    append_part(out, Opcode::Binary, true, None, message);
}
