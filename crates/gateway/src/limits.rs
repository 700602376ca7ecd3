//! The limits that belong to no single protocol: names, defaults, ranges, and what happens when they are met. Contains
//! no behaviour. The submodules define how a table is written and set. A protocol's own tables are in its folder;
//! `docs/limits.md` and `js/src/options/limits.generated.ts` are generated from all tables.

pub(crate) mod table;
mod values;

use std::time::Duration;

pub use millrace_backplane::BackplaneFull;
pub(crate) use table::limits;
pub use table::{LimitError, Table};
pub(crate) use values::LimitReader;
pub use values::LimitValues;

/// What happens to a socket whose outbox is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutboxPolicy {
    /// The socket is closed with 1013.
    #[default]
    Close,
    /// The newest messages are dropped and counted.
    DropNewest,
    /// The oldest messages not yet begun are dropped and counted.
    DropOldest,
}

/// The greatest limit on a number of things.
pub(crate) const COUNT: u64 = 4_294_967_295;

/// The greatest limit on a number of bytes.
pub(crate) const BYTES: u64 = 1024 * 1024 * 1024 * 1024;

/// One day in milliseconds: longer than any sensible timeout, short enough for every timer.
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;

limits! {
    /// Limits of each listener, for every protocol.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ListenerLimits {
        /// Time from accepting a connection to the end of its handshake, including the answer of `handleOpen`; also the time for the head of any HTTP request, and for the password (RESP).
        handshake_timeout: Duration = Duration::from_secs(10), 1..=DAY, "a head gets HTTP 408, a handshake is closed";
        /// Bytes of a message, inclusive, fragmented or not; an empty fragment counts 16. Sockety has `message_head_bytes` and `buffered_bytes` in its place.
        message_bytes: usize = 16 * 1024 * 1024, 1..=2_147_483_647, "closed with 1009";
        /// Time from a message's first byte to its last; a message that arrives with at least 1 KiB/s may take longer.
        message_deadline: Duration = Duration::from_secs(60), 1..=DAY, "closed with 1008";
        /// Silence after which a ping is sent (WebSocket, Server-Sent Events); zero is off.
        ping_interval: Duration = Duration::from_secs(25), 0..=DAY, "a ping is sent";
        /// Time to answer a ping (WebSocket); complete frames count as an answer, and so do the bytes of a long frame while they arrive with at least 1 KiB/s.
        pong_timeout: Duration = Duration::from_secs(10), 1..=DAY, "closed with 1006";
        /// Time without a message in either direction (Sockety: and without a heartbeat of the client); zero is off.
        idle_timeout: Duration = Duration::ZERO, 0..=DAY, "closed with 1000";
        /// Channels and patterns that one connection is subscribed to by its own commands (RESP), or that one socket is subscribed to in all, when its client subscribes itself (`millrace.v1`).
        subscriptions_per_socket: usize = 10_000, 1..=COUNT, "the command is refused whole with an error";
        /// Calls of one client (`millrace.v1`) that are not answered yet, and as many calls to it; also its subscriptions and publications that wait for a handler.
        calls_per_socket: usize = 128, 1..=COUNT, "the call fails with the code `limit`; with so many subscriptions and publications reading pauses, or, while the client has a call to answer, more of them fail with `limit`";
        /// Messages per second of one connection (Sockety: also responses, fast replies, files and heartbeats); zero is off.
        messages_per_second: u32 = 0, 0..=COUNT, "reading pauses";
    }
}

