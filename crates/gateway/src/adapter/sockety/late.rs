//! Short packets for which the outbox has no room: answers of two bytes, signs of life, and that a message is given up. They wait for
//! no channel. Owns their order.

use std::collections::VecDeque;

use crate::contract::Context;
use crate::limits::ENTRY_CHARGE;

/// Those of one connection.
#[derive(Debug, Default)]
pub(super) struct Late {
    packets: VecDeque<Packet>,
    /// Their bytes, and what each costs beside these.
    charge: usize,
}

#[derive(Debug)]
struct Packet {
    bytes: Box<[u8]>,
    /// It belongs to a message, so that it cannot be dropped alone.
    is_part: bool,
}

impl Late {
    /// Whether any waits, and so everything that is to come behind it.
    pub(super) fn is_waiting(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Whether a packet of so many bytes has to wait.
    pub(super) fn has_to_wait(&self, bytes: usize, cx: &mut Context<'_>) -> bool {
        // whom so much waits for does not read at all
        self.charge < MOST_BYTES && (self.is_waiting() || !cx.fits(bytes, 0))
    }

    /// One that has to wait; `is_part`: of a message.
    pub(super) fn push(&mut self, bytes: Vec<u8>, is_part: bool) {
        self.charge += bytes.len() + ENTRY_CHARGE;
        self.packets.push_back(Packet {
            bytes: bytes.into(),
            is_part,
        });
    }

    /// Sends a packet of so many bytes at most, or keeps it until there is room.
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

    /// Sends those that wait, as far as there is room.
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

/// Bytes of a fast reply on the wire, at most.
pub(super) const FAST_REPLY_BYTES: usize = 18;

/// Bytes that wait, before they are sent whatever the outbox has room for.
const MOST_BYTES: usize = 1024 * 1024;
