//! An answer that is being written, and what follows it.

use std::io::{self, IoSlice};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::head;
use crate::http::connection::{Around, HttpConnection};
use crate::http::simple::{Ready, ReadyHead, Switch};
use crate::shard::open::Opened;

/// An answer that is being written.
pub(super) struct Writing {
    pub(super) head: Vec<u8>,
    body: Bytes,
    /// How many bytes of both are written.
    written: usize,
    pub(super) then: Then,
}

/// What follows an answer.
pub(super) enum Then {
    Request,
    End,
    Socket(Opened),
}

impl Writing {
    /// Makes the head of a 101. `Err`: the socket sends it, together with the output of others.
    pub(super) fn switch(connection: &HttpConnection, switch: Switch) -> Result<Self, Opened> {
        let around = &connection.around;
        around.shard.count_request();
        let Switch { mut head, opened } = switch;
        append_date(around, &mut head);
        head.extend_from_slice(b"\r\n");
        if connection.wire.borrow().is_bare() && opened.takes_first(&head) {
            return Err(opened);
        }
        Ok(Self {
            head,
            body: Bytes::new(),
            written: 0,
            then: Then::Socket(opened),
        })
    }

    /// Decides whether the connection stays open, and makes the head.
    pub(super) fn begin(connection: &HttpConnection, ready: Ready, closes: bool) -> Self {
        let around = &connection.around;
        around.shard.count_request();
        let Ready { head, body } = ready;
        let says_close = match &head {
            ReadyHead::Lines(_) => false,
            ReadyHead::Checked(head) => head.closes(),
        };
        let keeps = !closes
            && !says_close
            && connection.asked.get() < u64::from(around.service.limits.keep_alive_requests)
            && !around.listener.ends_connections();
        connection.closing.set(!keeps);
        let mut out = around.pending_writes.buffer();
        let about = |out: &mut Vec<u8>| {
            if keeps {
                out.extend_from_slice(b"connection: keep-alive\r\nkeep-alive: ");
                out.extend_from_slice(around.service.keep_alive.as_bytes());
                out.extend_from_slice(b"\r\n");
            } else if !says_close {
                out.extend_from_slice(b"connection: close\r\n");
            }
        };
        let date = |out: &mut Vec<u8>| append_date(around, out);
        head::append(&head, body.len(), &mut out, about, date);
        Self {
            head: out,
            body,
            written: 0,
            then: if keeps { Then::Request } else { Then::End },
        }
    }

    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &Rc<HttpConnection>,
    ) -> Poll<io::Result<()>> {
        let whole = self.head.len() + self.body.len();
        while self.written < whole {
            let head = self.head.get(self.written..).unwrap_or_default();
            let in_body = self.written.saturating_sub(self.head.len());
            let body = self.body.get(in_body..).unwrap_or_default();
            let slices = [IoSlice::new(head), IoSlice::new(body)];
            let first = usize::from(head.is_empty());
            let slices = slices.get(first..).unwrap_or_default();
            match ready!(connection.poll_write(cx, slices))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        let around = &connection.around;
        connection.wire.borrow_mut().poll_flush(cx, around)
    }
}

/// Appends the date.
fn append_date(around: &Around, out: &mut Vec<u8>) {
    out.extend_from_slice(b"date: ");
    around.date.append(around.shard.now(), out);
    out.extend_from_slice(b"\r\n");
}
