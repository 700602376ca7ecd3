//! Counters: one set per I/O shard, written by it alone, summed when somebody asks.

use crate::sync::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What one I/O shard has counted since it started.
        #[derive(Debug, Default)]
        pub(crate) struct ShardStats {
            $($(#[$doc])* pub(crate) $name: Counter,)*
        }

        /// The sums of all I/O shards' counters.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Traffic {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Traffic {
            pub(crate) fn add(&mut self, shard: &ShardStats) {
                $(self.$name += shard.$name.get();)*
            }
        }
    };
}

counters! {
    /// Connections that became sockets.
    opened,
    /// Sockets that closed.
    closed,
    /// Messages received.
    messages_in,
    /// Bytes of messages received, without framing.
    message_bytes_in,
    /// Bytes read.
    bytes_in,
    /// Bytes written.
    bytes_out,
    /// Messages dropped because their socket closed before they were written.
    dropped_by_close,
    /// Messages dropped because an outbox was full.
    dropped_by_overflow,
    /// Sockets closed because their outbox was full.
    overflow_closes,
    /// Connections refused during the handshake.
    refused,
    /// TLS handshakes that failed.
    failed_handshakes,
    /// Peers that did not answer a ping.
    ping_timeouts,
    /// Bugs of ours that ended a connection.
    panics,
}

/// How long handlers took, sampled: bucket `i` counts those below 2^i µs and not below half of it.
#[derive(Debug, Default)]
pub(crate) struct HandlerTimes([AtomicU64; HANDLER_BUCKETS]);

/// Buckets of the handler times; the last also takes everything longer (about 8 s and more).
pub(crate) const HANDLER_BUCKETS: usize = 24;

impl HandlerTimes {
    pub(crate) fn observe(&self, micros: u64) {
        let bits = u64::BITS - micros.leading_zeros();
        let bucket = usize::try_from(bits)
            .unwrap_or(HANDLER_BUCKETS)
            .min(HANDLER_BUCKETS - 1);
        if let Some(count) = self.0.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn counts(&self) -> Vec<u64> {
        self.0
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect()
    }
}

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        // one writer: no read-modify-write is needed
        self.0
            .store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A gateway at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Sums over all I/O shards, ended ones included.
    pub traffic: Traffic,
    /// Connections open now, handshakes included.
    pub connections: usize,
    /// Real sockets open now.
    pub sockets: usize,
    /// Virtual sockets.
    pub virtual_sockets: usize,
    /// Channels with a subscription.
    pub channels: usize,
    /// Subscriptions, each counted once whatever its reference count.
    pub subscriptions: usize,
    /// Keys in the key/value store.
    pub keys: usize,
    /// Deliveries posted.
    pub deliveries: u64,
    /// Deliveries refused because an inbox was full.
    pub deliveries_refused: u64,
    /// Text messages that were no JSON object and so went out without a virtual socket's user data.
    pub unannotated: u64,
    /// Closes that no worker was left to handle.
    pub unhandled_closes: u64,
    /// Bytes held by outboxes.
    pub outbox_bytes: usize,
    /// Running I/O shards.
    pub io_threads: usize,
    /// How long handlers took, sampled: entry `i` counts those below 2^i µs and not below half of
    /// it; the last also takes everything longer.
    pub handler_times: Vec<u64>,
    /// Per worker: id, open connections, events and bytes waiting.
    pub workers: Vec<WorkerStats>,
}

/// A worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Its id.
    pub id: u32,
    /// Connections pinned to it.
    pub connections: u64,
    /// Events told to it so far.
    pub events: u64,
    /// Events waiting in its queue.
    pub queued_events: usize,
    /// Bytes of these.
    pub queued_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handler_times_are_counted_by_powers_of_two() {
        let times = HandlerTimes::default();
        for micros in [0, 1, 2, 3, 4, 1000, u64::MAX] {
            times.observe(micros);
        }
        let counts = times.counts();
        assert_eq!(counts[..4], [1, 1, 2, 1]);
        assert_eq!((counts[10], counts[HANDLER_BUCKETS - 1]), (1, 1));
    }
}
