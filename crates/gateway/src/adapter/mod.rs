//! The adapter registry. An adapter ties one protocol's codec to the gateway: it knows the wire
//! and nothing of other adapters. A new transport is a folder here, its codec, and its lines below.

mod files;
mod requests;
mod resp;
mod sse;
mod status;
mod tcp;
pub(crate) mod websocket;

use crate::frame::{Encoding, Encodings};
use crate::http::{Endpoints, HttpProtocol};
use crate::limits::ListenerLimits;
use crate::net::address::ListenError;
use crate::options::Reader;
use crate::shard::protocol::Protocol;
use files::Files;
use requests::WorkerRequests;
use resp::RespProtocol;
use sse::EventStreams;
use status::Status;
use websocket::WebSockets;

/// What a gateway's listeners can speak.
pub(crate) fn protocols(encodings: &mut Encodings) -> Vec<Box<dyn Protocol>> {
    let events = encodings.add(sse::ENCODING);
    vec![
        Box::new(HttpProtocol::new(move |options, limits| {
            endpoints(options, limits, events)
        })),
        Box::new(RespProtocol::new(encodings)),
        Box::new(tcp::TcpProtocol::new(encodings)),
    ]
}

/// What answers the requests of a listener, in the order of their precedence.
fn endpoints(
    options: &Reader<'_>,
    limits: &ListenerLimits,
    events: Encoding,
) -> Result<Endpoints, ListenError> {
    let mut all = Endpoints::default();
    all.add(Some(WebSockets::new(options, limits)?));
    all.add(Status::new(options)?);
    all.add(EventStreams::new(options, events)?);
    all.add(Files::open(options, limits)?);
    all.add(Some(WorkerRequests));
    Ok(all)
}

#[cfg(test)]
pub(crate) use resp::RespProtocol as RespOnStage;
#[cfg(test)]
pub(crate) use sse::{encoding_on_stage as sse_encoding, session_on_stage as sse_session};
#[cfg(test)]
pub(crate) use tcp::TcpProtocol as TcpOnStage;
