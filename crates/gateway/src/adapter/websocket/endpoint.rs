//! The opening handshake: checked strictly, admitted by the application, answered with 101. Ends when the connection is
//! handed to its shard.

use std::sync::Arc;

use millrace_protocol::v1::SUBPROTOCOL;
use millrace_protocol::websocket::deflate::Offer;
use millrace_protocol::websocket::{DecoderConfig, Role};

use super::compression::{Compression, Means};
use super::session::WebSocket;
use super::streamed::Streamed;
use super::v1::{V1, V1Listener, V1Terms};
use crate::contract::{Encoding, ListenError, Reader, Session, Transport};
use crate::http::{
    Answer, Answering, Asked, Claim, Endpoint, EndpointLimits, Exchange, HttpLimits, Offers, Opens,
    SimpleRequest, Taking, open, upgrade,
};
use crate::limits::ListenerLimits;

/// WebSockets on one listener.
#[derive(Debug)]
pub(crate) struct WebSockets {
    /// The paths on which WebSockets open; `None`: any path.
    paths: Option<Vec<String>>,
    decoder: Arc<DecoderConfig>,
    /// `None`: offers of it are ignored.
    compression: Option<Compression>,
    /// Larger messages are handed over while they arrive; 0: none is.
    streams_above: usize,
    /// `None`: clients cannot speak `millrace.v1` here.
    v1: Option<Arc<V1Listener>>,
}

impl WebSockets {
    /// Reads the options `websocketPaths` and `compression`.
    pub(crate) fn new(
        options: &Reader<'_>,
        limits: &EndpointLimits<'_>,
        means: &Means,
        v1: Option<Encoding>,
    ) -> Result<Self, ListenError> {
        let decoder = decoder(limits.listener, limits.http);
        Ok(Self {
            v1: v1.map(|encoding| Arc::new(V1Listener::new(encoding, limits.listener))),
            paths: options.texts("websocketPaths")?,
            compression: Compression::read(options, means, &decoder)?,
            decoder,
            streams_above: limits.http.stream_messages_above,
        })
    }

    fn open_at(&self, path: &str) -> bool {
        let paths = self.paths.as_deref();
        paths.is_none_or(|paths| paths.iter().any(|known| known == path))
    }

    /// What a client opens, with compression and `millrace.v1` if it offers them.
    fn opens(&self, exchange: &Exchange, offer: Option<Offer>, protocols: &[String]) -> Opens {
        let transport = Transport::WebSocket;
        let v1 = self.v1_terms(exchange, protocols);
        let protocol = v1.is_some().then_some(SUBPROTOCOL);
        let agreed = self.compression.as_ref().zip(offer);
        if let Some((compression, offer)) = agreed {
            let (terms, session) = compression.open(offer, v1);
            let terms = Some(terms);
            return Opens {
                transport,
                session,
                terms,
                protocol,
            };
        }
        let decoder = Arc::clone(&self.decoder);
        let session: Box<dyn Session> = match (v1, self.streams_above) {
            (Some(v1), 0) => {
                let encoding = v1.plain();
                Box::new(V1::new(WebSocket::new(decoder), v1, encoding))
            }
            (Some(v1), above) => {
                let encoding = v1.plain();
                Box::new(V1::new(Streamed::new(decoder, above), v1, encoding))
            }
            (None, 0) => Box::new(WebSocket::new(decoder)),
            (None, above) => Box::new(Streamed::new(decoder, above)),
        };
        Opens {
            transport,
            session,
            terms: None,
            protocol,
        }
    }

    /// `None`: the client does not offer `millrace.v1`, or no channel is for such clients.
    fn v1_terms(&self, exchange: &Exchange, protocols: &[String]) -> Option<V1Terms> {
        let listener = self.v1.as_ref()?;
        let hub = exchange.shard.hub();
        let is_offered = protocols.iter().any(|offered| offered == SUBPROTOCOL);
        (is_offered && hub.has_clients()).then(|| V1Terms::new(listener, hub))
    }

    /// Answers with 101 or an error.
    async fn handshake(&self, exchange: &Exchange, request: &Asked) -> Result<Answer, Box<Answer>> {
        let mut offered = upgrade::offered(request)?;
        let offer = match self.compression {
            None => None,
            Some(_) => upgrade::compression_offer(request)?,
        };
        let Opens {
            transport,
            session,
            terms,
            protocol,
        } = self.opens(exchange, offer, offered.protocols());
        offered.agree(terms, protocol);
        let admitted = open::admit(exchange, request, transport, session).await;
        let (opened, acceptance) = admitted.map_err(Box::new)?;
        Ok(upgrade::begin(
            opened,
            &acceptance,
            &exchange.client,
            &offered,
        ))
    }
}

impl Endpoint for WebSockets {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        if !self.open_at(asked.uri().path()) {
            Claim::No
        } else if upgrade::is_meant(asked) {
            Claim::Yes
        } else {
            // on a listener that serves only WebSockets, other requests get an error that says so
            Claim::IfNobodyElse
        }
    }

    fn take(&self, _: &Exchange, _: &SimpleRequest<'_>) -> Taking {
        // a simple request asks for no other protocol
        Taking::Pass
    }

    fn upgrade(&self, exchange: &Exchange, path: &str, offers: &Offers<'_>) -> Option<Opens> {
        if !self.open_at(path) {
            return None;
        }
        let offer = match self.compression {
            None => None,
            Some(_) => Offer::first(offers.extensions.iter().copied()).ok()?,
        };
        Some(self.opens(exchange, offer, offers.protocols))
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(async {
            let answer = self.handshake(exchange, asked).await;
            Some(answer.unwrap_or_else(|refusal| *refusal))
        })
    }
}

/// The decoder's configuration for the limits of a listener.
fn decoder(limits: &ListenerLimits, http: &HttpLimits) -> Arc<DecoderConfig> {
    Arc::new(DecoderConfig {
        message_bytes: limits.message_bytes,
        role: Role::Server,
        checks_text: true,
        control_per_second: http.control_frames_per_second,
        control_burst: http.control_frames_burst,
    })
}

/// A session without its stream, on a listener without HTTP limits of its own.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn session_on_stage(limits: &ListenerLimits) -> Box<dyn crate::contract::Session> {
    Box::new(WebSocket::new(decoder(limits, &HttpLimits::default())))
}

/// The same with `millrace.v1`, which is agreed on.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn v1_session_on_stage(
    limits: &ListenerLimits,
    encoding: Encoding,
    hub: &Arc<crate::contract::Hub>,
) -> Box<dyn Session> {
    let listener = Arc::new(V1Listener::new(encoding, limits));
    let reads = WebSocket::new(decoder(limits, &HttpLimits::default()));
    let mut session = V1::new(reads, V1Terms::new(&listener, hub), encoding);
    session.agree(true);
    Box::new(session)
}

/// The same with compression, and context takeover of the client.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn compressed_session_on_stage(
    limits: &ListenerLimits,
) -> Box<dyn crate::contract::Session> {
    Compression::session_on_stage(decoder(limits, &HttpLimits::default()))
}