limits! {
    /// Limits of a gateway, fixed by its first start.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct GatewayLimits {
        /// Connections open at once, including handshakes; a client that leaves during `handleOpen` counts until the handler has ended.
        connections: u32 = 100_000, 1..=COUNT, "accepting waits";
        /// Connections of one remote address, or of one IPv6 network (/64); zero is off.
        connections_per_address: u32 = 0, 0..=COUNT, "HTTP 503";
        /// Connections per second that this node accepts, on all listeners together, up to a second's worth at once; zero is off.
        connections_per_second: u32 = 0, 0..=COUNT, "accepting waits";
        /// Connections per second of one remote address, or of one IPv6 network (/64), on this node, up to a second's worth at once; zero is off.
        connections_per_second_per_address: u32 = 0, 0..=COUNT, "HTTP 503";
        /// Connections of one key on this node, the `limitKey` that `handleOpen` returns; zero is off.
        connections_per_key: u32 = 0, 0..=COUNT, "HTTP 503, and `handleClose` with 1013";
        /// Messages per second of all connections of one key on this node together, up to a second's worth at once, counted as for `messages_per_second`; zero is off.
        messages_per_second_per_key: u32 = 0, 0..=COUNT, "reading pauses";
        /// Bytes that wait in a socket's outbox behind the message that is being written, each entry charged its length + 64, checked after an attempted write; replies to commands (RESP) are not counted.
        outbox_bytes: usize = 4 * 1024 * 1024, 1..=BYTES, "the outbox policy";
        /// Messages that wait in a socket's outbox behind the one that is being written.
        outbox_frames: usize = 65_536, 1..=COUNT, "the outbox policy";
        /// What happens at `outbox_bytes` and `outbox_frames`.
        outbox_policy: OutboxPolicy = OutboxPolicy::Close, "closed with 1013, or messages are dropped and counted";
        /// Bytes in a socket's outbox above which it is not read.
        outbox_read_pause_bytes: usize = 256 * 1024, 1..=BYTES, "reading pauses until it drains";
        /// Bytes held by all outboxes together.
        outboxes_total_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the fullest are closed with 1013; a reply over 64 KiB (RESP) that would not fit is an error instead";
        /// Bytes of all messages and commands (RESP) that are being received, and of contents (Sockety) that wait for their worker, not counting those of which less than 1 KiB has arrived.
        inbound_total_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the connection with the most is not read; it is closed with 1013 if that frees no room within a second, or once the others exceed the limit by an eighth. POSTs of event streams take at most half of it, and one that has no room is answered with 503";
        /// Bytes of messages over 16 KiB that wait for their compression on other threads, each charged its length + 64.
        compression_queue_bytes: usize = 16 * 1024 * 1024, 1..=BYTES, "the message is sent uncompressed and counted";
        /// Bytes of messages that channels with history keep, each charged its length + 128 and its `idempotencyKey`, and each such channel the length of its name + 512.
        history_bytes: usize = 64 * 1024 * 1024, 1..=BYTES, "the histories of the channels that were published to longest ago are dropped as a whole; a channel that exceeds it alone loses its own";
        /// Channels with history that keep messages and have no subscriber.
        history_channels: u32 = 100_000, 1..=COUNT, "the history of the one that was published to longest ago is dropped";
        /// Bytes of what the members of channels with presence say of themselves, each `info` charged its length + 128; one that several sockets got by one call is charged once. Members of other nodes that this one knows count, too, with and without `info`.
        presence_bytes: usize = 64 * 1024 * 1024, 1..=BYTES, "a further `info` is refused: `limit` on the wire, `ERR_MILLRACE_PRESENCE_FULL` in JavaScript; a further member of another node is left out, and reported";
        /// Members of a channel with presence above which subscribers are told only their number; also its changes within 50 ms above which they are told the number in place of the changes.
        presence_events: usize = 1_000, 1..=COUNT, "`count` is told";
        /// Time without progress of a blocked write.
        write_timeout: Duration = Duration::from_secs(30), 1..=DAY, "the connection is cut";
        /// Events of one socket that its worker has not handled yet.
        unhandled_events: u32 = 64, 1..=COUNT, "reading pauses, and with it the pong deadline";
        /// Bytes of one socket's unhandled events; one message always fits.
        unhandled_bytes: usize = 1024 * 1024, 1..=BYTES, "reading pauses, and with it the pong deadline";
        /// Events waiting for one worker; events of opening and closing connections have the same limit once more for themselves.
        worker_queue_events: usize = 16_384, 1..=COUNT, "reading pauses; a new connection goes to another worker, or gets HTTP 503 if there is none";
        /// Bytes of the events waiting for one worker; events of opening and closing connections have the same limit once more for themselves.
        worker_queue_bytes: usize = 2 * 1024 * 1024, 1..=BYTES, "reading pauses; a new connection goes to another worker, or gets HTTP 503 if there is none";
        /// Requests of one worker that wait for the rest of their answers.
        worker_requests: usize = 16_384, 1..=COUNT, "HTTP 503";
        /// Bytes posted to one I/O shard and not yet processed, a message for several of its sockets counted once; from a quarter of it on, at most 4 MiB, workers stop taking events.
        shard_inbox_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the delivery is refused, counted and reported, the subscription is refused with `ERR_MILLRACE_OVERLOADED`";
        /// Time a worker may leave its doorbell unanswered; zero is off, as it is with `threads: 0`.
        worker_timeout: Duration = Duration::from_secs(3), 0..=DAY, "the worker is replaced";
        /// Messages to other nodes that wait for the backplane.
        backplane_queue: usize = 65_536, 1..=COUNT, "the oldest is dropped and counted";
        /// Bytes of messages to other nodes that wait for the backplane, each charged its length + 64.
        backplane_queue_bytes: usize = 64 * 1024 * 1024, 1..=BYTES, "the oldest are dropped and counted";
        /// What happens while more than a quarter of `backplane_queue` or `backplane_queue_bytes` is in use; `send` never waits.
        backplane_full: BackplaneFull = BackplaneFull::Wait, "workers take no events and Redis clients wait, for a second at most; with `'drop'` neither waits";
        /// Bytes of one message to or from other nodes.
        backplane_message_bytes: usize = 16 * 1024 * 1024, 1..=512 * 1024 * 1024, "it is dropped and counted";
        /// Time that a closing connection may take to write what is queued, and again for its closing handshake. The close waits as long for handlers of earlier messages. While a listener stops, the time of the stop applies to what is queued.
        close_timeout: Duration = Duration::from_secs(5), 1..=DAY, "the connection is cut";
    }
}

