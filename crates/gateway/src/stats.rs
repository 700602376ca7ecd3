//! Counters: one set per I/O shard, written only by that shard, and summed on request.

use std::sync::Arc;

use crate::sync::{AtomicU64, AtomicUsize, Ordering, Padded};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters of one I/O shard since it started.
        #[derive(Debug, Default)]
        #[repr(align(128))] // whole pairs of cache lines, which no other thread writes
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
    /// Messages dropped because their recipient's protocol cannot carry messages of their length.
    dropped_by_encoding,
    /// Sockets closed because their outbox was full.
    overflow_closes,
    /// Sockets closed because all messages that were being received took too many bytes.
    inbound_closes,
    /// Connections refused during the handshake.
    refused,
    /// Connections refused because their address had too many, or made them too fast.
    refused_by_address,
    /// Connections refused, after `handleOpen` had accepted them, because their key had too many.
    refused_by_key,
    /// TLS handshakes that failed.
    failed_handshakes,
    /// Connections closed because the header of the PROXY protocol was missing, malformed, late, or from an untrusted address.
    refused_proxy_headers,
    /// HTTP requests answered, including handshakes and refusals.
    requests,
    /// Peers that did not answer a ping.
    ping_timeouts,
    /// Connections ended by a bug in Millrace.
    panics,
}

/// A histogram of durations: bucket `i` counts those below 2^i µs and not below half of it.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
}

/// The last bucket also takes everything longer (about 8 s and more).
const BUCKETS: usize = 24;

/// The counts of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Entry `i` counts durations below 2^i µs and not below half of it; the last one also counts everything longer.
    pub buckets: Vec<u64>,
    /// The sum of all durations, in µs.
    pub sum_micros: u64,
}

impl Histogram {
    pub(crate) fn observe(&self, micros: u64) {
        let bits = u64::BITS - micros.leading_zeros();
        let bucket = usize::try_from(bits).unwrap_or(BUCKETS).min(BUCKETS - 1);
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn times(&self) -> Times {
        let buckets = self.buckets.iter();
        Times {
            buckets: buckets.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum_micros: self.sum_micros.load(Ordering::Relaxed),
        }
    }
}

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        // there is one writer, so no read-modify-write is needed
        self.0
            .store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What compression has done since the gateway was made.
#[derive(Debug, Default)]
pub(crate) struct CompressionCounts {
    counts: Padded<Counts>,
    /// The bytes that connections keep of earlier messages, counted by what reserves them.
    context_bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicU64,
    before: AtomicU64,
    after: AtomicU64,
    skipped: AtomicU64,
}

/// The counters of compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressionStats {
    /// Messages that were compressed, each once for all its recipients that share the frame.
    pub messages: u64,
    /// Bytes of these messages before.
    pub bytes_before: u64,
    /// Bytes of these messages afterwards; a message that did not get shorter counts with its length before.
    pub bytes_after: u64,
    /// Messages that were sent uncompressed because too many bytes waited for the compressing threads.
    pub skipped: u64,
    /// Bytes that connections with context takeover have reserved for earlier messages.
    pub context_bytes: usize,
}

impl CompressionCounts {
    /// Counts a message that was compressed.
    pub(crate) fn count(&self, before: usize, after: usize) {
        let wide = |bytes| u64::try_from(bytes).unwrap_or(u64::MAX);
        self.counts.messages.fetch_add(1, Ordering::Relaxed);
        let counts = &self.counts;
        counts.before.fetch_add(wide(before), Ordering::Relaxed);
        counts.after.fetch_add(wide(after), Ordering::Relaxed);
    }

