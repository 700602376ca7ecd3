//! Connections that another server has accepted: an attached listener has no address of its own, and gets each of its
//! connections with the bytes that were read already.

use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Gateway;
use crate::inbox::Command;
use crate::listener::{Incoming, Peer};
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
    /// listener, or it is being stopped, and the connection is dropped.
    pub fn adopt(&self, listener: u32, stream: Adopted, early: Vec<u8>) -> bool {
        let found = {
            let state = self.state.lock();
            let mut listeners = state.listeners.iter();
            let found = listeners.find(|known| known.id == listener && known.config.attached);
            found.map(Arc::clone)
        };
        let Some(listener) = found else {
            return false;
        };
        let peer = stream.peer();
        let address = peer.map(|peer| peer.ip().to_canonical());
        // the client behind a proxy is known later, and is counted then
        let counted = address.filter(|_| !listener.config.trusted.has(address));
        let permits = self.hub.permits();
        // it was accepted already, so it cannot wait for a permit
        let has_room = permits.has_room();
        let (permit, over_limit) = permits.take(counted);
        let peer = Peer {
            address,
            port: peer.map_or(0, |peer| peer.port()),
            listener,
            local: None,
            permit: Some(permit),
            over_limit: over_limit || !has_room,
            certificate: None,
        };
        let incoming = Incoming {
            stream: stream.0,
            peer,
            early,
        };
        let target = self.hub.next_shard();
        let inboxes = self.hub.inboxes();
        inboxes.post(target, Command::Adopt(Box::new(incoming)));
        inboxes.wake_bits(1 << target.get());
        true
    }
}
