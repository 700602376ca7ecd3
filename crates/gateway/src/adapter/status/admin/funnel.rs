//! Between a tap's socket and the answer that carries its lines: takes everything at once, so that a browser that reads
//! slowly never fills an outbox, and drops whole lines that would not fit. What is dropped is counted and told.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as HttpBody, Frame};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::contract::Carried;
use crate::http::{BodyError, Client};
use crate::permits::Permit;

/// Makes the two ends, for lines of which at most `most` bytes wait.
pub(super) fn funnel(client: &Rc<Client>, most: usize) -> (Mouth, Spout) {
    let shared = Rc::new(RefCell::new(Funnel {
        most,
        ..Funnel::default()
    }));
    let mouth = Mouth {
        funnel: Rc::clone(&shared),
        carrier: Rc::clone(client),
    };
    let client = Rc::clone(client);
    let spout = Spout {
        funnel: shared,
        left: Box::pin(async move { client.half_closed.wait().await }),
    };
    (mouth, spout)
}

/// What the two ends share.
#[derive(Debug, Default)]
struct Funnel {
    most: usize,
    /// Whole lines that wait.
    lines: BytesMut,
    /// The begin of a line whose end is not written yet.
    begun: Vec<u8>,
    dropped: u64,
    /// How many of them the reader was told of.
    told: u64,
    /// The socket's stream is gone.
    is_ended: bool,
    /// The answer is gone.
    is_left: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Funnel {
    fn write(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.begun.is_empty() {
                self.add(line);
            } else {
                self.begun.extend_from_slice(line);
                let whole = std::mem::take(&mut self.begun);
                self.add(&whole);
            }
        }
        // a line has a greatest length
        self.begun.extend_from_slice(bytes);
        wake(&mut self.reader);
    }

    fn add(&mut self, line: &[u8]) {
        if line.starts_with(MESSAGE) && self.lines.len() + line.len() > self.most {
            self.dropped += 1;
        } else if line.len() > 1 || self.lines.is_empty() {
            // a sign of life is needed only if nothing else waits
            if let Some(notice) = self.notice() {
                self.lines.extend_from_slice(&notice);
            }
            self.lines.extend_from_slice(line);
        }
    }

    /// The line that tells how many were dropped so far, if that is news.
    fn notice(&mut self) -> Option<Bytes> {
        let is_news = self.dropped != self.told;
        self.told = self.dropped;
        is_news.then(|| format!("{{\"dropped\":{}}}\n", self.dropped).into())
    }

    /// What the reader gets next.
    fn read(&mut self) -> Option<Bytes> {
        let full = self.lines.len().min(PIECE_BYTES);
        if full > 0 {
            return Some(self.lines.split_to(full).freeze());
        }
        self.lines = BytesMut::new();
        self.notice()
    }
}

/// The socket's end.
pub(super) struct Mouth {
    funnel: Rc<RefCell<Funnel>>,
    /// The HTTP connection that carries it.
    carrier: Rc<Client>,
}

/// The body of the answer.
pub(super) struct Spout {
    funnel: Rc<RefCell<Funnel>>,
    left: Pin<Box<dyn Future<Output = ()>>>,
}

impl fmt::Debug for Mouth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mouth").finish_non_exhaustive()
    }
}

impl Carried for Mouth {
    fn needs_shutdown(&self) -> bool {
        false
    }

    /// The permit stays taken until the HTTP connection is closed, too.
    fn give_back(&self, permit: Permit) {
        *self.carrier.permit.borrow_mut() = Some(permit);
    }
}

impl Drop for Mouth {
    fn drop(&mut self) {
        let mut funnel = self.funnel.borrow_mut();
        funnel.is_ended = true;
        wake(&mut funnel.reader);
    }
}

impl AsyncRead for Mouth {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut funnel = self.funnel.borrow_mut();
        if funnel.is_left {
            return Poll::Ready(Ok(()));
        }
        funnel.writer = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for Mouth {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut funnel = self.funnel.borrow_mut();
        if funnel.is_left {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        for slice in slices {
            funnel.write(slice);
        }
        Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for Spout {
    fn drop(&mut self) {
        let mut funnel = self.funnel.borrow_mut();
        funnel.is_left = true;
        funnel.lines = BytesMut::new();
        wake(&mut funnel.writer);
    }
}

impl HttpBody for Spout {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let spout = self.get_mut();
        if spout.left.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let mut funnel = spout.funnel.borrow_mut();
        match funnel.read() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            None if funnel.is_ended => Poll::Ready(None),
            None => {
                funnel.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// How the lines of messages begin. Only they are dropped: the others are few and short.
pub(super) const MESSAGE: &[u8] = b"{\"kind\"";

/// The most bytes of one piece of the body.
const PIECE_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(funnel: &mut Funnel) -> Vec<u8> {
        std::iter::from_fn(|| funnel.read()).flatten().collect()
    }

    fn message(number: usize) -> String {
        format!("{{\"kind\":\"text\",\"n\":{number:03}}}\n")
    }

    #[test]
    fn lines_pass_in_order_however_they_are_cut() {
        for cut in 1..30 {
            let mut funnel = Funnel {
                most: 1000,
                ..Funnel::default()
            };
            let all = format!("{{\"tap\":1}}\n\n{}{}", message(1), message(2));
            for piece in all.as_bytes().chunks(cut) {
                funnel.write(piece);
            }
            let expected = format!("{{\"tap\":1}}\n{}{}", message(1), message(2));
            assert_eq!(read_all(&mut funnel), expected.as_bytes(), "{cut}");
        }
    }

    #[test]
    fn what_does_not_fit_is_dropped_whole_counted_and_told_where_it_is_missing() {
        let mut funnel = Funnel {
            most: 2 * message(0).len(),
            ..Funnel::default()
        };
        for number in 0..5 {
            funnel.write(message(number).as_bytes());
        }
        assert_eq!(funnel.lines.len(), funnel.most);
        let mut expected = [message(0), message(1), "{\"dropped\":3}\n".into()].concat();
        assert_eq!(read_all(&mut funnel), expected.as_bytes());
        for number in 5..8 {
            funnel.write(message(number).as_bytes());
        }
        funnel.write(b"{\"closed\":1001}\n");
        expected = [message(5), message(6), "{\"dropped\":4}\n".into()].concat();
        expected.push_str("{\"closed\":1001}\n");
        assert_eq!(read_all(&mut funnel), expected.as_bytes());
        assert!(funnel.read().is_none());
    }

    #[test]
    fn a_sign_of_life_alone_is_passed_on() {
        let mut funnel = Funnel::default();
        funnel.write(b"\n");
        funnel.write(b"\n");
        assert_eq!(read_all(&mut funnel), b"\n");
    }
}
