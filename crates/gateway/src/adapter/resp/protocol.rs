//! RESP as a protocol of listeners, without handshake and handlers. Owns what its connections share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use millrace_core::{SocketId, Tally};
use millrace_protocol::resp::{Decoder, Version};

use super::clients::{Client, Clients};
use super::limits::RespLimits;
use super::options::RespOptions;
use super::session::{Common, Session, Silence, Terms};
use super::stored::Stored;
use super::throttle::Throttle;
use super::{RESP2, RESP3, Resp};
use crate::contract::{
    self, Encodings, ListenError, ListenerConfig, Needs, Peer, Protocol, Refusal, Service, Streams,
};

/// See the module.
#[derive(Debug)]
pub(crate) struct RespProtocol(Arc<Common>);

impl RespProtocol {
    pub(crate) fn new(encodings: &Encodings) -> Self {
        Self(Arc::new(Common {
            resp2: encodings.add(RESP2),
            resp3: encodings.add(RESP3),
            clients: Clients::new(),
            throttle: Throttle::new(),
        }))
    }
}

impl Protocol for RespProtocol {
    fn name(&self) -> &'static str {
        "resp"
    }

    fn needs(&self, _config: &ListenerConfig) -> Needs {
        Needs {
            // its clients do not use ALPN
            alpn: &[],
            // the protocol has no way to ask whether a silent peer still lives
            keep_alive: Some(SILENCE),
            delays: false,
            peer_begins: false,
        }
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        let given = config.protocol_limits.reader();
        let limits: RespLimits = given.table()?;
        given.finish()?;
        let options = RespOptions::read(&config.options)?;
        let terms = Terms::new(&options, (&config.limits, &limits), &self.0).map_err(|error| {
            ListenError::Unusable {
                option: "users",
                problem: error.to_string(),
            }
        })?;
        Ok(Arc::new(Listener(Arc::new(terms))))
    }
}

/// The default of Redis.
const SILENCE: Duration = Duration::from_secs(300);

/// RESP on one listener.
#[derive(Debug)]
struct Listener(Arc<Terms>);

impl Streams for Listener {
    fn session(&self, socket: SocketId, peer: &Peer) -> Box<dyn contract::Session> {
        let terms = &self.0;
        let address = peer.address.map(|ip| SocketAddr::new(ip, peer.port));
        let user = terms.access.anyone();
        let name = user.as_ref().map_or("default", |user| user.name.as_str());
        let client = Arc::new(Client::new(socket, (address, peer.local), name));
        Box::new(Resp {
            decoder: Decoder::new(),
            session: Session {
                terms: Arc::clone(terms),
                client,
                version: Version::Resp2,
                user,
                asked: 0,
                silence: Silence::default(),
                tally: Tally::default(),
                stored: Stored::default(),
            },
        })
    }

    fn append_refusal(&self, why: &Refusal, out: &mut Vec<u8>) {
        if matches!(why, Refusal::OverLimit) {
            out.extend_from_slice(OVER_LIMIT);
        }
    }
}

/// Makes a session without its stream, on a listener that requires no password.
#[cfg(any(test, feature = "fuzzing"))]
impl RespProtocol {
    pub(crate) fn session_on_stage(
        &self,
        socket: SocketId,
        peer: &Peer,
    ) -> Box<dyn contract::Session> {
        let config = &peer.listener.config;
        let options =
            RespOptions::read(&config.options).expect("the listener has no invalid option");
        let limits = (&config.limits, &RespLimits::default());
        let terms = Terms::new(&options, limits, &self.0).expect("the defaults fit");
        Listener(Arc::new(terms)).session(socket, peer)
    }
}

/// The error for a peer whose address has too many connections.
const OVER_LIMIT: &[u8] = b"-ERR max number of clients reached\r\n";
