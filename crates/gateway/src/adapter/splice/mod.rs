//! The adapter of splice: one WebSocket of a client through which it has many, to servers that the gateway connects to. Relayed
//! messages pass from one connection to the other on their I/O thread. Owns what a listener says of that; the wire is in
//! `millrace_protocol::splice`.

mod dial;
mod endpoint;
mod limits;
mod masks;
mod session;
mod target;
mod targets;
mod terms;

use crate::contract::{Encoding, EncodingDef, ListenError, Message, Reader};
use crate::http::{Endpoint, EndpointLimits};
use endpoint::Sessions;
use limits::SpliceLimits;
use terms::Terms;

/// What is sent to the socket of a session: nothing, since its messages are its targets'.
pub(super) const ENCODING: EncodingDef = EncodingDef {
    name: "splice",
    names_channel: false,
    most_payload: 0,
    around: 0,
    append: nothing,
};

fn nothing(_message: &Message<'_>, _out: &mut Vec<u8>) {}

/// Reads the options of a listener.
pub(super) fn sessions(
    options: &Reader<'_>,
    limits: &EndpointLimits<'_>,
    encoding: Encoding,
) -> Result<impl Endpoint + use<>, ListenError> {
    let own: SpliceLimits = limits.own()?;
    let limits = (limits.listener, limits.http, own);
    Ok(Sessions::new(Terms::read(options, limits, encoding)?))
}
