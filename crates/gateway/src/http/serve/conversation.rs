//! hyper at work on one connection: it serves requests until it has nothing left to do, and goes on when it is called
//! again.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::body::Body as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::respond;
use crate::http::connection::{HttpConnection, HyperIo};
use crate::http::{Answer, Client};

/// How hyper goes on.
pub(super) enum Course {
    /// It has nothing to do until the next request comes.
    Idle,
    /// It has ended.
    Over,
    /// The connection is broken.
    Broken,
}

/// Lets hyper read requests and write answers whenever it is called; `answer` has the answer to the next request if that
/// is known. Whether it may be left when it has nothing to do is asked then.
pub(super) fn converse<'c>(
    connection: &'c Rc<HttpConnection>,
    client: &'c Rc<Client>,
    answer: &'c Cell<Option<Box<Answer>>>,
) -> impl FnMut(&mut Context<'_>, &dyn Fn() -> bool) -> Poll<Course> + 'c {
    let limits = &connection.around.service.limits;
    let mut builder = http1::Builder::new();
    builder
        // a peer that leaves is noticed here; a peer that only stops sending still gets its answer
        .half_close(true)
        .auto_date_header(true)
        .header_read_timeout(None)
        .max_buf_size(limits.request_head_bytes.max(BUFFER_BYTES))
        .max_header_size(limits.request_head_bytes);
    let headers = usize::try_from(limits.request_headers).unwrap_or(usize::MAX);
    if headers > HYPER_HEADERS {
        builder.max_headers(headers);
    }
    let service = service_fn(|request| {
        let (connection, client) = (Rc::clone(connection), Rc::clone(client));
        let answer = answer.take().map(|answer| *answer);
        respond(connection, client, request, answer)
    });
    let io = TokioIo::new(HyperIo(Rc::clone(connection)));
    let mut hyper = builder.serve_connection(io, service);
    move |cx, may_leave| {
        {
            let wire = &mut *connection.wire.borrow_mut();
            if wire.send_late(cx, &connection.around).is_err() {
                return Poll::Ready(Course::Broken);
            }
        }
        match Pin::new(&mut hyper).poll(cx) {
            Poll::Ready(Ok(())) => return Poll::Ready(Course::Over),
            Poll::Ready(Err(_)) => return Poll::Ready(Course::Broken),
            Poll::Pending => {}
        }
        read_left(connection, cx);
        let wire = &mut *connection.wire.borrow_mut();
        if wire.clock.is_waiting() {
            let asked = connection.asked.get();
            return if wire.hyper_is_idle(asked) && may_leave() {
                Poll::Ready(Course::Idle)
            } else {
                Poll::Pending
            };
        }
        let broken = wire.poll_ahead(cx, &connection.around).is_err();
        if wire.half_closed {
            client.half_closed.set();
        }
        // a client that has left, or has ended its side before its upgrade is answered, gets no socket
        if broken || wire.half_closed && wire.inspector().is_at_upgrade() {
            return Poll::Ready(Course::Broken);
        }
        Poll::Pending
    }
}

/// Reads on in a body whose request was answered before all of it was read. All of it has arrived, and hyper reads the next
/// request behind it.
fn read_left(connection: &HttpConnection, cx: &mut Context<'_>) {
    let Some(mut body) = connection.left.take() else {
        return;
    };
    loop {
        match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => return,
            Poll::Pending => return connection.left.set(Some(body)),
        }
    }
}

/// How often hyper was left in vain, because the next request needed it as well. A connection whose requests all need it
/// stays for more of them each time.
#[derive(Default)]
pub(super) struct Visits {
    in_vain: u32,
}

impl Visits {
    pub(super) fn returned(&mut self) {
        self.in_vain = MOST_IN_VAIN.min(self.in_vain + 1);
    }

    /// How many requests beyond the first one are left to hyper.
    pub(super) fn more(&self) -> u64 {
        (1 << self.in_vain.saturating_sub(1)) - 1
    }
}

/// After this many returns hyper serves 32 requests before the connection is looked at again.
const MOST_IN_VAIN: u32 = 6;

/// The most bytes that hyper reads or writes at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The number of headers that hyper has room for by default.
const HYPER_HEADERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_always_needs_hyper_leaves_it_rarely() {
        let mut visits = Visits::default();
        let mut more = vec![visits.more()];
        for _ in 0..8 {
            visits.returned();
            more.push(visits.more());
        }
        assert_eq!(more, [0, 0, 1, 3, 7, 15, 31, 31, 31]);
    }
}
