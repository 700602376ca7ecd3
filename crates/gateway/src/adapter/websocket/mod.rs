//! The WebSocket adapter (RFC 6455): a strict decoder for input, shared frames for output, and the closing
//! handshake; compression (RFC 7692) where a listener has it.

mod compressed;
mod compression;
mod contexts;
mod endpoint;
mod session;
mod streamed;
mod v1;

pub(crate) use compression::Means;
pub(crate) use contexts::Contexts;
pub(crate) use endpoint::WebSockets;
pub(crate) use endpoint::carried_sessions;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use endpoint::{compressed_session_on_stage, session_on_stage, v1_session_on_stage};
pub(crate) use v1::HEADED as V1_ENCODING;
