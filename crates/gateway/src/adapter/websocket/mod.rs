//! The WebSocket adapter (RFC 6455): a strict decoder for input, shared frames for output, and the closing handshake.

mod endpoint;
mod session;

pub(crate) use endpoint::WebSockets;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use endpoint::session_on_stage;
