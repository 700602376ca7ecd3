//! What a listener speaks, as its shard sees it: a protocol, that protocol on one listener, and the services of all listeners
//! by their ids. Knows none by name.

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
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::net::stream::Stream;
use crate::socket::Session;
use crate::sync::Mutex;

/// A protocol of listeners. One value per gateway, made by the registry; owns what its connections know of each other.
pub(crate) trait Protocol: Send + Sync + fmt::Debug {
    /// As in the option `protocol`.
    fn name(&self) -> &'static str;
    /// What it asks of a listener.
    fn needs(&self, config: &ListenerConfig) -> Needs;
    /// Reads one listener's options and its own limits from `config`. What nobody reads is an error.
    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError>;
}

/// What a protocol asks of a listener.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// Its names in TLS (ALPN), the best first; none: nothing is agreed upon.
    pub(crate) alpn: &'static [&'static [u8]],
    /// Silence after which the kernel asks TCP peers whether they still live; `None`: it does not.
    pub(crate) keep_alive: Option<Duration>,
    /// Whether small writes to TCP peers may wait for others.
    pub(crate) delays: bool,
}

/// A protocol on one listener.
pub(crate) trait Service: Send + Sync + fmt::Debug {
    /// Takes an accepted stream over, before its preamble.
    fn accept(self: Arc<Self>, shard: &Rc<Shard>, stream: Stream, peer: Peer);
}

/// A service whose every stream is one socket. `shard/streams.rs` implements `Service` for all of these: preamble, admission by
/// `handleOpen` where a worker is told, session.
pub(crate) trait Streams: Send + Sync + fmt::Debug + 'static {
    /// What a worker is told that its connections are, and so decides; `None`: no worker is told of them.
    fn transport(&self) -> Option<Transport> {
        None
    }

    /// Begins one; it is woken when its stream is there.
    fn session(&self, socket: SocketId, peer: &Peer) -> Box<dyn Session>;

    /// What a peer is told that may not come in.
    fn append_refusal(&self, _why: &Refusal, _out: &mut Vec<u8>) {}
}

/// What the listeners of a gateway speak, by their ids. A service is there for as long as anybody has its listener.
#[derive(Debug, Default)]
pub(crate) struct Services(Mutex<AHashMap<u32, Served>>);

/// What is spoken on one listener, and what that needs.
pub(super) type Served = (Arc<dyn Service>, Needs);

impl Services {
    pub(crate) fn add(&self, listener: u32, service: Arc<dyn Service>, needs: Needs) {
        self.0.lock().insert(listener, (service, needs));
    }

    pub(crate) fn remove(&self, listener: u32) {
        let removed = self.0.lock().remove(&listener);
        // not under the lock: it may have files to close
        drop(removed);
    }

    pub(crate) fn find(&self, listener: u32) -> Option<Served> {
        self.0.lock().get(&listener).cloned()
    }
}
