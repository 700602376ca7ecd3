//! TLS below a connection's frames: encrypts what is written and decrypts what is read. It trusts the
//! certificates of one file only, and knows neither frames nor epoll.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::failure::Failure;

/// The certificates that servers must have, or be issued by.
#[derive(Debug, Clone)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// The certificates in a file in PEM.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let bad = |error: &dyn std::fmt::Display| {
            Failure::Usage(format!("--tls-ca {}: {error}", path.display()))
        };
        let mut roots = RootCertStore::empty();
        for found in CertificateDer::pem_file_iter(path).map_err(|error| bad(&error))? {
            let certificate = found.map_err(|error| bad(&error))?;
            roots.add(certificate).map_err(|error| bad(&error))?;
        }
        if roots.is_empty() {
            return Err(bad(&"it has no certificate"));
        }
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// One connection's keys and its unread and unwritten records.
#[derive(Debug)]
pub(crate) struct Session(Box<ClientConnection>);

impl Session {
    /// A session with the server at an address, which its certificate must name.
    pub(crate) fn new(trust: &Trust, server: IpAddr) -> io::Result<Self> {
        let name = ServerName::from(server);
        let config = Arc::clone(&trust.0);
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        // what the socket does not take is kept here, as it is without TLS
        session.set_buffer_limit(None);
        Ok(Self(Box::new(session)))
    }

    /// Whether records wait for room in the socket.
    pub(crate) fn blocked(&self) -> bool {
        self.0.wants_write()
    }

    /// Encrypts bytes, or keeps them until the handshake is complete.
    pub(crate) fn encrypt(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.writer().write_all(bytes)
    }

    /// Writes one buffer's worth of records; returns how many bytes the socket took.
    pub(crate) fn write(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        self.0.write_tls(&mut stream)
    }

    /// Forgets the records that were not written.
    pub(crate) fn discard(&mut self) {
        while self.0.wants_write() && self.0.write_tls(&mut io::sink()).is_ok() {}
    }

    /// Reads the stream once and decrypts all that is complete, into `into`, which must have room for
    /// [`ROOM`] bytes. `None` at the end of the stream.
    pub(crate) fn read(
        &mut self,
        mut stream: &TcpStream,
        into: &mut [u8],
    ) -> io::Result<Option<usize>> {
        if into.len() < ROOM {
            return Err(io::Error::other("a frame that is too long over TLS"));
        }
        if self.0.read_tls(&mut stream)? == 0 {
            return Ok(None);
        }
        let state = self.0.process_new_packets().map_err(io::Error::other)?;
        let count = state.plaintext_bytes_to_read();
        if count == 0 && state.peer_has_closed() {
            return Ok(None);
        }
        let Some(place) = into.get_mut(..count) else {
            return Err(io::Error::other("more plaintext than a read can bring"));
        };
        self.0.reader().read_exact(place)?;
        Ok(Some(count))
    }
}

/// More than the plaintext of all records that one read completes.
const ROOM: usize = 64 * 1024;
