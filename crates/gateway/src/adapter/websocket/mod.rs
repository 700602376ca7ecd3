//! The WebSocket adapter (RFC 6455): our strict decoder in, shared frames out, closing handshake.

mod endpoint;
mod session;

pub(crate) use endpoint::WebSockets;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use endpoint::session_on_stage;