limits! {
    /// Limits of a gateway that its JavaScript threads enforce, fixed by its first start.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ScriptLimits {
        /// Time a worker may take to import its module and finish `handleStart`; enforced by the thread that starts it; zero is off.
        worker_start_timeout: Duration = Duration::from_secs(60), 0..=DAY, "its thread is ended: `start` fails, and a replacement is started again";
        /// Time a handler's promise may be pending; enforced by the workers; zero is off.
        handler_timeout: Duration = Duration::from_secs(5), 0..=DAY, "closed with 1011";
    }
}

limits! {
    /// Limits that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FixedLimits {
        /// Bytes of a channel's name; the empty name is valid.
        channel_name_bytes: usize = 64 * 1024, "refused with a `TypeError`";
        /// Bytes of a pattern.
        pattern_bytes: usize = 1_024, "refused with a `TypeError`";
        /// Patterns with a subscription.
        patterns: usize = 65_536, "a further one is refused with `ERR_MILLRACE_TOO_MANY_PATTERNS`";
        /// Bytes of an `idempotencyKey`, at least one.
        idempotency_key_bytes: usize = 64, "refused with a `TypeError`";
        /// Bytes of the JSON of a member's `info`.
        presence_info_bytes: usize = 4_096, "refused: `limit` on the wire, a `TypeError` in JavaScript";
        /// Bytes of a token.
        token_bytes: usize = 1024 * 1024, "refused with a `TypeError`";
        /// Bytes of a `limitKey`, at least one.
        limit_key_bytes: usize = 256, "HTTP 500, and the error is reported";
        /// Addresses without a connection whose connections per second are still remembered, for a second or two; and in the same way keys with their messages per second.
        idle_rates: usize = 65_536, "the oldest is forgotten";
        /// Time that workers and Redis clients wait for a backplane that does not keep up.
        backplane_wait: Duration = Duration::from_secs(1), "they continue, and messages that do not fit into the queue are dropped and counted";
        /// Calls of `drained` and `call` that wait, in all threads of a gateway; a call of `sendStream` counts twice until it begins, and then once.
        drain_waits: usize = 65_536, "a further one is rejected with `ERR_MILLRACE_TOO_MANY_WAITS`";
        /// Bytes of the answers of clients to `call` that the calling thread has not taken, of all clients together; those of one client may be as long together as one message (`message_bytes`). One answer always fits.
        call_answer_bytes: usize = 64 * 1024 * 1024, "the call fails with the code `limit`";
        /// Lines that the I/O threads have logged and JavaScript has not taken yet.
        log_lines_waiting: usize = 1_024, "the line is dropped and counted";
        /// Lines that the I/O threads log in one second.
        log_lines_per_second: usize = 1_000, "the line is dropped and counted";
    }
}

/// The bytes that an outbox entry is charged beside its length, for bookkeeping.
pub(crate) const ENTRY_CHARGE: usize = 64;

/// Bytes per second that keep a message alive beyond `message_deadline`.
pub(crate) const MESSAGE_RATE_FLOOR: u64 = 1024;

/// The most I/O shards of a gateway.
#[cfg(not(millrace_loom))]
pub const MAX_SHARDS: usize = 64;
/// The most I/O shards of a gateway: few enough for a model checker.
#[cfg(millrace_loom)]
pub const MAX_SHARDS: usize = 2;

/// Bytes of a batch for a worker (one record may exceed it).
pub const BATCH_BYTES: usize = 256 * 1024;

/// Payloads above this travel beside the batch.
pub const SIDECAR_BYTES: usize = 16 * 1024;

/// ASCII texts above this size travel beside the batch: two copies less, which cost more than a buffer for each.
pub const ASCII_SIDECAR_BYTES: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_backplane_is_the_limit_of_the_backplane() {
        let limits = FixedLimits::default();
        assert_eq!(limits.backplane_wait, millrace_backplane::LONGEST_WAIT);
    }

    #[test]
    fn the_limits_of_patterns_are_those_of_the_core() {
        let limits = FixedLimits::default();
        assert_eq!(limits.pattern_bytes, millrace_core::limits::PATTERN_BYTES);
        assert_eq!(limits.patterns, millrace_core::limits::PATTERNS);
    }

    #[test]
    fn the_limit_of_infos_is_that_of_the_core() {
        let limits = FixedLimits::default();
        assert_eq!(
            limits.presence_info_bytes,
            millrace_core::limits::INFO_BYTES
        );
    }

    #[test]
    fn the_limit_of_idempotency_keys_is_that_of_the_core() {
        let limits = FixedLimits::default();
        assert_eq!(
            limits.idempotency_key_bytes,
            millrace_core::limits::KEY_BYTES
        );
    }
}
