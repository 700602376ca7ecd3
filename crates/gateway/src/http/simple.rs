//! Requests that ask only for an answer, as endpoints see them, and the answers that need no HTTP implementation to be
//! sent. Owns no connection.

use std::task::{Context, Poll};

use bytes::Bytes;
use millrace_protocol::http::head_lines::{self, HeadLines};

use super::{Answer, AnswerHead};
use crate::shard::open::Opened;

/// A GET of a path in HTTP/1.1, without a body, as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct SimpleRequest<'r> {
    target: &'r str,
    lines: HeadLines<'r>,
}

impl<'r> SimpleRequest<'r> {
    /// Reads a head that the inspector has found to be of a simple request.
    pub(super) fn read(head: &'r [u8]) -> Option<Self> {
        let (target, lines) = head_lines::target(head)?;
        let target = std::str::from_utf8(target).ok()?;
        Some(Self { target, lines })
    }

    /// The path with its query.
    pub(crate) fn target(&self) -> &'r str {
        self.target
    }

    /// The path.
    pub(crate) fn path(&self) -> &'r str {
        let end = self.target.find('?').unwrap_or(self.target.len());
        self.target.get(..end).unwrap_or(self.target)
    }

    /// The headers: names, in any case, and values.
    pub(crate) fn headers(&self) -> HeadLines<'r> {
        self.lines.clone()
    }
}

/// What an endpoint does with a simple request.
pub(crate) enum Taking {
    /// It does not claim the request.
    Pass,
    /// It may claim the request, and has to see it as [`Asked`](super::Asked).
    Unsure,
    /// It answers.
    Answer(Ready),
    /// It answers later.
    Later(Box<dyn Later>),
}

/// A complete answer.
pub(crate) struct Ready {
    pub(crate) head: ReadyHead,
    pub(crate) body: Bytes,
}

/// The head of a complete answer.
pub(crate) enum ReadyHead {
    /// Status line and headers, each with its line end, the length of the body among them.
    Lines(Bytes),
    /// The head of a worker's answer.
    Checked(AnswerHead),
}

/// An answer that is awaited. Dropped, it tells its endpoint that nobody wants it any more.
pub(crate) trait Later {
    /// The answer, once it has come.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Arrived>;

    /// The client sends nothing more. Called each time that the answer is polled from then on.
    fn client_left(&mut self);
}

/// An answer that was awaited.
pub(crate) enum Arrived {
    Ready(Ready),
    /// Any other answer.
    Other(Answer),
    /// The connection becomes a socket.
    Socket(Switch),
}

/// The beginning of a 101, and the socket that the connection becomes.
pub(crate) struct Switch {
    /// Status line and headers up to the date, each with its line end.
    pub(super) head: Vec<u8>,
    pub(super) opened: Opened,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_before_its_query() {
        let read = |head| SimpleRequest::read(head).map(|request| request.path().to_owned());
        assert_eq!(read(b"GET /a/b?c=/d HTTP/1.1\r\n\r\n").unwrap(), "/a/b");
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n").unwrap(), "/");
        assert!(read(b"GET /").is_none());
    }
}
