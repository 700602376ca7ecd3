//! The two ends of an event stream: the stream of its socket, and the body of its HTTP answer.

use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::frames::Unframed;
use super::posts::Inbox;
use crate::contract::Carried;
use crate::http::{BodyError, Client};
use crate::permits::Permit;

/// The socket's end of the pipe. What is in the pipe, and what the HTTP connection holds of it, has not reached the
/// peer yet.
pub(super) struct PipeEnd {
    stream: DuplexStream,
    /// What it reads, if it is not only the end.
    inbox: Option<Inbox>,
    /// The HTTP connection that carries it.
    carrier: Rc<Client>,
}

impl PipeEnd {
    pub(super) fn new(stream: DuplexStream, inbox: Option<Inbox>, carrier: &Rc<Client>) -> Self {
        Self {
            stream,
            inbox,
            carrier: Rc::clone(carrier),
        }
    }
}

impl fmt::Debug for PipeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipeEnd").field(&self.stream).finish()
    }
}

impl Carried for PipeEnd {
    fn needs_shutdown(&self) -> bool {
        false
    }

    /// The permit stays taken until the HTTP connection is closed, too.
    fn give_back(&self, permit: Permit) {
        *self.carrier.permit.borrow_mut() = Some(permit);
    }
}

impl AsyncRead for PipeEnd {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(inbox) = &mut self.inbox
            && inbox.read(cx, buf)
        {
            return Poll::Ready(Ok(()));
        }
        // only the end comes this way
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The body of the answer: what the shard writes to the socket's stream. Ends with the socket, or when the client has
/// left.
pub(super) struct Pipe {
    stream: DuplexStream,
    left: Pin<Box<dyn Future<Output = ()>>>,
    /// What makes events of the frames of `millrace.v1`.
    unframed: Option<Unframed>,
    /// Events that are not passed on yet.
    events: Bytes,
}

impl Pipe {
    pub(super) fn new(
        stream: DuplexStream,
        client: &Rc<Client>,
        unframed: Option<Unframed>,
    ) -> Self {
        let client = Rc::clone(client);
        Self {
            stream,
            left: Box::pin(async move { client.half_closed.wait().await }),
            unframed,
            events: Bytes::new(),
        }
    }
}

impl HttpBody for Pipe {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let pipe = self.get_mut();
        if pipe.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        // the buffer is not zeroed, because an event is short
        let mut piece = [MaybeUninit::uninit(); PIPE_BYTES];
        loop {
            if !pipe.events.is_empty() {
                // HTTP/2 keeps what it is given until the peer takes it, and ends a stream that takes too long for a piece
                let length = pipe.events.len().min(PIPE_BYTES);
                let events = pipe.events.split_to(length);
                return Poll::Ready(Some(Ok(Frame::data(events))));
            }
            if pipe.unframed.as_ref().is_some_and(Unframed::is_over) {
                return Poll::Ready(None);
            }
            let mut buffer = ReadBuf::uninit(&mut piece);
            ready!(Pin::new(&mut pipe.stream).poll_read(cx, &mut buffer))?;
            let filled = buffer.filled();
            if filled.is_empty() {
                return Poll::Ready(None);
            }
            // the first part of a long frame is no event
            pipe.events = match &mut pipe.unframed {
                None => Bytes::copy_from_slice(filled),
                Some(unframed) => {
                    let mut events = Vec::new();
                    unframed.append(filled, &mut events);
                    events.into()
                }
            };
        }
    }
}

/// Bytes between the shard and hyper; the rest waits in the outbox.
pub(super) const PIPE_BYTES: usize = 16 * 1024;
