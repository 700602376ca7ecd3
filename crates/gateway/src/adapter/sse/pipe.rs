//! The two ends of an event stream: the stream of its socket, and the body of its HTTP answer. What the socket writes becomes
//! events while the body takes them, so that no stream has more of a message than a piece.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use millrace_protocol::sse::Outcome;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::Unframed;
use super::posts::Inbox;
use crate::contract::Carried;
use crate::http::{BodyError, Client};
use crate::permits::Permit;

/// Makes the two ends. The socket reads from the inbox, if it is not only the end, and `unframed` makes events of the frames of
/// `millrace.v1`.
pub(super) fn pipe(
    client: &Rc<Client>,
    inbox: Option<Inbox>,
    unframed: Option<Unframed>,
) -> (PipeEnd, Pipe) {
    let between = Rc::new(RefCell::new(Between {
        unframed,
        ..Between::default()
    }));
    let end = PipeEnd {
        between: Rc::clone(&between),
        inbox,
        carrier: Rc::clone(client),
    };
    let client = Rc::clone(client);
    let pipe = Pipe {
        between,
        left: Box::pin(async move { client.half_closed.wait().await }),
        events: Bytes::new(),
    };
    (end, pipe)
}

/// What the two ends share. It has not reached the peer yet.
#[derive(Debug, Default)]
struct Between {
    unframed: Option<Unframed>,
    /// Events, until they are as many bytes as a piece has.
    events: Vec<u8>,
    /// The socket's stream is gone.
    is_ended: bool,
    /// The body is gone.
    is_left: bool,
    /// Who waits for events, for room, and for the end of the body.
    reader: Option<Waker>,
    writer: Option<Waker>,
    watcher: Option<Waker>,
}

impl Between {
    /// Takes what there is room for. `None`: there is none.
    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        if self.is_left {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.events.len() >= PIPE_BYTES {
            return Ok(None);
        }
        let mut taken = 0;
        for slice in slices {
            let used = self.write_one(slice)?;
            taken += used;
            if used < slice.len() {
                break;
            }
        }
        Ok(Some(taken))
    }

    fn write_one(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self {
            unframed, events, ..
        } = self;
        let room = PIPE_BYTES.saturating_sub(events.len());
        let Some(unframed) = unframed else {
            let bytes = bytes.get(..room).unwrap_or(bytes);
            if events.is_empty() {
                events.reserve_exact(bytes.len());
            }
            events.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        if events.is_empty() {
            events.reserve(bytes.len().min(PIPE_BYTES) + AROUND_BYTES);
        }
        let taken = unframed.append(bytes, PIPE_BYTES, events);
        taken.map_err(|_cut| io::ErrorKind::InvalidData.into())
    }

    fn is_over(&self) -> bool {
        self.is_ended || self.unframed.as_ref().is_some_and(Unframed::is_over)
    }
}

/// The socket's end of the pipe.
pub(super) struct PipeEnd {
    between: Rc<RefCell<Between>>,
    inbox: Option<Inbox>,
    /// The HTTP connection that carries it.
    carrier: Rc<Client>,
}

impl fmt::Debug for PipeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipeEnd").field(&self.between).finish()
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
        let mut between = self.between.borrow_mut();
        if between.is_left {
            return Poll::Ready(Ok(()));
        }
        wait(&mut between.watcher, cx);
        Poll::Pending
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut between = self.between.borrow_mut();
        let Some(taken) = between.write(slices)? else {
            wait(&mut between.writer, cx);
            return Poll::Pending;
        };
        let reader = between.reader.take();
        drop(between);
        wake(reader);
        Poll::Ready(Ok(taken))
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

impl Drop for PipeEnd {
    fn drop(&mut self) {
        let mut between = self.between.borrow_mut();
        between.is_ended = true;
        let reader = between.reader.take();
        drop(between);
        wake(reader);
    }
}

/// The body of the answer: the events of what the shard writes to the socket's stream. Ends with the socket, or when the client
/// has left.
pub(super) struct Pipe {
    between: Rc<RefCell<Between>>,
    left: Pin<Box<dyn Future<Output = ()>>>,
    /// Events that are not passed on yet.
    events: Bytes,
}

impl Pipe {
    /// Waits for what becomes of the subscriptions of a stream of channels, unless that takes long, or its events have to be read
    /// before. False: the client may not have them.
    pub(super) async fn is_allowed(&self) -> bool {
        let settled = poll_fn(|cx| {
            let mut between = self.between.borrow_mut();
            let is_full = between.is_ended || between.events.len() >= PIPE_BYTES;
            let outcome = between.unframed.as_ref().map(Unframed::outcome);
            if outcome == Some(Outcome::Open) && !is_full {
                wait(&mut between.reader, cx);
                return Poll::Pending;
            }
            Poll::Ready(outcome != Some(Outcome::Denied))
        });
        tokio::time::timeout(LONGEST_WAIT, settled)
            .await
            .unwrap_or(true)
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
        if pipe.events.is_empty() {
            let mut between = pipe.between.borrow_mut();
            if between.events.is_empty() {
                if between.is_over() {
                    return Poll::Ready(None);
                }
                wait(&mut between.reader, cx);
                return Poll::Pending;
            }
            pipe.events = std::mem::take(&mut between.events).into();
            let writer = between.writer.take();
            drop(between);
            wake(writer);
        }
        // HTTP/2 keeps what it is given until the peer takes it, and ends a stream that takes too long for a piece
        let length = pipe.events.len().min(PIPE_BYTES);
        let events = pipe.events.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(events))))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let mut between = self.between.borrow_mut();
        between.is_left = true;
        between.events = Vec::new();
        let waiting = [between.writer.take(), between.watcher.take()];
        drop(between);
        for one in waiting {
            wake(one);
        }
    }
}

