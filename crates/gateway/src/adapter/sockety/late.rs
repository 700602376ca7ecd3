//! Short packets that wait for room in the outbox: fast replies, heartbeats and aborts. They need no channel. Keeps their
//! order.

use std::collections::VecDeque;

use crate::contract::Context;
use crate::limits::ENTRY_CHARGE;

/// The waiting packets of one connection.
#[derive(Debug, Default)]
pub(super) struct Late {
    packets: VecDeque<Packet>,
    /// Their bytes, with the overhead of each packet.
    charge: usize,
}

#[derive(Debug)]
struct Packet {
    bytes: Box<[u8]>,
    /// Whether the packet belongs to a message and so cannot be dropped alone.
    is_part: bool,
}

impl Late {
    /// Whether a packet waits. Everything that comes after it has to wait, too.
    pub(super) fn is_waiting(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Whether a packet of this size has to wait.
    pub(super) fn has_to_wait(&self, bytes: usize, cx: &mut Context<'_>) -> bool {
        // a peer for which this much waits does not read: the limit of the outbox applies then
        self.charge < MOST_BYTES && (self.is_waiting() || !cx.fits(bytes, 0))
    }

    /// Appends a packet that has to wait; `is_part`: it belongs to a message.
    pub(super) fn push(&mut self, bytes: Vec<u8>, is_part: bool) {
        self.charge += bytes.len() + ENTRY_CHARGE;
        self.packets.push_back(Packet {
            bytes: bytes.into(),
            is_part,
        });
    }

    /// Sends a packet of at most this size, or keeps it until there is room.
    pub(super) fn send(
        &mut self,
        bytes: usize,
        cx: &mut Context<'_>,
        append: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.has_to_wait(bytes, cx) {
            let mut packet = Vec::new();
            append(&mut packet);
            self.push(packet, false);
        } else {
            cx.send(append);
        }
    }

    /// Sends waiting packets while there is room.
    pub(super) fn send_waiting(&mut self, cx: &mut Context<'_>) {
        while let Some(first) = self.packets.front()
            && cx.fits(first.bytes.len(), 0)
            && let Some(Packet { bytes, is_part }) = self.packets.pop_front()
        {
            self.charge -= bytes.len() + ENTRY_CHARGE;
            if is_part {
                cx.send_part(|out| out.extend_from_slice(&bytes));
            } else {
                cx.send(|out| out.extend_from_slice(&bytes));
            }
        }
    }
}

/// The most bytes of a fast reply on the wire.
pub(super) const FAST_REPLY_BYTES: usize = 18;

/// The most bytes that wait. Further packets are sent without regard to the room in the outbox.
const MOST_BYTES: usize = 1024 * 1024;
