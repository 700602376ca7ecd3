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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ListenerConfig;
    use crate::limits::FixedLimits;
    use crate::options::Options;

    fn all() -> Vec<Box<dyn Protocol>> {
        protocols(&mut Encodings::new())
    }

    fn named(name: &str) -> Box<dyn Protocol> {
        let found = all().into_iter().find(|protocol| protocol.name() == name);
        found.unwrap()
    }

    #[test]
    fn what_an_option_names_and_cannot_be_used_is_told_with_the_option() {
        let long = "x".repeat(FixedLimits::default().pattern_bytes + 1);
        let ann = Options::new().text("name", "ann").text("password", "a");
        let users = Options::new().list("users", [ann.list("channels", [long.as_str()])]);
        let files = |directory| Options::new().text("directory", directory);
        let served = |files| Options::new().list("static", [files]);
        for (protocol, options, problem) in [
            ("resp", users, "users: "),
            (
                "http",
                served(files("no such directory")),
                "static: the directory no such directory cannot be read: ",
            ),
            (
                "http",
                served(files(".").text("notFound", "../404.html")),
                "static: notFound cannot be \"../404.html\"",
            ),
        ] {
            let config = ListenerConfig {
                options,
                ..ListenerConfig::default()
            };
            let error = named(protocol).service(&config).unwrap_err();
            assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION");
            assert!(error.to_string().starts_with(problem), "{error}");
        }
    }
}
