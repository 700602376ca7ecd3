//! The opening handshake: checked strictly, admitted by the application, answered with 101. Ends when the connection is
//! handed to its shard.

use std::sync::Arc;

use millrace_protocol::websocket::{DecoderConfig, Role};

use super::session::WebSocket;
use crate::contract::{ListenError, Reader, Transport};
use crate::http::{
    Answer, Answering, Asked, Claim, Endpoint, EndpointLimits, Exchange, HttpLimits, Opens,
    SimpleRequest, Taking, open, upgrade,
};
use crate::limits::ListenerLimits;

/// WebSockets on one listener.
#[derive(Debug)]
pub(crate) struct WebSockets {
    /// The paths on which WebSockets open; `None`: any path.
    paths: Option<Vec<String>>,
    decoder: Arc<DecoderConfig>,
}

impl WebSockets {
    /// Reads the option `websocketPaths`.
    pub(crate) fn new(
        options: &Reader<'_>,
        limits: &EndpointLimits<'_>,
    ) -> Result<Self, ListenError> {
        Ok(Self {
            paths: options.texts("websocketPaths")?,
            decoder: decoder(limits.listener, limits.http),
        })
    }

    fn open_at(&self, path: &str) -> bool {
        let paths = self.paths.as_deref();
        paths.is_none_or(|paths| paths.iter().any(|known| known == path))
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

    fn upgrade(&self, _: &Exchange, path: &str) -> Option<Opens> {
        self.open_at(path).then(|| opens(&self.decoder))
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(answer(&self.decoder, exchange, asked))
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

fn opens(decoder: &Arc<DecoderConfig>) -> Opens {
    let session = WebSocket::new(Arc::clone(decoder));
    (Transport::WebSocket, Box::new(session))
}

/// Answers with 101 or an error.
async fn answer(
    decoder: &Arc<DecoderConfig>,
    exchange: &Exchange,
    request: &Asked,
) -> Option<Answer> {
    let offered = match upgrade::offered(request) {
        Ok(offered) => offered,
        Err(answer) => return Some(*answer),
    };
    let (transport, session) = opens(decoder);
    let admitted = open::admit(exchange, request, transport, session).await;
    Some(match admitted {
        Ok((opened, acceptance)) => upgrade::begin(opened, &acceptance, &exchange.client, &offered),
        Err(answer) => answer,
    })
}
