//! The limits of HTTP, and the limits of a listener that its endpoints get. Independent of any connection.

use std::time::Duration;

use crate::limits::{BYTES, COUNT, DAY, LimitError, LimitReader, ListenerLimits, Table, limits};

limits! {
    /// Limits of an HTTP listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct HttpLimits {
        /// Bytes of an HTTP request line with its headers, and of the trailers behind a chunked body.
        request_head_bytes: usize = 16 * 1024, 256..=1024 * 1024, "HTTP 431";
        /// Headers of an HTTP request.
        request_headers: u32 = 100, 1..=10_000, "HTTP 431";
        /// Bytes of an HTTP request's target.
        request_target_bytes: usize = 8 * 1024, 1..=65_534, "HTTP 414";
        /// Bytes of a request's body.
        body_bytes: usize = 16 * 1024 * 1024, 1..=BYTES, "HTTP 413";
        /// Time for which an HTTP request's body may pause; a body that takes longer in total must arrive with at least 1 KiB/s.
        body_timeout: Duration = Duration::from_secs(10), 1..=DAY, "HTTP 408";
        /// Time from accepting a connection to the first byte of its first request; if that is an HTTP/1.0 request, also the time for which it may pause.
        first_request_timeout: Duration = Duration::from_secs(2), 1..=DAY, "the connection is closed";
        /// Silence between two HTTP requests of one connection.
        keep_alive_timeout: Duration = Duration::from_secs(5), 1..=DAY, "the connection is closed";
        /// HTTP requests of one connection; one turns keep-alive off.
        keep_alive_requests: u32 = 1000, 1..=COUNT, "the answer says `Connection: close`";
        /// Requests and sockets at once on one HTTP/2 connection.
        http2_streams: u32 = 128, 1..=10_000, "the stream is refused; the client may try again";
        /// Time without requests and sockets on an HTTP/2 connection.
        http2_idle_timeout: Duration = Duration::from_secs(60), 1..=DAY, "the connection is closed";
        /// Bytes from which on a WebSocket message is handed over in pieces while it arrives, if the worker has `handleMessageStream`; zero is off.
        stream_messages_above: usize = 0, 0..=2_147_483_647, "`handleMessageStream` gets the message";
        /// Control frames (pings, pongs and closes) per second, sustained; also requests that an HTTP/2 client cancels before they are answered.
        control_frames_per_second: u32 = 100, 1..=COUNT, "closed with 1008 once the burst is used up, HTTP/2 without a code";
        /// Control frames above the sustained rate, including cancelled requests.
        control_frames_burst: u32 = 1000, 1..=COUNT, "closed with 1008, HTTP/2 without a code";
    }
}

/// The limits that the endpoints of a listener are made with.
#[derive(Debug)]
pub(crate) struct EndpointLimits<'c> {
    /// The limits of every protocol.
    pub(crate) listener: &'c ListenerLimits,
    /// The limits of HTTP.
    pub(crate) http: &'c HttpLimits,
    given: &'c LimitReader<'c>,
}

impl<'c> EndpointLimits<'c> {
    pub(super) fn new(
        listener: &'c ListenerLimits,
        http: &'c HttpLimits,
        given: &'c LimitReader<'c>,
    ) -> Self {
        Self {
            listener,
            http,
            given,
        }
    }

    /// Reads an endpoint's own limits.
    pub(crate) fn own<T: Table>(&self) -> Result<T, LimitError> {
        self.given.table()
    }
}
