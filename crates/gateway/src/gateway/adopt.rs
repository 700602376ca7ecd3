//! Connections that another server has accepted: an attached listener has no address of its own, and gets each of its
//! connections with the bytes that were read already.

use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Gateway;
use crate::inbox::Command;
use crate::listener::{Incoming, ListenerState, Peer};
use crate::net::raw::RawStream;

/// A connection that another server has accepted. It does not block.
#[derive(Debug)]
pub struct Adopted(RawStream);

impl From<TcpStream> for Adopted {
    fn from(stream: TcpStream) -> Self {
        Self(RawStream::Tcp(stream))
    }
}

#[cfg(unix)]
impl From<UnixStream> for Adopted {
    fn from(stream: UnixStream) -> Self {
        Self(RawStream::Unix(stream))
    }
}

impl Adopted {
    fn peer(&self) -> Option<std::net::SocketAddr> {
        match &self.0 {
            RawStream::Tcp(stream) => stream.peer_addr().ok(),
            #[cfg(unix)]
            RawStream::Unix(_) => None,
        }
    }
}

impl Gateway {
    /// Takes a connection as one of an attached listener, with the bytes that were read from it. False: there is no such
    /// listener, or it is being stopped, and `stream` is dropped. A listener whose stop is spread over a time still takes
    /// connections in that time.
    pub fn adopt(&self, listener: u32, stream: Adopted, early: Vec<u8>) -> bool {
        let Some(listener) = self.attached(listener) else {
            return false;
        };
        let peer = stream.peer();
        let address = peer.map(|peer| peer.ip().to_canonical());
        // the client behind a proxy is known later, and is counted then
        let counted = address.filter(|_| !listener.config.trusted.has(address));
        let permits = self.hub.permits();
        let (permit, refused_by_address, is_over) = permits.adopted(counted);
        let peer = Peer {
            address,
            port: peer.map_or(0, |peer| peer.port()),
            listener,
            local: None,
            permit: Some(permit),
            over_limit: refused_by_address || is_over,
            certificate: None,
        };
        let incoming = Incoming {
            stream: stream.0,
            peer,
            early,
            refused_by_address,
        };
        let target = self.hub.next_shard();
        let inboxes = self.hub.inboxes();
        inboxes.post(target, Command::Adopt(Box::new(incoming)));
        inboxes.wake_bits(1 << target.get());
        true
    }

    fn attached(&self, id: u32) -> Option<Arc<ListenerState>> {
        let is_it = |known: &&Arc<ListenerState>| known.id == id && known.config.attached;
        let stops: Vec<_> = {
            let state = self.state.lock();
            if let Some(found) = state.listeners.iter().find(is_it) {
                return Some(Arc::clone(found));
            }
            let stops = state.stops.iter();
            stops.filter_map(|(_, stop)| stop.upgrade()).collect()
        };
        // after the lock is released, because dropping the last reference posts a notice
        let spreads = stops.iter().filter_map(|stop| stop.spread.as_ref());
        let mut leaving = spreads.flat_map(|spread| &spread.leaving);
        let found = leaving.find(is_it).filter(|found| !found.is_stopping());
        found.map(Arc::clone)
    }
}
