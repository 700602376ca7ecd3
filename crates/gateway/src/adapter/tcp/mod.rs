//! The adapter of raw TCP: connections without a handshake whose bytes are split into messages by a [framing](framing).
//! Owns a listener's configuration; the worker handles the messages.

mod encodings;
mod options;
mod session;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use millrace_core::SocketId;

use crate::contract::{
    Encodings, ListenError, ListenerConfig, Needs, Peer, Protocol, Service, Session, Streams,
    Transport,
};
use encodings::Forms;
use options::TcpOptions;
use session::{Tcp, Terms};
use stream::Stream;

/// See the module.
#[derive(Debug)]
pub(crate) struct TcpProtocol(Forms);

impl TcpProtocol {
    pub(crate) fn new(encodings: &Encodings) -> Self {
        Self(Forms::register(encodings))
    }
}

impl Protocol for TcpProtocol {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn needs(&self, _config: &ListenerConfig) -> Needs {
        Needs {
            // the application protocol has its own name, which is unknown here
            alpn: &[],
            // the protocol has no way to ask whether a silent peer still lives
            keep_alive: Some(SILENCE),
            delays: false,
            peer_begins: false,
        }
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        config.protocol_limits.reader().finish()?;
        let options = TcpOptions::read(&config.options)?;
        Ok(Arc::new(self.listener(options, config)))
    }
}

impl TcpProtocol {
    fn listener(&self, options: TcpOptions, config: &ListenerConfig) -> Listener {
        Listener(Arc::new(Terms {
            framing: options.framing,
            encoding: self.0.of(options.framing),
            message_bytes: config.limits.message_bytes,
            allow_http: options.allow_http,
            as_stream: options.as_stream,
        }))
    }

    /// A session without its stream, whose messages are lines.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn session_on_stage(&self, socket: SocketId, peer: &Peer) -> Box<dyn Session> {
        let options = TcpOptions {
            framing: millrace_protocol::framing::Framing::Line,
            allow_http: false,
            as_stream: false,
        };
        let listener = self.listener(options, &peer.listener.config);
        listener.session(socket, peer)
    }
}

/// The silence after which the kernel sends keep-alive probes.
const SILENCE: Duration = Duration::from_secs(60);

/// Raw TCP on one listener.
#[derive(Debug)]
struct Listener(Arc<Terms>);

impl Streams for Listener {
    fn transport(&self) -> Option<Transport> {
        Some(Transport::Tcp)
    }

    fn session(&self, _socket: SocketId, peer: &Peer) -> Box<dyn Session> {
        let stream = self.0.as_stream.then(|| Stream::new(peer));
        Box::new(Tcp::new(&self.0, stream))
    }
}
