//! Why a connection closes, in terms that every protocol can express.

use std::borrow::Cow;

use millrace_protocol::websocket::{DecodeError, close};

/// See the module. Codes are those of RFC 6455 §7.4; other protocols express the same in their own form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CloseReason {
    pub(crate) code: u16,
    pub(crate) reason: Cow<'static, str>,
    /// How the connection is closed.
    pub(crate) mode: CloseMode,
    by_peer: bool,
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseMode {
    /// Send a close and wait for the peer's answer.
    Handshake,
    /// The peer sent a close or an error: send a close and end the stream.
    Final,
    /// Cut the stream without a close.
    Cut,
}

impl CloseReason {
    pub(crate) const fn new(code: u16, reason: &'static str, mode: CloseMode) -> Self {
        Self {
            code,
            reason: Cow::Borrowed(reason),
            mode,
            by_peer: false,
        }
    }

    /// The stream broke.
    pub(crate) const ABNORMAL: Self = Self::new(close::ABNORMAL, "", CloseMode::Cut);
    /// The listener stops.
    pub(crate) const GOING_AWAY: Self = Self::new(close::GOING_AWAY, "", CloseMode::Handshake);
    /// The gateway shuts down without waiting for its connections.
    pub(crate) const SHUT_DOWN: Self = Self::new(close::GOING_AWAY, "", CloseMode::Cut);
    /// The worker exports no handler for this kind of message.
    pub(crate) const NO_HANDLER: Self = Self::new(
        close::INTERNAL_ERROR,
        "Server worker has no handler",
        CloseMode::Handshake,
    );
    /// The application could not complete a message of which a part was sent.
    pub(crate) const STREAM_FAILED: Self = Self::new(
        close::INTERNAL_ERROR,
        "A message could not be completed",
        CloseMode::Handshake,
    );
    /// The worker is gone.
    pub(crate) const WORKER_DOWN: Self = Self::new(
        close::INTERNAL_ERROR,
        "Server worker is down",
        CloseMode::Handshake,
    );
    /// The worker is replaced by another one.
    pub(crate) const WORKER_REPLACED: Self = Self::new(
        close::SERVICE_RESTART,
        "Server worker is replaced",
        CloseMode::Handshake,
    );
    /// A bug in Millrace.
    pub(crate) const INTERNAL: Self = Self::new(
        close::INTERNAL_ERROR,
        "Internal server error",
        CloseMode::Final,
    );
    /// The peer does not read.
    pub(crate) const OVERFLOW: Self = Self::new(
        close::TRY_AGAIN_LATER,
        "Outgoing queue is full",
        CloseMode::Handshake,
    );
    /// The messages that are being received take too many bytes in total.
    pub(crate) const INBOUND_OVERFLOW: Self = Self::new(
        close::TRY_AGAIN_LATER,
        "Too much is being received",
        CloseMode::Final,
    );
    /// Its key has too many connections.
    pub(crate) const KEY_IS_FULL: Self = Self::new(
        close::TRY_AGAIN_LATER,
        "Too many connections of this key",
        CloseMode::Cut,
    );
    /// The peer has not read for so long that a close would not reach it.
    pub(crate) const STALLED: Self = Self::new(
        close::TRY_AGAIN_LATER,
        "Write made no progress",
        CloseMode::Cut,
    );
    /// A message was begun and not finished in time.
    pub(crate) const MESSAGE_DEADLINE: Self = Self::new(
        close::POLICY_VIOLATION,
        "Message took too long",
        CloseMode::Final,
    );
    /// The client has sent too many malformed messages of its subprotocol.
    pub(crate) const TOO_MANY_BAD: Self = Self::new(
        close::POLICY_VIOLATION,
        "Too many bad messages",
        CloseMode::Handshake,
    );
    /// No message was sent or received for too long.
    pub(crate) const IDLE: Self = Self::new(close::NORMAL, "Idle timeout", CloseMode::Handshake);

    /// The peer closed with this code, or none.
    pub(crate) fn by_peer(code: Option<u16>, reason: &str) -> Self {
        Self {
            code: code.unwrap_or(close::NO_STATUS),
            reason: Cow::Owned(reason.to_owned()),
            mode: CloseMode::Final,
            by_peer: true,
        }
    }

    /// The server is about to stop. The peer is told after how many milliseconds to come back, by a reason that its
    /// software understands.
    pub(crate) fn come_back(code: u16, after_ms: u64) -> Self {
        Self::by_application(code, format!("retry={after_ms}").into())
    }

    /// Whether the peer closed first.
    pub(crate) fn is_by_peer(&self) -> bool {
        self.by_peer
    }

    /// The application closes the connection.
    pub(crate) fn by_application(code: u16, reason: Box<str>) -> Self {
        Self {
            code,
            reason: Cow::Owned(reason.into()),
            mode: CloseMode::Handshake,
            by_peer: false,
        }
    }
}

/// The close reason for invalid WebSocket frames.
impl From<&DecodeError> for CloseReason {
    fn from(error: &DecodeError) -> Self {
        Self::new(error.close_code(), error.close_reason(), CloseMode::Final)
    }
}
