//! A request's body on its way to the worker, as fast as the worker consumes it.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Buf;
use hyper::body::Body;
use hyper::header::HeaderMap;

use super::pending::Pending;
use super::ticket::{Ticket, room};
use crate::contract::{Handlers, Shard, Turn, spawn};
use crate::fault::Fault;
use crate::http::Incoming;
use crate::limits::SIDECAR_BYTES;

/// Starts to send the worker the body of its request, beginning with what has arrived, while a task waits for the
/// answer.
pub(super) fn start(
    shard: &Rc<Shard>,
    ticket: &Ticket,
    (begun, body): (Vec<u8>, Incoming),
    limit: usize,
) {
    let (shard, pending) = (Rc::clone(shard), Rc::clone(ticket.pending()));
    pending.body.replace(Some(body));
    spawn(Box::pin(run(shard, pending, begun, limit)));
}

/// Tells the worker that the body is cut off if a bug ends the task that sends it.
struct BugGuard {
    shard: Rc<Shard>,
    pending: Rc<Pending>,
}

impl Drop for BugGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shard.count_bug();
            tell(&self.shard, &self.pending, Turn::Broken);
        }
    }
}

async fn run(shard: Rc<Shard>, pending: Rc<Pending>, mut begun: Vec<u8>, limit: usize) {
    let guard = BugGuard { shard, pending };
    let BugGuard { shard, pending } = &guard;
    let mut received = 0_usize;
    shard.hub().faults().hit(Fault::Upload);
    loop {
        let Some(most) = credit(pending).await else {
            return;
        };
        if !room(shard, pending).await {
            return;
        }
        let mut gathered = std::mem::take(&mut begun);
        let gathering =
            poll_fn(|cx| poll_gathered(cx, pending, &mut gathered, most.min(PIECE_BYTES)));
        let last = match gathering.await {
            Some(Ok(last)) => last,
            Some(Err(_)) => return tell(shard, pending, Turn::Broken),
            // the request is over
            None => return,
        };
        received = received.saturating_add(gathered.len());
        if received > limit {
            return tell(shard, pending, Turn::TooLarge);
        }
        {
            let state = &mut *pending.state.borrow_mut();
            if state.over {
                return;
            }
            state.credit = state.credit.saturating_sub(gathered.len());
        }
        pending.progressed(shard.elapsed());
        let queue = pending.worker.queue();
        let trailers = pending.state.borrow_mut().trailers.take_if(|_| last);
        queue.piece(pending.id.get(), gathered, last && trailers.is_none());
        if let Some(trailers) = trailers {
            queue.trailers(pending.id.get(), &trailers);
        }
        shard.ring_later(&pending.worker);
        if last {
            return;
        }
    }
}

/// Waits until the worker has room; `None` once the request is over.
async fn credit(pending: &Pending) -> Option<usize> {
    poll_fn(|cx| {
        let state = &mut *pending.state.borrow_mut();
        if state.over {
            Poll::Ready(None)
        } else if state.credit > 0 {
            Poll::Ready(Some(state.credit))
        } else {
            state.puller = Some(cx.waker().clone());
            Poll::Pending
        }
    })
    .await
}

/// Waits for a piece of the body; `None` once the request is over.
fn poll_gathered(
    cx: &mut Context<'_>,
    pending: &Pending,
    gathered: &mut Vec<u8>,
    most: usize,
) -> Poll<Option<Result<bool, hyper::Error>>> {
    let state = &mut *pending.state.borrow_mut();
    let body = &mut *pending.body.borrow_mut();
    let Some(body) = body.as_mut().filter(|_| !state.over) else {
        return Poll::Ready(None);
    };
    let mut trailers = None;
    let polled = poll_piece(cx, body, gathered, &mut trailers, most);
    if let Some(trailers) = trailers
        && pending.worker.handlers().contains(Handlers::NODE_REQUEST)
    {
        state.trailers = Some(text_of(&trailers));
    }
    if polled.is_pending() {
        // a body that is given back wakes no task: without this waker the task would never end
        state.puller = Some(cx.waker().clone());
    }
    polled.map(Some)
}

/// Takes what has arrived of a small body, without waiting for the client. True: that is all of it.
pub(super) async fn begin(body: &mut Incoming) -> Result<(Vec<u8>, bool), hyper::Error> {
    let mut bytes = Vec::new();
    let mut looked = None;
    let whole = poll_fn(|cx| {
        let polled = poll_piece(cx, body, &mut bytes, &mut None, usize::MAX);
        if matches!(polled, Poll::Ready(Ok(true) | Err(_))) {
            return polled;
        }
        // the connection hands over what it has read only after it was asked, so stop when two looks find the same
        if bytes.len() >= SIDECAR_BYTES || looked.replace(bytes.len()) == Some(bytes.len()) {
            body.pause();
            return Poll::Ready(Ok(false));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await?;
    Ok((bytes, whole))
}

/// Trailers, in the form of the records.
fn text_of(trailers: &HeaderMap) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in trailers {
        super::append(&mut text, name.as_str().as_bytes(), value.as_bytes());
    }
    text
}

/// Gathers what has arrived of a body, up to about `most` bytes. True: the body has ended.
fn poll_piece(
    cx: &mut Context<'_>,
    body: &mut Incoming,
    out: &mut Vec<u8>,
    trailers: &mut Option<HeaderMap>,
    most: usize,
) -> Poll<Result<bool, hyper::Error>> {
    let mut progress = !out.is_empty();
    loop {
        match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(None) => return Poll::Ready(Ok(true)),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(Some(Ok(frame))) => {
                match frame.into_data() {
                    Ok(data) => {
                        progress |= data.has_remaining();
                        out.extend_from_slice(data.chunk());
                    }
                    Err(frame) => *trailers = frame.into_trailers().ok(),
                }
                if body.is_end_stream() {
                    return Poll::Ready(Ok(true));
                }
                if out.len() >= most {
                    return Poll::Ready(Ok(false));
                }
            }
            Poll::Pending if progress => {
                body.pause();
                return Poll::Ready(Ok(false));
            }
            Poll::Pending => return Poll::Pending,
        }
    }
}

fn tell(shard: &Rc<Shard>, pending: &Pending, what: Turn) {
    if !pending.state.borrow().over {
        pending.worker.queue().turn(pending.id.get(), what);
        shard.ring_later(&pending.worker);
    }
}

/// The most bytes of a body in one piece.
const PIECE_BYTES: usize = 64 * 1024;
