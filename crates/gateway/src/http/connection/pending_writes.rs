//! Answers that leave at the end of the turn: those of many connections are sent with one system call, like messages.
//! Owns the shard's list of such connections, and buffers for their output.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::HttpConnection;
use super::wire::Wire;
use super::write_buffer::WriteBuffer;
use crate::shard::{Part, Shard};
use crate::socket::env::Env;

/// The connections of a shard that wait for the end of the turn.
#[derive(Default)]
pub(in crate::http) struct PendingWrites {
    waiting: RefCell<Vec<Rc<HttpConnection>>>,
    spare: RefCell<Vec<Vec<u8>>>,
}

impl PendingWrites {
    /// A buffer for the output of a connection.
    pub(in crate::http) fn buffer(&self) -> Vec<u8> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Lists a connection for the end of the turn.
    pub(super) fn add(&self, connection: &Rc<HttpConnection>) {
        self.waiting.borrow_mut().push(Rc::clone(connection));
    }

    fn keep(&self, write_buffer: &mut WriteBuffer) {
        if let Some(buffer) = write_buffer.emptied() {
            self.give_back(buffer);
        }
    }

    /// Keeps a buffer for the next output, unless it is large.
    pub(in crate::http) fn give_back(&self, mut buffer: Vec<u8>) {
        let mut spare = self.spare.borrow_mut();
        if buffer.capacity() <= SPARE_BYTES && spare.len() < SPARES {
            buffer.clear();
            spare.push(buffer);
        }
    }
}

impl Part for PendingWrites {
    fn new(_: &Env) -> Self {
        Self::default()
    }

    /// Sends what the connections of this shard have written since the last turn.
    fn turn_ends(&self, shard: &Shard) {
        if !self.waiting.borrow().is_empty() {
            send_all(shard, self);
        }
    }
}

#[inline(never)]
fn send_all(shard: &Shard, pending: &PendingWrites) {
    let mut waiting = std::mem::take(&mut *pending.waiting.borrow_mut());
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    send_together(shard, &waiting);
    for connection in waiting.drain(..) {
        let wire = &mut *connection.wire.borrow_mut();
        wire.write_buffer.queued = false;
        if !wire.write_buffer.is_empty() {
            connection.with_waker(|waker| send_rest(wire, shard, &mut Context::from_waker(waker)));
        }
        pending.keep(&mut wire.write_buffer);
    }
    let mut list = pending.waiting.borrow_mut();
    if list.is_empty() {
        *list = waiting;
    }
}

/// Sends what the kernel accepts; the connection's task sends the rest.
fn send_rest(wire: &mut Wire, shard: &Shard, cx: &mut Context<'_>) {
    if let Poll::Ready(Err(_)) = wire.poll_write_buffer(cx, shard) {
        wire.write_buffer.fail();
        cx.waker().wake_by_ref();
    }
}

/// Passes the output of all of them to the kernel at once.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn send_together(shard: &Shard, waiting: &[Rc<HttpConnection>]) {
    use millrace_sockets::Sent;

    shard.with_ring(waiting, |ring, part| {
        let mut ready: Vec<std::cell::RefMut<'_, Wire>> = part
            .iter()
            .map(|connection| connection.wire.borrow_mut())
            .collect();
        ready.retain(|wire| !wire.write_buffer.is_empty() && wire.bare().is_some());
        let outcome = ring
            .send_each(
                ready
                    .iter()
                    .filter_map(|wire| Some((wire.bare()?, wire.write_buffer.rest()))),
            )
            .map(drop);
        for (wire, sent) in ready.iter_mut().zip(ring.so_far()) {
            if let Sent::Bytes(count) = *sent {
                wire.write_buffer.advance(count);
                shard.count_written(count);
            }
        }
        outcome
    });
}

/// Buffers that are kept for the next answers: how many, and the largest size.
const SPARES: usize = 256;
const SPARE_BYTES: usize = 4 * 1024;
