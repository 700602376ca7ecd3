//! Finds the command of a request, checks it, and calls it.

use millrace_protocol::resp::{Reply, Request};

use super::call::{Call, Flow};
use super::commands::COMMANDS;
use super::session::Session;
use super::table::{self, Unknown};
use crate::contract::Context;

/// Runs a request.
pub(super) fn run<'c>(
    session: &'c mut Session,
    request: Request<'c>,
    cx: &'c mut Context<'_>,
) -> Flow {
    session.silence.advance();
    let command = match table::find(&COMMANDS, &request) {
        Ok(command) => command,
        Err(Unknown::Http) => {
            tracing::warn!(
                target: "millrace::connection",
                socket = session.client.id.get(),
                "an HTTP request on a RESP listener: closed, because a web page can make a browser send one"
            );
            return Flow::Cut;
        }
        Err(unknown) => {
            let objection = unknown.refused().and_then(|name| session.objection(name));
            let text = objection.map_or_else(|| unknown.text(&request), String::into_bytes);
            if !session.silence.is_silent() {
                let version = session.version;
                cx.reply(|out| Reply::new(version, out).error(&text));
            }
            return Flow::Next;
        }
    };
    session.client.asks(command.name, cx.now());
    let mut call = Call {
        session,
        request,
        command,
        commands: &COMMANDS,
        cx,
    };
    match call.objection() {
        None => (command.run)(&mut call),
        Some(text) => call.error(text),
    }
}