    /// Counts a message for which the compressing threads had no room.
    pub(crate) fn count_skipped(&self) {
        self.counts.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// The bytes of context takeover; the listeners that reserve some change them.
    pub(crate) fn context_bytes(&self) -> &Arc<AtomicUsize> {
        &self.context_bytes
    }

    pub(crate) fn stats(&self) -> CompressionStats {
        let counts = &self.counts;
        CompressionStats {
            messages: counts.messages.load(Ordering::Relaxed),
            bytes_before: counts.before.load(Ordering::Relaxed),
            bytes_after: counts.after.load(Ordering::Relaxed),
            skipped: counts.skipped.load(Ordering::Relaxed),
            context_bytes: self.context_bytes.load(Ordering::Relaxed),
        }
    }
}

/// The state of a gateway at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Sums over all I/O shards, including ended ones.
    pub traffic: Traffic,
    /// Open connections, including handshakes.
    pub connections: usize,
    /// Open real sockets.
    pub sockets: usize,
    /// Virtual sockets.
    pub virtual_sockets: usize,
    /// Channels with a subscription.
    pub channels: usize,
    /// Patterns with a subscription.
    pub patterns: usize,
    /// Subscriptions, each counted once regardless of its reference count.
    pub subscriptions: usize,
    /// Keys in the key/value store.
    pub keys: usize,
    /// Deliveries posted.
    pub deliveries: u64,
    /// Deliveries refused because an inbox was full.
    pub deliveries_refused: u64,
    /// Text messages that are not JSON objects and were sent without the user data of a virtual socket.
    pub unannotated: u64,
    /// Closes for which no worker was left.
    pub unhandled_closes: u64,
    /// What compression has done.
    pub compression: CompressionStats,
    /// Bytes held by outboxes.
    pub outbox_bytes: usize,
    /// Bytes of messages that are being received.
    pub inbound_bytes: usize,
    /// Running I/O shards.
    pub io_threads: usize,
    /// Errors reported to the application.
    pub errors: u64,
    /// How long handlers took, sampled, including those of ended workers.
    pub handler_times: Times,
    /// The link to other nodes; `None` if there is none.
    pub backplane: Option<millrace_backplane::Stats>,
    /// Channels whose history several nodes share; `None` if there are none.
    pub histories: Option<HistoryStats>,
    /// Channels whose members several nodes share; `None` if there are none.
    pub presence: Option<PresenceStats>,
    /// The workers that take connections.
    pub workers: Vec<WorkerStats>,
}

/// What a node does with a store of histories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryStats {
    /// The state of the link to the store.
    pub state: millrace_backplane::State,
    /// Channels that it follows.
    pub followed: usize,
    /// Bytes of the publications and reads that the store has not answered yet.
    pub waiting_bytes: usize,
    /// Publications that the store has numbered and kept.
    pub stored: u64,
    /// Publications that an idempotency key has dropped.
    pub repeated: u64,
    /// Publications that the store did not take, or of which that is not known.
    pub failed: u64,
    /// Of these, publications of which it is not known.
    pub unknown: u64,
    /// Messages of followed channels that have come from the store.
    pub received: u64,
    /// Messages of other programs in the names of channels, which were dropped.
    pub foreign: u64,
    /// How often a channel was read again because a message was not the next one, or might have been lost.
    pub reread: u64,
    /// How often the subscribers of a channel were told that the store no longer has what they have missed.
    pub gaps: u64,
    /// How often numbers began anew because the store had other messages under known ones.
    pub renewed: u64,
    /// How often the link to the store was lost.
    pub losses: u64,
}

/// What a node does with a store of members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PresenceStats {
    /// The state of the link to the store.
    pub state: millrace_backplane::State,
    /// Channels whose members on other nodes it follows.
    pub followed: usize,
    /// How often this node has begun to write its members: once, and again whenever the store had declared it dead or
    /// had lost everything.
    pub sessions: u64,
    /// How often all members of this node in a channel were written once more.
    pub rewritten: u64,
    /// How often the members of another node in a channel were read once more because a change was missing.
    pub reread: u64,
    /// How often the link to the store was lost.
    pub losses: u64,
}

/// The state of a worker at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Its id.
    pub id: u32,
    /// Connections pinned to it.
    pub connections: u64,
    /// Events passed to it so far.
    pub events: u64,
    /// Events waiting in its queue.
    pub queued_events: usize,
    /// Bytes of the events in its queue.
    pub queued_bytes: usize,
    /// How long its handlers took, sampled.
    pub handler_times: Times,
    /// How long it left its doorbell unanswered, which is how long its event loop was busy with other work.
    pub loop_delays: Times,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_by_powers_of_two() {
        let times = Histogram::default();
        for micros in [0, 1, 2, 3, 4, 1000, 1 << 40] {
            times.observe(micros);
        }
        let Times {
            buckets: counts,
            sum_micros,
        } = times.times();
        assert_eq!(sum_micros, 1010 + (1 << 40));
        assert_eq!(counts[..4], [1, 1, 2, 1]);
        assert_eq!((counts[10], counts[BUCKETS - 1]), (1, 1));
    }
}
