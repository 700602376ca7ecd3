//! The adapter registry. An adapter ties one protocol's codec to the gateway: it knows its wire format and no other
//! adapter. A new transport is a folder here, its codec, and its lines below.

mod files;
mod requests;
mod resp;
mod sockety;
mod splice;
mod sse;
mod status;
mod tcp;
pub(crate) mod websocket;

use std::sync::Arc;

use crate::contract::Hub;
use crate::frame::{Encoding, Encodings};
use crate::http::{EndpointLimits, Endpoints, HttpProtocol};
use crate::net::address::ListenError;
use crate::options::{Options, Reader};
use crate::shard::protocol::Protocol;
use files::Files;
use requests::WorkerRequests;
use resp::RespProtocol;
use sse::EventStreams;
use status::Status;
use websocket::{Means, WebSockets};

/// The protocols that a gateway's listeners can speak.
pub(crate) fn protocols(encodings: &Arc<Encodings>) -> Vec<Box<dyn Protocol>> {
    let contexts = websocket::Contexts::new(encodings);
    let means = (contexts, Arc::clone(encodings));
    let means_inside = means.clone();
    let v1 = encodings.headed(websocket::V1_ENCODING);
    let events = encodings.add(sse::ENCODING);
    let spliced = encodings.add(splice::ENCODING);
    let taps = encodings.add(status::TAP_ENCODING);
    vec![
        Box::new(HttpProtocol::new("http", move |options, limits| {
            endpoints(options, limits, [events, taps], (v1, &means))
        })),
        Box::new(RespProtocol::new(encodings)),
        Box::new(tcp::TcpProtocol::new(encodings)),
        Box::new(sockety::SocketyProtocol::new(encodings)),
        Box::new(HttpProtocol::new("splice", move |options, limits| {
            let mut all = Endpoints::default();
            all.add(Some(splice::sessions(options, limits, spliced, || {
                let mut inside = Endpoints::default();
                let (none, means) = (Options::new(), &means_inside);
                inside.add(Some(WebSockets::new(&none.reader(), limits, means, None)?));
                Ok(inside)
            })?));
            all.add(Status::new(options, None)?);
            Ok(all)
        })),
    ]
}

