//! A request's body for endpoints. The part that an endpoint does not read goes back to the connection, which may have
//! to read it before the next request. If no request follows, nobody reads it.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming as Read, SizeHint};

use super::connection::HttpConnection;
use super::h2::Inflow;

/// See the module. The default value is what remains after the body was taken.
#[derive(Default)]
pub(crate) struct Incoming {
    body: Option<Read>,
    connection: Option<Rc<HttpConnection>>,
    /// For a request with a stream of its own, whose bytes are not inspected.
    inflow: Option<Rc<Inflow>>,
}

impl Incoming {
    pub(super) fn new(body: Read, connection: &Rc<HttpConnection>) -> Self {
        // most requests have no body
        let connection = (!body.is_end_stream()).then(|| Rc::clone(connection));
        Self {
            body: Some(body),
            connection,
            inflow: None,
        }
    }

    /// The body of a request with a stream of its own.
    pub(super) fn of_stream(body: Read, inflow: Option<Rc<Inflow>>) -> Self {
        Self {
            body: Some(body),
            connection: None,
            inflow,
        }
    }

    /// Records that no one waits for the peer now, so that the time does not count against the peer.
    pub(crate) fn pause(&self) {
        if let Some(inflow) = &self.inflow {
            inflow.pause();
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let (Some(body), Some(connection)) = (self.body.take(), &self.connection)
            && !body.is_end_stream()
            && !connection.closing.get()
        {
            connection.left.set(Some(body));
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Incoming").field(&self.body).finish()
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { body, inflow, .. } = &mut *self;
        let Some(body) = body else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(body).poll_frame(cx);
        match inflow {
            Some(inflow) => inflow.note(frame),
            None => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
