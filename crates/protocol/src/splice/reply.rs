//! The messages of the multiplexer on its control channel: replies and events, each a whole message with its index.

use super::error::Problem;
use super::prefix::CONTROL;
use crate::json::append_string;

/// The name of the event that reports the end of a target. The documentation and the program of wsplice disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClosedName {
    /// The name in the documentation.
    #[default]
    OnSocketDisconnect,
    /// The name in the program.
    OnSocketClosed,
}

impl ClosedName {
    /// Parses a name; `None` if it is neither of the two.
    ///
    /// # Example
    ///
    /// ```
    /// use millrace_protocol::splice::ClosedName;
    ///
    /// assert_eq!(ClosedName::parse("onSocketClosed"), Some(ClosedName::OnSocketClosed));
    /// assert_eq!(ClosedName::parse("onsocketclosed"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        [Self::OnSocketDisconnect, Self::OnSocketClosed]
            .into_iter()
            .find(|one| one.text() == name)
    }

    /// The name on the wire.
    pub const fn text(self) -> &'static str {
        match self {
            Self::OnSocketDisconnect => "onSocketDisconnect",
            Self::OnSocketClosed => "onSocketClosed",
        }
    }
}

/// How a target ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone<'a> {
    /// The target's index, which is free now.
    pub index: u16,
    /// The code of its close frame; 1005 if the frame had none, 1001 if no close frame came.
    pub code: u16,
    /// The reason of its close frame.
    pub reason: &'a str,
    /// Whether to report that no close frame came: the event then has `"clean": false`. Only for clients that asked
    /// for it ([`ConnectParams::web_socket`](super::ConnectParams::web_socket)).
    pub unclean: bool,
}

/// Appends the reply to a successful `connect`, with the subprotocol that the target chose.
pub fn append_connected(id: i64, index: u16, protocol: Option<&str>, out: &mut Vec<u8>) {
    begin_reply(id, "result", out);
    append_all(&["{\"index\":", &index.to_string()], out);
    if let Some(protocol) = protocol {
        append_all(&[",\"protocol\":"], out);
        append_string(protocol, out);
    }
    out.extend_from_slice(b"}}");
}

/// Appends the reply to a successful call without a result.
pub fn append_done(id: i64, out: &mut Vec<u8>) {
    begin_reply(id, "result", out);
    out.extend_from_slice(b"{}}");
}

/// Appends the reply to a failed call. `message` is [`Problem::text`] or a more specific text.
///
/// # Example
///
/// ```
/// use millrace_protocol::splice::{Problem, append_error};
///
/// let mut out = Vec::new();
/// let problem = Problem::DialFailed;
/// append_error(-7, problem, "connection refused", &mut out);
/// assert_eq!(
///     out.strip_prefix(b"\xff\xff").unwrap(),
///     br#"{"id":-7,"type":"reply","error":{"code":4007,"message":"connection refused","path":"url"}}"#
/// );
/// ```
pub fn append_error(id: i64, problem: Problem, message: &str, out: &mut Vec<u8>) {
    begin_reply(id, "error", out);
    append_problem(problem, message, out);
    if let Some(path) = problem.path() {
        append_all(&[",\"path\":\"", path, "\""], out);
    }
    out.extend_from_slice(b"}}");
}

/// Appends the event that reports a problem that no reply reports.
pub fn append_warning(problem: Problem, message: &str, out: &mut Vec<u8>) {
    begin_event("warn", out);
    append_problem(problem, message, out);
    out.extend_from_slice(b"}}");
}

/// Appends the event that reports the end of a target.
///
/// # Example
///
/// ```
/// use millrace_protocol::splice::{ClosedName, Gone, append_closed};
///
/// let mut out = Vec::new();
/// let gone = Gone { index: 3, code: 1000, reason: "done", unclean: false };
/// append_closed(ClosedName::OnSocketDisconnect, gone, &mut out);
/// let params = r#"{"index":3,"code":1000,"reason":"done","message":"done"}"#;
/// let event = format!(r#"{{"id":0,"type":"method","method":"onSocketDisconnect","params":{params}}}"#);
/// assert_eq!(out.strip_prefix(b"\xff\xff").unwrap(), event.as_bytes());
/// ```
pub fn append_closed(name: ClosedName, gone: Gone<'_>, out: &mut Vec<u8>) {
    begin_event(name.text(), out);
    append_all(&["{\"index\":", &gone.index.to_string()], out);
    append_all(&[",\"code\":", &gone.code.to_string()], out);
    for field in [",\"reason\":", ",\"message\":"] {
        append_all(&[field], out);
        append_string(gone.reason, out);
    }
    if gone.unclean {
        append_all(&[",\"clean\":false"], out);
    }
    out.extend_from_slice(b"}}");
}

fn begin_reply(id: i64, field: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&CONTROL.to_be_bytes());
    let id = id.to_string();
    append_all(
        &["{\"id\":", &id, ",\"type\":\"reply\",\"", field, "\":"],
        out,
    );
}

fn begin_event(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&CONTROL.to_be_bytes());
    append_all(
        &[
            "{\"id\":0,\"type\":\"method\",\"method\":\"",
            name,
            "\",\"params\":",
        ],
        out,
    );
}

fn append_problem(problem: Problem, message: &str, out: &mut Vec<u8>) {
    let code = problem.code().to_string();
    append_all(&["{\"code\":", &code, ",\"message\":"], out);
    append_string(message, out);
}

fn append_all(pieces: &[&str], out: &mut Vec<u8>) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}
