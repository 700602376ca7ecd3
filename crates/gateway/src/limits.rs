//! Every bound of the gateway: its name, default, range and what happens when it is met. Owns no
//! behaviour; `docs/limits.md` and `js/src/limits.generated.ts` are generated from the tables here and in
//! the folders of protocols.

mod table;

use std::time::Duration;

pub use millrace_backplane::BackplaneFull;
pub use table::LimitError;
pub(crate) use table::limits;

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

/// The most that a number of things can be.
const COUNT: u64 = 4_294_967_295;

/// The most that a number of bytes can be.
const BYTES: u64 = 1024 * 1024 * 1024 * 1024;

/// One day in milliseconds: longer than any sensible timeout, short enough for every timer.
const DAY: u64 = 24 * 60 * 60 * 1000;

limits! {
    /// Bounds that hold for each listener on its own.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ListenerLimits {
        /// Time from accepting a connection to the end of its handshake, the answer of `handleOpen` included; also for the head of any HTTP request, and for the password (RESP).
        handshake_timeout: Duration = Duration::from_secs(10), 1..=DAY, "a head gets HTTP 408, a handshake is closed";
        /// Bytes of an HTTP request line with its headers, and of the trailers behind a chunked body.
        request_head_bytes: usize = 16 * 1024, 256..=1024 * 1024, "HTTP 431";
        /// Headers of an HTTP request.
        request_headers: u32 = 100, 1..=10_000, "HTTP 431";
        /// Bytes of an HTTP request's target.
        request_target_bytes: usize = 8 * 1024, 1..=65_534, "HTTP 414";
        /// Bytes of a request's body.
        body_bytes: usize = 16 * 1024 * 1024, 1..=BYTES, "HTTP 413";
        /// Time that an HTTP request's body may stand still; one that takes longer in all must come with at least 1 KiB/s.
        body_timeout: Duration = Duration::from_secs(10), 1..=DAY, "HTTP 408";
        /// Time from accepting a connection to the first byte of its first request; if that is one of HTTP/1.0, also silence in it.
        first_request_timeout: Duration = Duration::from_secs(2), 1..=DAY, "the connection is closed";
        /// Silence between two HTTP requests of one connection.
        keep_alive_timeout: Duration = Duration::from_secs(5), 1..=DAY, "the connection is closed";
        /// HTTP requests of one connection; one is no keep-alive.
        keep_alive_requests: u32 = 1000, 1..=COUNT, "the answer says `Connection: close`";
        /// Time until the answer to a request begins, from when a worker is given the request or the last piece of its body; zero is off.
        answer_timeout: Duration = Duration::from_secs(30), 0..=DAY, "HTTP 503";
        /// Bytes of a message, inclusive, fragmented or not; an empty fragment counts 16.
        message_bytes: usize = 16 * 1024 * 1024, 1..=2_147_483_647, "closed with 1009";
        /// Time from a message's first byte to its last; a message that arrives with at least 1 KiB/s may take longer.
        message_deadline: Duration = Duration::from_secs(60), 1..=DAY, "closed with 1008";
        /// Silence after which a ping is sent; zero is off.
        ping_interval: Duration = Duration::from_secs(25), 0..=DAY, "a ping is sent";
        /// Time to answer a ping; only complete frames count as life, and the bytes of a long one while they arrive with at least 1 KiB/s.
        pong_timeout: Duration = Duration::from_secs(10), 1..=DAY, "closed with 1006";
        /// Time without a message in either direction; zero is off.
        idle_timeout: Duration = Duration::ZERO, 0..=DAY, "closed with 1000";
        /// Requests and sockets at once on one HTTP/2 connection.
        http2_streams: u32 = 128, 1..=10_000, "the stream is refused; the client may try again";
        /// Time without requests and sockets on an HTTP/2 connection.
        http2_idle_timeout: Duration = Duration::from_secs(60), 1..=DAY, "the connection is closed";
        /// Control frames (pings, pongs and closes) per second, sustained; also requests that an HTTP/2 client takes back before they are answered.
        control_frames_per_second: u32 = 100, 1..=COUNT, "closed with 1008 once the burst is used up, HTTP/2 without a code";
        /// Control frames above the sustained rate, and requests taken back.
        control_frames_burst: u32 = 1000, 1..=COUNT, "closed with 1008, HTTP/2 without a code";
        /// Messages per second of one connection; zero is off.
        messages_per_second: u32 = 0, 0..=COUNT, "reading pauses";
        /// Channels and patterns that one connection is subscribed to by its own commands (RESP).
        subscriptions_per_socket: usize = 10_000, 1..=COUNT, "the command is refused whole with an error";
        /// Bytes of all keys and values of the gateway, each pair charged its length + 128, above which the listener's clients may not write (RESP).
        keys_bytes: u64 = 256 * 1024 * 1024, 1..=BYTES, "the command is refused with `OOM`";
        /// Bytes that the listener keeps of static files in memory; zero is off.
        static_cache_bytes: usize = 32 * 1024 * 1024, 0..=BYTES, "what nobody asks for is dropped";
        /// Bytes of a static file that is kept in memory.
        static_cache_file_bytes: usize = 64 * 1024, 0..=2_147_483_647, "it is read for each request";
        /// Time for which is believed what was seen of a static file; zero looks for each request.
        static_check: Duration = Duration::from_secs(1), 0..=DAY, "the file is looked at again";
    }
}

