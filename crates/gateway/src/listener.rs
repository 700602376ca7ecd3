//! A listener, its peers, and the state of a stop in progress. Accepts nothing itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::config::ListenerConfig;
use crate::net::address::Bound;
use crate::net::connect::DialTarget;
use crate::net::raw::RawStream;
use crate::net::tls::{Connector, Terms};
use crate::notice::{Notice, Notices};
use crate::permits::Permit;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A listener, shared by all its connections.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) id: u32,
    pub(crate) config: ListenerConfig,
    /// `Some` if the listener itself handles TLS.
    pub(crate) tls: Option<Terms>,
    /// Whether its connections are encrypted.
    pub(crate) is_encrypted: bool,
    pub(crate) owner: Owner,
    stopping: AtomicBool,
    /// Whether connections end with their next answer.
    last: AtomicBool,
    /// Calls back when the last user drops the listener.
    _left: Left,
}

/// The owner of a listener or of a dialled connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    /// Where the owner's notices go.
    pub(crate) notices: Arc<Notices>,
    /// The id of the only worker that gets its connections; `None`: workers take turns.
    pub(crate) worker: Option<u32>,
}

/// Calls its function when it is dropped.
struct Left(Option<Box<dyn FnOnce() + Send + Sync>>);

/// A listening socket on its way to the shard that accepts on it.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) bound: Bound,
    pub(crate) state: Arc<ListenerState>,
}

/// A peer, before and during its handshake.
#[derive(Debug)]
pub(crate) struct Peer {
    /// `None` on a unix socket.
    pub(crate) address: Option<IpAddr>,
    /// 0 on a unix socket.
    pub(crate) port: u16,
    pub(crate) listener: Arc<ListenerState>,
    /// The local address, if the protocol asks for it; `None` on a unix socket.
    pub(crate) local: Option<SocketAddr>,
    /// Moves to the socket that the peer becomes.
    pub(crate) permit: Option<Permit>,
    /// Whether its address already has too many connections.
    pub(crate) over_limit: bool,
    /// Its verified TLS certificate in DER.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl Peer {
    /// The fields of an event that describes a connection to JavaScript code of its protocol: the id of its listener or
    /// of its dial, the peer's port (0 on a unix socket), whether it is encrypted (4 bytes each, little-endian), and
    /// the peer's address (empty on a unix socket).
    pub(crate) fn fields(&self) -> Box<[u8]> {
        let numbers = [
            self.listener.id,
            u32::from(self.port),
            u32::from(self.listener.is_encrypted),
        ];
        let mut fields: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        if let Some(address) = self.address {
            fields.extend_from_slice(address.to_string().as_bytes());
        }
        fields.into()
    }
}

/// An accepted connection on its way to another shard.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) stream: RawStream,
    pub(crate) peer: Peer,
    /// Bytes that were read from the connection before.
    pub(crate) early: Vec<u8>,
}

/// A connection to be dialled, on its way to the shard that dials it.
#[derive(Debug)]
pub(crate) struct Dialling {
    pub(crate) target: DialTarget,
    /// `Some` if it uses TLS.
    pub(crate) tls: Option<Connector>,
    pub(crate) state: Arc<ListenerState>,
}

/// A stop of some listeners, in progress on every shard.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) notices: Arc<Notices>,
    /// `None`: the owning thread leaves the gateway.
    pub(crate) ticket: Option<u32>,
    pub(crate) listeners: Vec<u32>,
    pub(crate) deadline: Instant,
    pub(crate) cut: AtomicU64,
    /// The number of stops in progress, including this one.
    pub(crate) in_progress: Arc<AtomicUsize>,
}

impl ListenerState {
    /// `left` is called when the last user drops the listener.
    pub(crate) fn new(
        id: u32,
        config: ListenerConfig,
        tls: Option<Terms>,
        left: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        let is_encrypted = tls.is_some();
        let last = AtomicBool::new(config.attached);
        Self {
            id,
            config,
            last,
            tls,
            is_encrypted,
            owner: Owner::default(),
            stopping: AtomicBool::new(false),
            _left: Left(Some(Box::new(left))),
        }
    }

    /// The same listener with this owner.
    pub(crate) fn of(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The listener state of one dialled connection.
    pub(crate) fn dialled(
        id: u32,
        config: ListenerConfig,
        is_encrypted: bool,
        left: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            is_encrypted,
            ..Self::new(id, config, None, left)
        }
    }

    /// Whether these notices are the owner's.
    pub(crate) fn is_of(&self, notices: &Arc<Notices>) -> bool {
        Arc::ptr_eq(&self.owner.notices, notices)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.last.store(true, Ordering::SeqCst);
    }

    /// Whether an answer is the last one of its connection: the listener is being stopped, or it is attached to a server
    /// that would have to answer the next request.
    pub(crate) fn ends_connections(&self) -> bool {
        self.last.load(Ordering::SeqCst)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left").finish_non_exhaustive()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(left) = self.0.take() {
            left();
        }
    }
}

/// Completes the stop: every shard has finished it, or has ended without doing so.
impl Drop for Stopping {
    fn drop(&mut self) {
        self.in_progress.fetch_sub(1, Ordering::SeqCst);
        let cut = self.cut.load(Ordering::SeqCst);
        self.notices.post(match self.ticket {
            Some(ticket) => Notice::ListenersStopped { ticket, cut },
            None => Notice::Stopped,
        });
    }
}
