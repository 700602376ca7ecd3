//! A request's body as endpoints get it. What an endpoint leaves of it goes back to the connection, which may
//! have to read it before the next request.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming as Read, SizeHint};
use tokio::task::AbortHandle;

use super::visit::Visit;

/// See the module.
pub(crate) struct Incoming {
    body: Option<Read>,
    visit: Option<Rc<Visit>>,
    /// Where nobody inspects it: how long it may still be, and what ends its stream when it is longer.
    bound: Option<(u64, AbortHandle)>,
}

impl Incoming {
    pub(super) fn new(body: Read, visit: &Rc<Visit>) -> Self {
        // most requests have none
        let visit = (!body.is_end_stream()).then(|| Rc::clone(visit));
        Self {
            body: Some(body),
            visit,
            bound: None,
        }
    }

    /// Of a request that is a stream of its own.
    pub(super) fn of_stream(body: Read, bound: Option<(u64, AbortHandle)>) -> Self {
        Self {
            body: Some(body),
            visit: None,
            bound,
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let (Some(body), Some(visit)) = (self.body.take(), &self.visit)
            && !body.is_end_stream()
        {
            visit.left.set(Some(body));
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
        let Self { body, bound, .. } = &mut *self;
        let Some(body) = body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let (Some(Ok(frame)), Some((left, task))) = (&frame, bound) {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            if length > *left {
                // the stream is reset, and that is what the next look finds
                task.abort();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            *left -= length;
        }
        Poll::Ready(frame)
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
