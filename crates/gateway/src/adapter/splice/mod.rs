//! The adapter of splice: one WebSocket of a client carries many others to servers that the gateway connects to.
//! Relayed messages pass from one connection to the other on their I/O thread. Owns a listener's configuration for
//! them; `millrace_protocol::splice` owns the wire format.

mod connecting;
mod dial;
mod endpoint;
mod limits;
mod local;
mod masks;
mod patience;
mod say;
mod session;
#[cfg(any(test, feature = "fuzzing"))]
mod stage;
mod target;
mod targets;
mod terms;

use crate::contract::{Encoding, EncodingDef, ListenError, Message, Reader};
use crate::http::{EndpointLimits, Endpoints, HttpService};
pub(super) use endpoint::Sessions;
use limits::SpliceLimits;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use stage::SpliceOnStage;
use terms::Terms;

/// The encoding of messages to a session's socket: it encodes nothing, because all messages of a session are its
/// targets'.
pub(super) const ENCODING: EncodingDef = EncodingDef {
    name: "splice",
    names_channel: false,
    most_payload: 0,
    around: 0,
    append: nothing,
};

fn nothing(_message: &Message<'_>, _out: &mut Vec<u8>) {}

/// Reads the options of a listener. `inside` answers the requests of targets within the gateway.
pub(super) fn sessions(
    options: &Reader<'_>,
    limits: &EndpointLimits<'_>,
    encoding: Encoding,
    inside: impl FnOnce() -> Result<Endpoints, ListenError>,
) -> Result<Sessions, ListenError> {
    let own: SpliceLimits = limits.own()?;
    let terms = Terms::read(options, (limits.listener, limits.http, own), encoding)?;
    let has_inside = options.flag("localTargets")?.unwrap_or_default();
    let inner = has_inside.then(inside).transpose()?;
    let service = |endpoints| HttpService::new(limits.listener, limits.http.clone(), endpoints);
    Ok(Sessions::new(terms, inner.map(service)))
}
