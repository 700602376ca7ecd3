//! What sessions have written to other connections, until the kernel gets it: how much it is, and the large buffers that it
//! lies in, which are used again while the processor's cache still holds them. Never writes.

use std::cell::{Cell, RefCell};

use super::Env;

/// Those of one I/O shard.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    /// Somebody writes to other connections here.
    used: Cell<bool>,
    /// Emptied buffers, larger than those of other outboxes, and their bytes.
    spare: RefCell<Vec<Vec<u8>>>,
    spare_bytes: Cell<usize>,
    /// Bytes in chunks, at most.
    under_way: Cell<usize>,
}

impl Env {
    /// Memory for what a session is about to write to another connection.
    pub(crate) fn relay_buffer(&self) -> Vec<u8> {
        let Some(large) = self.relays.spare.borrow_mut().pop() else {
            return self.spare_buffer();
        };
        let bytes = &self.relays.spare_bytes;
        bytes.set(bytes.get() - large.capacity());
        large
    }

    /// Keeps a large buffer that is empty, where there is use for it.
    #[inline(never)]
    pub(crate) fn keep_large(&self, buffer: Vec<u8>) {
        let relays = &self.relays;
        let bytes = relays.spare_bytes.get() + buffer.capacity();
        if relays.used.get() && bytes <= SPARE_BYTES && buffer.capacity() <= LARGEST {
            relays.spare_bytes.set(bytes);
            relays.spare.borrow_mut().push(buffer);
        }
    }

    /// So many bytes of it lie in another connection's chunk.
    pub(crate) fn count_relayed(&self, bytes: usize) {
        self.relays.used.set(true);
        let under_way = &self.relays.under_way;
        under_way.set(under_way.get().saturating_add(bytes));
    }

    /// Whether so much is under way that the kernel gets it before more is read.
    #[inline]
    pub(crate) fn relays_much(&self) -> bool {
        self.relays.under_way.get() > UNDER_WAY_BYTES
    }

    /// The kernel got what it takes.
    pub(crate) fn relayed_all(&self) {
        self.relays.under_way.set(0);
    }
}

/// What is relayed before the kernel gets it: together with what is read, and the kernel's own copies of both, this fits into
/// the second-level cache, and yet is the writes of many connections.
const UNDER_WAY_BYTES: usize = 256 * 1024;

/// How large each buffer that is kept may be, for a chunk that is written at once and its last message, and all together.
const LARGEST: usize = 128 * 1024;
const SPARE_BYTES: usize = 8 * UNDER_WAY_BYTES;
