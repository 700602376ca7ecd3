//! Many `WebSocket`s in one: the wire protocol of wsplice.
//!
//! Each message between a client and the multiplexer begins with an index of two bytes, which names the target. The
//! last index is the control channel, whose messages are JSON. Owns this prefix, the calls and replies, and the checks
//! of what a client may connect to. Never resolves a name, never opens a connection, never allocates for more bytes
//! than were received.
//!
//! ```
//! use millrace_protocol::splice::{self, CONTROL, Incoming, Method, Prefix, Target};
//!
//! let mut input = &b"\xff\xff{\"id\":1,\"method\":\"connect\",\"params\":{\"url\":\"wss://example.com/a\"}}"[..];
//! assert_eq!(Prefix::new().take(&mut input), Some(CONTROL));
//! let Ok(Incoming::Call(call)) = splice::decode_call(input) else { panic!() };
//! let Method::Connect(connect) = call.method else { panic!() };
//! assert_eq!(Target::parse(&connect.url)?.port(), 443);
//!
//! let mut reply = Vec::new();
//! splice::append_connected(call.id, 0, None, &mut reply);
//! assert_eq!(reply, b"\xff\xff{\"id\":1,\"type\":\"reply\",\"result\":{\"index\":0}}");
//! # Ok::<(), millrace_protocol::splice::InvalidUrl>(())
//! ```

mod allowlist;
mod call;
mod error;
mod given;
mod host;
mod prefix;
mod reply;
mod target;

pub use allowlist::{Allowlist, InvalidEntry};
pub use call::{
    Call, CallError, ConnectParams, Incoming, Method, ParamsError, TerminateParams, decode_call,
};
pub use error::Problem;
pub use given::{GivenError, GivenHeaders, Subprotocols};
pub use host::{Host, InvalidHost};
pub use prefix::{CONTROL, MAX_INDEX, Prefix, is_ascii_index, is_text_index};
pub use reply::{
    ClosedName, Gone, append_closed, append_connected, append_done, append_error, append_warning,
};
pub use target::{InvalidUrl, MAX_URL_BYTES, Target, local_target};
