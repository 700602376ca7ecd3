//! The body of an answer that a worker sends in pieces.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::pending::Part;
use super::ticket::Ticket;
use crate::http::{BodyError, Client};

/// See the module. If it is dropped before its end, it tells the worker that the client left.
pub(super) struct AnswerBody {
    ticket: Ticket,
    /// Completes when the client sends nothing more.
    leaves: Pin<Box<dyn Future<Output = ()>>>,
    ended: bool,
}

/// The worker aborted its answer.
#[derive(Debug, thiserror::Error)]
#[error("the worker aborted the answer")]
struct GivenUp;

impl AnswerBody {
    pub(super) fn new(ticket: Ticket, client: Rc<Client>) -> Self {
        Self {
            ticket,
            leaves: Box::pin(async move { client.half_closed.wait().await }),
            ended: false,
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let body = &mut *self;
        body.ticket.poll_leaving(cx, body.leaves.as_mut());
        match self.ticket.pending().poll_part(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Part::Piece(piece)) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            Poll::Ready(Part::End) => {
                self.ended = true;
                self.ticket.close();
                Poll::Ready(None)
            }
            Poll::Ready(Part::Broken) => {
                self.ended = true;
                self.ticket.close();
                Poll::Ready(Some(Err(Box::new(GivenUp))))
            }
        }
    }
}
