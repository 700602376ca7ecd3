//! Output that sessions have written to other connections, until the kernel gets it: its amount, and the large buffers
//! that hold it, which are reused while they are still in the processor's cache. Never writes.

use std::cell::{Cell, RefCell};

use super::Env;

/// The relayed output of one I/O shard.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    /// Whether sessions of this shard write to other connections.
    used: Cell<bool>,
    /// Emptied buffers, which are larger than those of other outboxes, and their bytes.
    spare: RefCell<Vec<Vec<u8>>>,
    spare_bytes: Cell<usize>,
    /// The most bytes that chunks may hold now.
    under_way: Cell<usize>,
}

impl Env {
    /// A buffer for output of a session to another connection.
    pub(crate) fn relay_buffer(&self) -> Vec<u8> {
        let Some(large) = self.relays.spare.borrow_mut().pop() else {
            return self.spare_buffer();
        };
        let bytes = &self.relays.spare_bytes;
        bytes.set(bytes.get() - large.capacity());
        large
    }

    /// Whether large empty buffers are kept for relayed output.
    pub(crate) fn keeps_large(&self) -> bool {
        self.relays.used.get()
    }

    /// Keeps a large empty buffer for relayed output.
    #[inline(never)]
    pub(crate) fn keep_large(&self, buffer: Vec<u8>) {
        let relays = &self.relays;
        let bytes = relays.spare_bytes.get() + buffer.capacity();
        if bytes <= SPARE_BYTES && buffer.capacity() <= LARGEST {
            relays.spare_bytes.set(bytes);
            relays.spare.borrow_mut().push(buffer);
        }
    }

    /// Counts bytes that were appended to another connection's chunk.
    pub(crate) fn count_relayed(&self, bytes: usize) {
        self.relays.used.set(true);
        let under_way = &self.relays.under_way;
        under_way.set(under_way.get().saturating_add(bytes));
    }

    /// Whether so much is buffered that it has to be written before more is read.
    #[inline]
    pub(crate) fn relays_much(&self) -> bool {
        self.relays.under_way.get() > UNDER_WAY_BYTES
    }

    /// Records that the kernel got everything it accepts.
    pub(crate) fn relayed_all(&self) {
        self.relays.under_way.set(0);
    }
}

/// The bytes that are relayed before they are written: together with the input, and the kernel's copies of both, they
/// fit into the second-level cache, and still join the writes of many connections.
const UNDER_WAY_BYTES: usize = 256 * 1024;

/// The largest buffer that is kept, enough for a chunk that is written at once and its last message, and the bytes of
/// all kept buffers.
const LARGEST: usize = 128 * 1024;
const SPARE_BYTES: usize = 8 * UNDER_WAY_BYTES;