limits! {
    /// Bounds of a gateway, fixed by its first start.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct GatewayLimits {
        /// Connections open at once, handshakes included; a client that leaves during `handleOpen` counts until that has ended.
        connections: u32 = 100_000, 1..=COUNT, "accepting waits";
        /// Connections of one remote address; zero is off.
        connections_per_address: u32 = 0, 0..=COUNT, "HTTP 503";
        /// Bytes that wait in a socket's outbox behind the message that is being written, each entry charged its length + 64, judged after an attempted write; what a client asked for (RESP) is not counted.
        outbox_bytes: usize = 4 * 1024 * 1024, 1..=BYTES, "the outbox policy";
        /// Messages that wait in a socket's outbox behind the one that is being written.
        outbox_frames: usize = 65_536, 1..=COUNT, "the outbox policy";
        /// What happens at `outbox_bytes` and `outbox_frames`.
        outbox_policy: OutboxPolicy = OutboxPolicy::Close, "closed with 1013, or messages are dropped and counted";
        /// Bytes in a socket's outbox above which it is not read.
        outbox_read_pause_bytes: usize = 256 * 1024, 1..=BYTES, "reading pauses until it drains";
        /// Bytes held by all outboxes together.
        outboxes_total_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the fullest are closed with 1013; a reply over 64 KiB (RESP) that would not fit is an error instead";
        /// Bytes of all messages and commands (RESP) that are being received, without those of which less than 1 KiB has come.
        inbound_total_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the largest is not read on; it is closed with 1013 if that brings no room in a second, or once the others exceed the bound by an eighth";
        /// Time without progress of a blocked write.
        write_timeout: Duration = Duration::from_secs(30), 1..=DAY, "the connection is cut";
        /// Events of one socket that its worker has not handled yet.
        unhandled_events: u32 = 64, 1..=COUNT, "reading pauses, and with it the pong deadline";
        /// Bytes of one socket's unhandled events; one message always fits.
        unhandled_bytes: usize = 1024 * 1024, 1..=BYTES, "reading pauses, and with it the pong deadline";
        /// Events waiting for one worker; connections that open and close count once more, by themselves.
        worker_queue_events: usize = 16_384, 1..=COUNT, "reading pauses; another worker gets the new connection, without one HTTP 503";
        /// Bytes of the events waiting for one worker; those of connections that open and close count once more, by themselves.
        worker_queue_bytes: usize = 2 * 1024 * 1024, 1..=BYTES, "reading pauses; another worker gets the new connection, without one HTTP 503";
        /// Requests of one worker that wait for the rest of their answers.
        worker_requests: usize = 16_384, 1..=COUNT, "HTTP 503";
        /// Bytes posted to one I/O shard and not yet processed, a message for several of its sockets counted once; from a quarter of it on, at most 4 MiB, workers stop taking events.
        shard_inbox_bytes: usize = 256 * 1024 * 1024, 1..=BYTES, "the delivery is refused, counted and reported, the subscription is refused with `ERR_MILLRACE_OVERLOADED`";
        /// Time a worker may leave its doorbell unanswered; zero is off, as it is with `threads: 0`.
        worker_timeout: Duration = Duration::from_secs(3), 0..=DAY, "the worker is replaced";
        /// Messages to other nodes that wait for the backplane.
        backplane_queue: usize = 65_536, 1..=COUNT, "the oldest is dropped and counted";
        /// Bytes of these, each charged its length and 64.
        backplane_queue_bytes: usize = 64 * 1024 * 1024, 1..=BYTES, "the oldest are dropped and counted";
        /// What happens while more than a quarter of `backplane_queue` or `backplane_queue_bytes` waits; `send` never does.
        backplane_full: BackplaneFull = BackplaneFull::Wait, "workers take no events and Redis clients wait, for a second at most; with `'drop'` nobody waits";
        /// Bytes of one message to or from other nodes.
        backplane_message_bytes: usize = 16 * 1024 * 1024, 1..=512 * 1024 * 1024, "it is dropped or passed over, and counted";
        /// Time a closing connection may take: for what was sent before, and for its closing handshake. A goodbye waits as long for handlers of what came before it. While a listener stops, what was sent has the time of the stop.
        close_timeout: Duration = Duration::from_secs(5), 1..=DAY, "the connection is cut";
    }
}

