//! A peer in memory: two byte queues. The queue to the peer accepts as many bytes as a test allows. Each queue wakes
//! the task that waits for it, like a socket. Only in tests and with the feature `fuzzing`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::stream::Carried;

/// The peer's end, for a test.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    to_gateway: VecDeque<u8>,
    /// Whether the peer has sent its last byte.
    ended: bool,
    /// Whether the peer has vanished: reading and writing fail.
    broken: bool,
    pub(crate) from_gateway: Vec<u8>,
    /// How often the gateway tried to read.
    pub(crate) reads: usize,
    /// Bytes that the gateway may still write.
    pub(crate) room: usize,
    /// Whether the gateway has shut its end down.
    pub(crate) shut: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Ends {
    /// The peer sends bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.to_gateway.extend(bytes);
        wake(&mut self.reader);
    }

    /// Bytes that the gateway has not read yet.
    #[cfg(test)]
    pub(crate) fn unread(&self) -> usize {
        self.to_gateway.len()
    }

    /// The peer reads this many more bytes.
    pub(crate) fn give_room(&mut self, bytes: usize) {
        self.room = self.room.saturating_add(bytes);
        wake(&mut self.writer);
    }

    /// The peer sends nothing more.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        wake(&mut self.reader);
    }

    /// The peer vanishes.
    pub(crate) fn vanish(&mut self) {
        self.broken = true;
        wake(&mut self.reader);
        wake(&mut self.writer);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// The gateway's end.
#[derive(Debug)]
pub(crate) struct Pipe(pub(crate) Rc<RefCell<Ends>>);

impl Carried for Pipe {
    fn needs_shutdown(&self) -> bool {
        false
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ends = &mut *self.0.borrow_mut();
        ends.reads += 1;
        if ends.broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if ends.to_gateway.is_empty() && !ends.ended {
            ends.reader = Some(cx.waker().clone());
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
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let ends = &mut *self.0.borrow_mut();
        if ends.broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(ends.room);
        if count == 0 {
            ends.writer = Some(cx.waker().clone());
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
