//! Buffers of long messages, which are used again when their last holder drops them: the allocator would return their
//! pages to the system, and each later message would fault them in again. Owns the buffers that wait, up to a bound.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::sync::Mutex;

/// A buffer that returns to where it was taken from.
#[derive(Debug, Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    home: Option<Arc<Blocks>>,
}

/// The buffers that wait for their next use.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// The one that was used last is at the end.
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Blocks {
    /// An empty block with room for `length` bytes, and at most a quarter more.
    pub(crate) fn take(self: &Arc<Self>, length: usize) -> Block {
        let fits = |buffer: &Vec<u8>| (length..=length + length / 4).contains(&buffer.capacity());
        let found = {
            let mut waiting = self.0.lock();
            let place = waiting.buffers.iter().rposition(fits);
            place.map(|place| {
                let buffer = waiting.buffers.remove(place);
                waiting.bytes -= buffer.capacity();
                buffer
            })
        };
        Block {
            bytes: found.unwrap_or_else(|| Vec::with_capacity(length)),
            home: (length <= LONGEST).then(|| Arc::clone(self)),
        }
    }

    /// Frees the buffers that wait.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.0.lock());
        drop(waiting);
    }

    /// Keeps a buffer, and frees those that waited longest if there are too many.
    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut freed = Vec::new();
        let mut waiting = self.0.lock();
        waiting.bytes += buffer.capacity();
        waiting.buffers.push(buffer);
        while waiting.bytes > KEPT_BYTES {
            let oldest = waiting.buffers.remove(0);
            waiting.bytes -= oldest.capacity();
            freed.push(oldest);
        }
        // the allocator may take long
        drop(waiting);
        drop(freed);
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, home: None }
    }
}

impl Deref for Block {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put(std::mem::take(&mut self.bytes));
        }
    }
}

/// The longest buffer that is kept.
const LONGEST: usize = 256 * 1024;

/// The most that all waiting buffers take: as much as a worker's queue holds by default.
const KEPT_BYTES: usize = 2 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(blocks: &Blocks) -> (usize, usize) {
        let waiting = blocks.0.lock();
        (waiting.buffers.len(), waiting.bytes)
    }

    #[test]
    fn a_dropped_block_is_used_again_and_empty() {
        let blocks = Arc::<Blocks>::default();
        let mut block = blocks.take(16_000);
        block.extend_from_slice(b"before");
        let place = block.as_ptr();
        drop(block);
        assert_eq!(waiting(&blocks), (1, 16_000));
        let again = blocks.take(15_000);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        assert_eq!(waiting(&blocks), (0, 0));
    }

    #[test]
    fn what_waits_can_be_freed() {
        let blocks = Arc::<Blocks>::default();
        drop(blocks.take(16_000));
        blocks.clear();
        assert_eq!(waiting(&blocks), (0, 0));
    }

    #[test]
    fn no_block_is_much_larger_than_asked_for_or_smaller() {
        let blocks = Arc::<Blocks>::default();
        drop(blocks.take(10_000));
        let others = [7_999, 10_001].map(|length| (length, blocks.take(length)));
        for (length, other) in &others {
            assert_eq!(other.capacity(), *length);
        }
        assert_eq!(waiting(&blocks), (1, 10_000), "it still waits");
        assert_eq!(blocks.take(8_000).capacity(), 10_000);
    }

    #[test]
    fn what_waits_is_bounded_and_the_oldest_is_freed_first() {
        let blocks = Arc::<Blocks>::default();
        let old = blocks.take(5_000);
        let many: Vec<_> = (0..20).map(|_| blocks.take(LONGEST)).collect();
        drop((old, many));
        assert_eq!(waiting(&blocks), (KEPT_BYTES / LONGEST, KEPT_BYTES));
        let _new = blocks.take(5_000);
        assert_eq!(waiting(&blocks).1, KEPT_BYTES, "the old one is gone");
    }

    #[test]
    fn a_block_of_any_length_beyond_the_longest_is_not_kept() {
        let blocks = Arc::<Blocks>::default();
        drop(blocks.take(LONGEST + 1));
        drop(Block::from(vec![1; 5000]));
        assert_eq!(waiting(&blocks), (0, 0));
    }
}
