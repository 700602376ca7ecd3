//! A listener, its peers, and the record of a stop in progress. Accepts nothing itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::config::ListenerConfig;
use crate::net::address::Bound;
use crate::net::connect::DialTarget;
use crate::net::stream::RawStream;
use crate::net::tls::{Connector, Terms};
use crate::notice::{Notice, Notices};
use crate::permits::Permit;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A listener, shared by everything accepted on it.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) id: u32,
    pub(crate) config: ListenerConfig,
    /// Where it speaks TLS with whom it accepts.
    pub(crate) tls: Option<Terms>,
    /// Whether its connections are encrypted.
    pub(crate) is_encrypted: bool,
    pub(crate) owner: Owner,
    stopping: AtomicBool,
    /// Dropped with it.
    _left: Left,
}

/// Whose a listener is, or a connection that is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    /// For what happens to it.
    pub(crate) notices: Arc<Notices>,
    /// The id of the only worker that gets its connections; `None`: whose turn it is.
    pub(crate) worker: Option<u32>,
}

/// Calls when it is dropped.
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
    /// This side's address, where somebody wants to know; `None` on a unix socket.
    pub(crate) local: Option<SocketAddr>,
    /// Moves on to the socket that it becomes.
    pub(crate) permit: Option<Permit>,
    /// Its address has too many connections already.
    pub(crate) over_limit: bool,
    /// Its TLS certificate in DER, checked.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl Peer {
    /// The fields of an event that tells a protocol's own code of its connection: the id of its listener or of the terms that it
    /// was dialled with, the peer's port (0 on a unix socket), whether it is encrypted (4 bytes each, little-endian), and the
    /// peer's address (nothing on a unix socket).
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

/// An accepted connection dealt to another shard.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) stream: RawStream,
    pub(crate) peer: Peer,
}

/// A connection to be made, on its way to the shard that makes it.
#[derive(Debug)]
pub(crate) struct Dialling {
    pub(crate) target: DialTarget,
    /// Where TLS is to be spoken.
    pub(crate) tls: Option<Connector>,
    pub(crate) state: Arc<ListenerState>,
}

/// A stop of some listeners, in progress on every shard.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) notices: Arc<Notices>,
    /// `None`: the thread whose they are leaves the gateway.
    pub(crate) ticket: Option<u32>,
    pub(crate) listeners: Vec<u32>,
    pub(crate) deadline: Instant,
    pub(crate) cut: AtomicU64,
    /// How many stops are in progress, this one among them.
    pub(crate) in_progress: Arc<AtomicUsize>,
}

impl ListenerState {
    /// `left` is called when nobody has it any more.
    pub(crate) fn new(
        id: u32,
        config: ListenerConfig,
        tls: Option<Terms>,
        left: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        let is_encrypted = tls.is_some();
        Self {
            id,
            config,
            tls,
            is_encrypted,
            owner: Owner::default(),
            stopping: AtomicBool::new(false),
            _left: Left(Some(Box::new(left))),
        }
    }

    /// The same, of this owner.
    pub(crate) fn of(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The terms of one connection that we make.
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

    /// Whether its owner has these notices.
    pub(crate) fn is_of(&self, notices: &Arc<Notices>) -> bool {
        Arc::ptr_eq(&self.owner.notices, notices)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
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

/// Every shard is done with it, or has ended without looking at it.
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
