//! The headers of `millrace.v1` through the public API.

mod bounds;
mod malformed;
mod roundtrip;
mod seen;

use millrace_protocol::v1::{Bad, Incoming, Operation, decode};

/// Parses a well-formed message without a payload.
fn operation(header: &str) -> Operation<'_> {
    match decode(header.as_bytes()) {
        Ok(Incoming {
            operation,
            payload: b"",
        }) => operation,
        other => panic!("{header}: {other:?}"),
    }
}

/// Why a message is malformed.
fn problem(message: &[u8]) -> Bad<'_> {
    match decode(message) {
        Err(bad) => bad,
        Ok(incoming) => panic!("{}: {incoming:?}", message.escape_ascii()),
    }
}
