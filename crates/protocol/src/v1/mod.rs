//! The protocol `millrace.v1`: channels, calls and presence over the messages of a WebSocket or of an event stream.
//!
//! Each message is a header, one line of JSON, and optionally a line feed and a payload, which nobody parses or escapes.
//! Owns the headers of both directions. Never sees frames, never decides what a client may do, and never allocates for
//! more bytes than were received.
//!
//! ```
//! use millrace_protocol::v1::{self, Id, Incoming, Operation};
//!
//! let Incoming { operation, payload } = v1::decode(b"{\"t\":\"pub\",\"id\":3,\"c\":\"room:1\"}\nhi").unwrap();
//! let Operation::Publish { id, channel, .. } = operation else { panic!() };
//! assert_eq!((&channel[..], payload), (&b"room:1"[..], &b"hi"[..]));
//!
//! let mut answer = Vec::new();
//! v1::Okay::new(&id.unwrap()).append(&mut answer);
//! assert_eq!(answer, b"{\"t\":\"ok\",\"id\":3}");
//! ```

mod client;
mod code;
mod id;
mod server;

pub use client::{Bad, Incoming, Operation, Since, Start, decode};
pub use code::Code;
pub use id::Id;

pub use crate::json::is_json;
pub use server::{
    Mark, MemberEvent, Okay, Publication, append_call, append_count, append_direct, append_error,
    append_gap, append_hi, append_member_list, append_members, append_pong, append_subscribed,
    compact, mark_of, number_of,
};

/// The name of the subprotocol.
pub const SUBPROTOCOL: &str = "millrace.v1";

/// The most bytes of a header from a client.
pub const HEADER_BYTES: usize = 8 * 1024;

/// More bytes than the header of a publication has: its channel's name has at most 64 KiB, and a control character in it is six
/// in JSON. The other fields are short, beside the mark of a virtual socket, and a header with that has no number.
pub const SENT_HEADER_BYTES: usize = 6 * 64 * 1024 + 1024;

/// The most bytes of an id in text, of an idempotency key, and of the code of an error.
pub const SHORT_BYTES: usize = 64;