fn wait(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// So long a stream does not begin while handlers decide: proxies give up on an answer that takes much longer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Bytes between the shard and hyper; the rest waits in the outbox.
const PIPE_BYTES: usize = 16 * 1024;

/// Room for what makes an event of a short message.
const AROUND_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use millrace_protocol::websocket::{Opcode, append_frame};

    use super::*;

    fn between(unframed: Option<Unframed>) -> Between {
        Between {
            unframed,
            ..Between::default()
        }
    }

    /// What a body gets of frames that are offered as an outbox does, and the most bytes that were held for it.
    fn read(mut between: Between, frames: &[Vec<u8>]) -> (Vec<u8>, usize) {
        let (mut all, mut most) = (Vec::new(), 0);
        let (mut index, mut written) = (0, 0);
        while index < frames.len() {
            let rest = frames[index..].iter().enumerate();
            let slices: Vec<_> = rest
                .map(|(place, frame)| &frame[if place == 0 { written } else { 0 }..])
                .map(IoSlice::new)
                .collect();
            let Some(mut taken) = between.write(&slices).unwrap() else {
                all.append(&mut std::mem::take(&mut between.events));
                continue;
            };
            assert!(taken > 0);
            most = most.max(between.events.capacity());
            while index < frames.len() && taken >= frames[index].len() - written {
                taken -= frames[index].len() - written;
                (index, written) = (index + 1, 0);
            }
            written += taken;
        }
        all.append(&mut between.events);
        (all, most)
    }

    #[test]
    fn a_reader_holds_a_piece_of_a_long_message_however_it_is_coded() {
        for (opcode, filler, coded) in [
            (Opcode::Text, "x", "data: {}\ndata: "),
            (Opcode::Text, "\n", "data: {}\ndata: "),
            (Opcode::Text, "\r", "data: {\"b\":2}\ndata: "),
            (Opcode::Binary, "x", "data: {\"b\":1}\ndata: "),
        ] {
            let mut frame = Vec::new();
            let message = format!("{{}}\n{}", filler.repeat(3_000_000));
            append_frame(&mut frame, opcode, message.as_bytes());
            let mut unframed = Unframed::v1(String::new());
            let mut hi = Vec::new();
            append_frame(&mut hi, Opcode::Text, b"{}");
            unframed.append(&hi, 1, &mut Vec::new()).unwrap();
            let (events, most) = read(between(Some(unframed)), &[frame]);
            assert!(events.starts_with(coded.as_bytes()));
            assert!(events.len() > 3_000_000, "{}", events.len());
            assert!(most <= 3 * PIPE_BYTES, "{most} bytes for {filler:?}");
        }
    }

    #[test]
    fn events_that_are_made_already_pass_unchanged_and_in_pieces() {
        let frames: Vec<_> = [5, 40_000, 0, 16_384, 1]
            .map(|length| (0..=255).cycle().take(length).collect())
            .to_vec();
        let (events, most) = read(between(None), &frames);
        assert!(events == frames.concat());
        assert!(most <= PIPE_BYTES, "{most}");
    }

    #[test]
    fn many_short_messages_are_events_in_order() {
        let frames: Vec<_> = (0..5_000)
            .map(|number| {
                let mut frame = Vec::new();
                append_frame(
                    &mut frame,
                    Opcode::Text,
                    format!("{{}}\n{number}").as_bytes(),
                );
                frame
            })
            .collect();
        let mut unframed = Unframed::v1(String::new());
        unframed.append(&frames[0], 1, &mut Vec::new()).unwrap();
        let (events, most) = read(between(Some(unframed)), &frames);
        let each = (0..5_000).map(|number| format!("data: {{}}\ndata: {number}\n\n"));
        assert!(events == each.collect::<Vec<_>>().concat().as_bytes());
        assert!(most <= 3 * PIPE_BYTES, "{most}");
    }
}