/// The endpoints that answer the requests of a listener, in the order of their precedence.
fn endpoints(
    options: &Reader<'_>,
    limits: &EndpointLimits<'_>,
    [events, taps]: [Encoding; 2],
    (v1, means): (Encoding, &Means),
) -> Result<Endpoints, ListenError> {
    let mut all = Endpoints::default();
    all.add(Some(WebSockets::new(options, limits, means, Some(v1))?));
    all.add(Status::new(options, Some(taps))?);
    let sessions = websocket::carried_sessions(v1, limits);
    let open = move |hub: &Arc<Hub>, answers: bool| sessions.open(hub, answers);
    all.add(EventStreams::new(options, limits, events, Box::new(open))?);
    all.add(Files::open(options, limits)?);
    all.add(Some(WorkerRequests::new(limits)?));
    Ok(all)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use resp::RespProtocol as RespOnStage;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use sockety::SocketyProtocol as SocketyOnStage;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use splice::SpliceOnStage;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use sse::{encoding_on_stage as sse_encoding, session_on_stage as sse_session};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use tcp::TcpProtocol as TcpOnStage;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ListenerConfig;
    use crate::limits::{
        FixedLimits, GatewayLimits, LimitError, ListenerLimits, ScriptLimits, Table,
    };
    use crate::options::Options;

    /// The result of a protocol that reads these limits of a listener.
    fn said(protocol: &dyn Protocol, limits: &[(&str, u64)]) -> Result<(), ListenError> {
        let mut config = ListenerConfig::default();
        for (option, value) in limits {
            config.set_limit(option, *value)?;
        }
        protocol.service(&config).map(drop)
    }

    fn takes(protocol: &dyn Protocol, option: &str) -> bool {
        // errors about something else do not count
        !matches!(
            said(protocol, &[(option, 1_000)]),
            Err(ListenError::Limit(LimitError::OfNoTable(_)))
        )
    }

    fn all() -> Vec<Box<dyn Protocol>> {
        protocols(&Arc::new(Encodings::new()))
    }

    fn named(name: &str) -> Box<dyn Protocol> {
        let found = all().into_iter().find(|protocol| protocol.name() == name);
        found.unwrap()
    }

    /// The error about a limit that the protocol refuses.
    fn told(protocol: &str, option: &str, value: u64) -> String {
        let error = said(&*named(protocol), &[(option, value)]).unwrap_err();
        assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION", "{error}");
        error.to_string()
    }

    #[test]
    fn an_unusable_value_is_reported_with_its_option() {
        let long = "x".repeat(FixedLimits::default().pattern_bytes + 1);
        let ann = Options::new().text("name", "ann").text("password", "a");
        let users = Options::new().list("users", [ann.list("channels", [long.as_str()])]);
        let files = |directory| Options::new().text("directory", directory);
        let served = |files| Options::new().list("static", [files]);
        let admin = |token| {
            let admin = Options::new().text("token", token);
            Options::new().fields("admin", admin)
        };
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
            (
                "http",
                admin("0123456789abcde").text("stats", "/stats"),
                "admin.token must be a text of at least 16 bytes",
            ),
            (
                "http",
                admin("0123456789abcdef"),
                "admin must be used together with stats",
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

    #[test]
    fn a_limit_out_of_range_is_named_with_its_range() {
        for (protocol, option, most) in [
            ("http", "http2Streams", 10_000),
            ("http", "keepAliveTimeoutMs", 86_400_000),
            ("http", "messageBytes", 2_147_483_647),
            ("resp", "keysBytes", 1_099_511_627_776),
            ("tcp", "messageBytes", 2_147_483_647),
            ("sockety", "bufferedBytes", 1_099_511_627_776),
        ] {
            for value in [0, most + 1] {
                let problem = format!("{option} must be from 1 to {most}, not {value}");
                assert_eq!(told(protocol, option, value), problem);
            }
        }
        // limits of endpoints
        for option in ["staticCheckMs", "answerTimeoutMs"] {
            let problem = format!("{option} must be from 0 to 86400000, not 86400001");
            assert_eq!(told("http", option, 86_400_001), problem);
        }
    }

    #[test]
    fn unknown_limits_and_those_of_other_protocols_are_named() {
        for (protocol, option) in [
            ("http", "keysBytes"),
            ("resp", "bodyBytes"),
            ("resp", "staticCheckMs"),
            ("tcp", "bodyBytes"),
            ("tcp", "keysBytes"),
            // a limit of the gateway, an unknown limit, and a misspelt one
            ("resp", "connections"),
            ("resp", "replyBytes"),
            ("http", "body_bytes"),
        ] {
            let problem = format!("no limit of this protocol is called {option}");
            assert_eq!(told(protocol, option, 1), problem, "{protocol}");
        }
    }

    #[test]
    fn a_protocol_has_its_own_limits_beside_those_of_every_listener() {
        let limits = [("keysBytes", 5), ("idleTimeoutMs", 0), ("messageBytes", 7)];
        said(&*named("resp"), &limits).unwrap();
        let limits = [
            ("bodyBytes", 5),
            ("staticCacheBytes", 0),
            ("answerTimeoutMs", 0),
        ];
        said(&*named("http"), &limits).unwrap();
    }

    /// Two programs derive the names of the options from those of the limits: this crate, and the generator of the
    /// types.
    #[test]
    fn each_limit_of_javascript_belongs_to_one_table() {
        let generated = include_str!("../../../../js/src/options/limits.generated.ts");
        let of_javascript: Vec<&str> = generated
            .lines()
            .filter_map(|line| line.trim().split_once(": { least: "))
            .map(|(option, _)| option)
            .collect();
        let common = [
            ListenerLimits::options(),
            GatewayLimits::options(),
            ScriptLimits::options(),
        ]
        .concat();
        let is_common = |option: &str| common.iter().any(|known| known == option);
        let of_protocols = of_javascript.iter().filter(|option| !is_common(option));
        let mut count = common.len();
        for option in of_protocols {
            let protocols = all();
            let takers = protocols.iter().filter(|one| takes(&***one, option));
            let names: Vec<_> = takers.map(|one| one.name()).collect();
            // splice runs over HTTP and has its limits too
            assert!(
                names.len() == 1 || names == ["http", "splice"],
                "{option} {names:?}"
            );
            count += 1;
        }
        assert_eq!(of_javascript.len(), count);
        for protocol in all() {
            assert!(!takes(&*protocol, "nothing"), "{}", protocol.name());
        }
    }
}