limits! {
    /// Bounds of a gateway that its JavaScript threads keep, fixed by its first start.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ScriptLimits {
        /// Time a worker may take to import its module and finish `handleStart`; kept by the thread that starts it; zero is off.
        worker_start_timeout: Duration = Duration::from_secs(60), 0..=DAY, "its thread is ended: `start` fails, a replacement is tried again";
        /// Time a handler's promise may be pending; kept by the workers; zero is off.
        handler_timeout: Duration = Duration::from_secs(5), 0..=DAY, "closed with 1011";
    }
}

limits! {
    /// Bounds that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FixedLimits {
        /// Bytes of a channel's name; the empty name is valid.
        channel_name_bytes: usize = 64 * 1024, "refused with a `TypeError`";
        /// Bytes of a pattern.
        pattern_bytes: usize = 1_024, "refused with a `TypeError`";
        /// Patterns with a subscription.
        patterns: usize = 65_536, "a further one is refused with `ERR_MILLRACE_TOO_MANY_PATTERNS`";
        /// Bytes of a token.
        token_bytes: usize = 1024 * 1024, "refused with a `TypeError`";
        /// Bytes of an answer that its handler writes ahead of the client, without waiting for it, for ten seconds.
        answer_ahead_bytes: usize = 16 * 1024 * 1024, "the answer is cut, and reported";
        /// Arguments of one command, its name included (RESP).
        arguments: usize = 1_048_576, "an error, and the connection is closed";
        /// Bytes of a reply that is a list (RESP); any longer than 64 KiB also has to fit into `outboxes_total_bytes`.
        reply_bytes: usize = 64 * 1024 * 1024, "the command is refused with an error and changes nothing";
        /// Bytes of the name that a client gives itself, and of its library's and that one's version (RESP).
        client_name_bytes: usize = 1024, "the command is refused with an error";
        /// Time that the answer to a wrong password (RESP) waits, and with it all answers to further ones of that address.
        wrong_password_delay: Duration = Duration::from_millis(500), "the answer waits that long";
        /// Passwords of one address whose answers wait.
        passwords_waiting: u32 = 20, "the connection is closed with an error";
        /// Addresses that gave wrong passwords lately and are remembered.
        addresses_remembered: usize = 10_000, "further ones count as one";
        /// Time that workers and Redis clients wait for a backplane that does not keep up.
        backplane_wait: Duration = Duration::from_secs(1), "they go on, and what does not fit into the queue is dropped and counted";
        /// Lines that the I/O threads log and JavaScript has not taken yet.
        log_lines_waiting: usize = 1_024, "the line is dropped and counted";
        /// Lines that the I/O threads log in one second.
        log_lines_per_second: usize = 1_000, "the line is dropped and counted";
    }
}

/// Extra bytes an outbox entry is charged, for its bookkeeping.
pub(crate) const ENTRY_CHARGE: usize = 64;

/// Bytes per second that keep a message alive beyond `message_deadline`.
pub(crate) const MESSAGE_RATE_FLOOR: u64 = 1024;

/// The most I/O shards a gateway runs.
#[cfg(not(millrace_loom))]
pub const MAX_SHARDS: usize = 64;
/// The most I/O shards a gateway runs: few enough for a model checker.
#[cfg(millrace_loom)]
pub const MAX_SHARDS: usize = 2;

/// Bytes of a batch handed to a worker (one record may exceed it).
pub const BATCH_BYTES: usize = 256 * 1024;

/// Payloads above this travel beside the batch.
pub const SIDECAR_BYTES: usize = 16 * 1024;

/// Texts above this that are ASCII travel beside the batch: a string is made of them without a copy
/// between.
pub const ASCII_SIDECAR_BYTES: usize = 2 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_the_backplane_is_its_own() {
        let limits = FixedLimits::default();
        assert_eq!(limits.backplane_wait, millrace_backplane::LONGEST_WAIT);
    }

    #[test]
    fn the_bounds_of_patterns_are_the_core_s() {
        let limits = FixedLimits::default();
        assert_eq!(limits.pattern_bytes, millrace_core::limits::PATTERN_BYTES);
        assert_eq!(limits.patterns, millrace_core::limits::PATTERNS);
    }

    #[test]
    fn the_bound_of_arguments_is_the_decoder_s() {
        let arguments = i64::try_from(FixedLimits::default().arguments);
        assert_eq!(arguments, Ok(millrace_protocol::resp::MOST_ARGUMENTS));
    }
}
