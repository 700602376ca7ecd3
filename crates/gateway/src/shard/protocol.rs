//! The protocol of a listener as its shard sees it: a protocol, its service on one listener, and the services of all
//! listeners by id. Names no particular protocol.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;
use millrace_core::SocketId;

use super::Shard;
use super::open::Refusal;
use crate::config::ListenerConfig;
use crate::event::Transport;
use crate::hub::Hub;
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::net::stream::Stream;
use crate::socket::Session;
use crate::sync::Mutex;

/// A protocol of listeners. The registry makes one value per gateway, which owns what its connections share.
pub(crate) trait Protocol: Send + Sync {
    /// The name in the option `protocol`.
    fn name(&self) -> &'static str;
    /// What it needs from a listener.
    fn needs(&self, config: &ListenerConfig) -> Needs;
    /// Reads one listener's options and its own limits from `config`. Options and limits that it does not read are
    /// errors.
    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError>;
}

impl fmt::Debug for dyn Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol")
    }
}

/// What a protocol needs from a listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// Its names in TLS (ALPN), the best first; empty: ALPN is not used.
    pub(crate) alpn: &'static [&'static [u8]],
    /// Silence after which the kernel sends keep-alive probes to TCP peers; `None`: no probes.
    pub(crate) keep_alive: Option<Duration>,
    /// Whether small writes to TCP peers may be delayed to be sent with later ones.
    pub(crate) delays: bool,
    /// Whether peers send first, so that a connection may be accepted with its first bytes.
    pub(crate) peer_begins: bool,
}

/// A protocol on one listener.
pub(crate) trait Service: Send + Sync {
    /// Takes an accepted stream over, before its preamble.
    fn accept(self: Arc<Self>, shard: &Rc<Shard>, stream: Stream, peer: Peer);

    /// What the operator of the listener should know about it; asked when the workers have begun.
    fn caution(&self, _hub: &Hub) -> Option<&'static str> {
        None
    }
}

impl fmt::Debug for dyn Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}

/// A service that turns every stream into one socket. `shard/streams.rs` implements `Service` for all of these:
/// preamble, admission by `handleOpen` if a worker is told, session.
pub(crate) trait Streams: Send + Sync + 'static {
    /// The transport in the description for workers, which then decide about connections; `None`: no worker is told of
    /// them.
    fn transport(&self) -> Option<Transport> {
        None
    }

    /// Makes the session of a connection; it is woken when its stream is open.
    fn session(&self, socket: SocketId, peer: &Peer) -> Box<dyn Session>;

    /// Appends what a refused peer is told.
    fn append_refusal(&self, _why: &Refusal, _out: &mut Vec<u8>) {}
}

/// The services of a gateway's listeners by id. A service exists as long as its listener is referred to.
#[derive(Debug, Default)]
pub(crate) struct Services(Mutex<AHashMap<u32, Served>>);

/// The service of one listener, and its needs.
pub(super) type Served = (Arc<dyn Service>, Needs);

impl Services {
    pub(crate) fn add(&self, listener: u32, service: Arc<dyn Service>, needs: Needs) {
        self.0.lock().insert(listener, (service, needs));
    }

    pub(crate) fn remove(&self, listener: u32) {
        let removed = self.0.lock().remove(&listener);
        // dropped after the lock is released, because it may have files to close
        drop(removed);
    }

    pub(crate) fn find(&self, listener: u32) -> Option<Served> {
        self.0.lock().get(&listener).cloned()
    }
}
