//! The adapter of Sockety: messages and responses with data, files and streams, many at a time on one connection. Owns
//! a listener's configuration; `millrace_protocol::sockety` owns the wire format, and the worker handles the messages.

mod body;
mod clock;
mod disk;
mod down;
mod early;
mod encodings;
mod fields;
mod inbound;
mod late;
mod limits;
mod options;
mod outbound;
mod saved_file;
mod saving;
mod session;
#[cfg(any(test, feature = "fuzzing"))]
mod stage;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use millrace_core::SocketId;
use millrace_protocol::sockety::DecoderConfig;

use crate::contract::{
    Encoding, Encodings, ListenError, ListenerConfig, Needs, Peer, Protocol, Service, Session,
    Streams, Transport,
};
use limits::{FixedSocketyLimits, SocketyLimits};
use options::SocketyOptions;
use session::{Sockety, Terms};

/// See the module.
#[derive(Debug)]
pub(crate) struct SocketyProtocol(Arc<Encodings>);

impl SocketyProtocol {
    pub(crate) fn new(encodings: &Arc<Encodings>) -> Self {
        Self(Arc::clone(encodings))
    }

    fn encoding(&self, options: &SocketyOptions) -> Result<Encoding, ListenError> {
        encodings::encoding(&self.0, options).ok_or(ListenError::Unusable {
            option: "publishAction",
            problem: "the gateway has had too many different ones".to_owned(),
        })
    }
}

impl Protocol for SocketyProtocol {
    fn name(&self) -> &'static str {
        "sockety"
    }

    fn needs(&self, config: &ListenerConfig) -> Needs {
        // making the service reports what is wrong with the options
        let options = SocketyOptions::read(&config.options).ok();
        Needs {
            // Sockety does not use ALPN
            alpn: &[],
            // peers need not send heartbeats
            keep_alive: options
                .as_ref()
                .is_none_or(|own| own.kernel.keep_alive)
                .then_some(SILENCE),
            delays: options.is_some_and(|own| !own.kernel.no_delay),
            peer_begins: false,
        }
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        let given = config.protocol_limits.reader();
        let limits: SocketyLimits = given.table()?;
        given.finish()?;
        let options = SocketyOptions::read(&config.options)?;
        let encoding = self.encoding(&options)?;
        Ok(Arc::new(Listener::new(encoding, &options, &limits)))
    }
}

/// The silence after which the kernel sends keep-alive probes.
const SILENCE: Duration = Duration::from_secs(60);

/// Sockety on one listener.
#[derive(Debug)]
struct Listener(Arc<Terms>);

impl Listener {
    fn new(encoding: Encoding, options: &SocketyOptions, limits: &SocketyLimits) -> Self {
        Self(Arc::new(Terms {
            decoder: DecoderConfig {
                channels: options.receivable_channels,
                head_bytes: limits.message_head_bytes,
                files: limits.files_per_message,
                pending_bytes: FixedSocketyLimits::default().pending_bytes,
                enforce_file_sizes: !options.allow_files_size_mismatch,
            },
            encoding,
            publications: options.publications,
            writable: options.writable,
            send_go_away: options.send_go_away,
            buffered_bytes: limits.buffered_bytes,
            header_timeout: millis(limits.header_timeout),
            silence_timeout: millis(limits.silence_timeout),
        }))
    }
}

impl Streams for Listener {
    fn transport(&self) -> Option<Transport> {
        Some(Transport::Sockety)
    }

    fn session(&self, _socket: SocketId, peer: &Peer) -> Box<dyn Session> {
        Box::new(Sockety::new(&self.0, peer.fields()))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
