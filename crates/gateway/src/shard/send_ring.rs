//! Writes to many connections with one system call, if the kernel has `io_uring`: output that is ready in one piece is
//! sent before the turn handles each connection. The ordinary write that follows sends the rest and reports errors.

use std::cell::RefMut;

use millrace_sockets::{SendRing as Ring, Sent};

use super::Shard;
use crate::socket::connection::{Io, Shared};

/// A shard's ring.
#[derive(Debug)]
pub(super) enum SendRing {
    /// Not made so far, because it was not needed.
    Unmade,
    Ready(Box<Ring>),
    /// The kernel or the configuration refuses it.
    Without,
}

impl SendRing {
    pub(super) fn new(wanted: bool) -> Self {
        if wanted { Self::Unmade } else { Self::Without }
    }
}

impl Shard {
    /// Writes the output of these connections that is ready in one piece.
    pub(super) fn send_together(&self, connections: &[Shared]) {
        self.with_ring(connections, |ring, part| self.write_part(ring, part));
    }

    /// Whether the turn's writes may be sent together.
    pub(crate) fn has_ring(&self) -> bool {
        !matches!(*self.send_ring.borrow(), SendRing::Without)
    }

    /// Lends the ring for connections that have something to send, if there are enough of them, in groups that fit into
    /// it. After an error there is no ring any more.
    pub(crate) fn with_ring<C>(
        &self,
        connections: &[C],
        mut send: impl FnMut(&mut Ring, &[C]) -> std::io::Result<()>,
    ) {
        if connections.len() < FEWEST {
            return;
        }
        let mut ring_state = self.send_ring.borrow_mut();
        if matches!(*ring_state, SendRing::Unmade) {
            // on this thread, because a ring belongs to the thread that makes it
            *ring_state =
                Ring::new(MOST).map_or(SendRing::Without, |ring| SendRing::Ready(Box::new(ring)));
        }
        let SendRing::Ready(ring) = &mut *ring_state else {
            return;
        };
        for part in connections.chunks(usize::try_from(MOST).unwrap_or(usize::MAX)) {
            if send(ring, part).is_err() {
                *ring_state = SendRing::Without;
                return;
            }
        }
    }

    fn write_part(&self, ring: &mut Ring, connections: &[Shared]) -> std::io::Result<()> {
        let mut ready: Vec<RefMut<'_, Io>> = connections
            .iter()
            .map(|connection| connection.io.borrow_mut())
            .filter(|io| {
                !io.times.is_blocked()
                    // the last output leaves with the end of the stream
                    && !io.ends_behind_output()
                    && io
                        .stream
                        .as_ref()
                        .is_some_and(|stream| stream.bare().is_some())
            })
            .filter(|io| io.outbox.single().is_some())
            .collect();
        if ready.len() < FEWEST {
            return Ok(());
        }
        let sends = ready.iter().filter_map(|io| {
            let (stream, bytes) = (io.stream.as_ref()?, io.outbox.single()?);
            Some((stream.bare()?, bytes))
        });
        let outcome = ring.send_each(sends).map(drop);
        let mut total = 0;
        for (io, sent) in ready.iter_mut().zip(ring.so_far()) {
            if let Sent::Bytes(count) = *sent {
                io.outbox.advance_single(count, self.ledger());
                total += count;
            }
        }
        self.count_written(total);
        outcome
    }
}

/// The most sends of one call.
const MOST: u32 = 256;

/// With fewer connections, a ring is not faster than one send for each.
const FEWEST: usize = 4;
