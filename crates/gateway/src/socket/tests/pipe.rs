//! A peer in memory: two byte queues, of which the one to the peer takes as much as the test says.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::stream::Carried;

/// What a test sees and decides of a peer.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) to_gateway: VecDeque<u8>,
    /// The peer has sent its last.
    pub(super) ended: bool,
    pub(super) from_gateway: Vec<u8>,
    /// How often it was asked for more.
    pub(super) reads: usize,
    /// Nothing more is written to it.
    pub(super) shut: bool,
    /// Bytes that may still be written.
    pub(super) room: usize,
}

/// The gateway's end.
#[derive(Debug)]
pub(super) struct Pipe(pub(super) Rc<RefCell<Ends>>);

impl Carried for Pipe {
    fn needs_shutdown(&self) -> bool {
        false
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        ends.reads += 1;
        if ends.to_gateway.is_empty() && !ends.ended {
            return Poll::Pending;
        }
        let count = ends.to_gateway.len().min(buf.remaining());
        let bytes: Vec<u8> = ends.to_gateway.drain(..count).collect();
        buf.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ends = &mut *self.0.borrow_mut();
        let count = bytes.len().min(ends.room);
        if count == 0 {
            return Poll::Pending;
        }
        ends.room -= count;
        ends.from_gateway.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().shut = true;
        Poll::Ready(Ok(()))
    }
}
