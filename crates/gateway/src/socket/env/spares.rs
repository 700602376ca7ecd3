//! Emptied buffers of outboxes, for their next use, up to bounds.

use super::Env;

/// On a shard that relays, larger ones are kept for relayed output.
const RELAYED_BYTES: usize = 4096;

/// The buffers that are kept: at most 4 MiB. Only the bytes of longer ones are counted, so that a short message costs no
/// counting.
const SPARE_BUFFERS: usize = 1024;
const SHORT: usize = 2048;
const LONG_BYTES: usize = 2 * 1024 * 1024;
const _: () = assert!(SPARE_BUFFERS * SHORT + LONG_BYTES <= 4 * 1024 * 1024);

impl Env {
    /// A buffer for the output of a connection.
    pub(crate) fn spare_buffer(&self) -> Vec<u8> {
        let Some(buffer) = self.spare.borrow_mut().pop() else {
            return Vec::new();
        };
        if buffer.capacity() > SHORT {
            let bytes = &self.long_spare_bytes;
            bytes.set(bytes.get() - buffer.capacity());
        }
        buffer
    }

    /// Keeps an empty buffer, if there is room.
    #[inline]
    pub(crate) fn keep_spare(&self, buffer: Vec<u8>) {
        if buffer.capacity() > SHORT {
            return self.keep_long_spare(buffer);
        }
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_BUFFERS {
            spare.push(buffer);
        }
    }

    #[inline(never)]
    fn keep_long_spare(&self, buffer: Vec<u8>) {
        if buffer.capacity() > RELAYED_BYTES && self.keeps_large() {
            return self.keep_large(buffer);
        }
        let bytes = self.long_spare_bytes.get() + buffer.capacity();
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_BUFFERS && bytes <= LONG_BYTES {
            self.long_spare_bytes.set(bytes);
            spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use millrace_core::ShardIndex;

    use super::Env;
    use crate::frame::Encodings;
    use crate::hub::Hub;
    use crate::limits::GatewayLimits;

    #[test]
    fn kept_buffers_are_bounded_by_their_number_and_their_bytes() {
        let hub = Arc::new(Hub::new(Arc::new(Encodings::new())));
        let limits = GatewayLimits::default();
        let env = Env::new(ShardIndex::FIRST, hub, limits, Arc::default());
        for _ in 0..100 {
            env.keep_spare(Vec::with_capacity(64 * 1024));
        }
        assert_eq!(env.spare.borrow().len(), 32);
        for _ in 0..2000 {
            env.keep_spare(Vec::with_capacity(100));
        }
        assert_eq!(env.spare.borrow().len(), 1024);
        for _ in 0..1024 {
            assert!(env.spare_buffer().capacity() > 0);
        }
        assert_eq!(
            (env.long_spare_bytes.get(), env.spare_buffer().capacity()),
            (0, 0)
        );
    }
}
