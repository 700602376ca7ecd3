//! TLS in front of a listener: what it shows and asks for, the handshake, and its replacement while
//! the listener runs. Reads no files: certificates and keys come as bytes.

mod accept;
mod build;
mod connect;
mod names;

use std::fmt;
use std::sync::Arc;

use tokio_rustls::rustls::ServerConfig;

use crate::sync::Mutex;

pub(crate) use accept::accept;
pub use build::TlsError;
pub use connect::ClientTls;
pub(crate) use connect::{Connector, random};

/// The TLS side of a listener, as it is configured: everything in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// Shown to clients that ask for no name, or for none of `names`; without it these are refused.
    pub identity: Option<Identity>,
    /// Shown to clients that ask for a name: `a.example`, or `*.example` for every name one label longer.
    pub names: Vec<(String, Identity)>,
    /// Whether clients show a certificate of their own.
    pub clients: ClientCertificates,
    /// Whom clients' certificates must come from.
    pub authorities: Vec<u8>,
    /// TLS 1.2 is refused.
    pub only_1_3: bool,
    /// Clients may choose HTTP/2.
    pub http2: bool,
    /// What clients may speak (ALPN), the best first, in place of what the protocol says; none: as it says.
    pub alpn: Vec<Vec<u8>>,
}

/// A certificate chain and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, then those that lead to the authority.
    pub chain: Vec<u8>,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: Vec<u8>,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// None is asked for.
    #[default]
    Ignored,
    /// Asked for; who has none may come in, who has a bad one may not.
    Optional,
    /// Whoever has none is refused.
    Required,
}

/// No key in a log.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// What a listener's handshakes go by at this moment.
#[derive(Debug)]
pub(crate) struct Terms(Mutex<Arc<ServerConfig>>);

impl Terms {
    /// `alpn`: the names of what is spoken, the best first.
    pub(crate) fn new(config: &TlsConfig, alpn: &[&[u8]]) -> Result<Self, TlsError> {
        build::server_config(config, alpn).map(|config| Self(Mutex::new(config)))
    }

    /// Handshakes from now on go by `other`; connections that are up stay as they are.
    pub(crate) fn replace(&self, other: &Self) {
        let newer = other.now();
        *self.0.lock() = newer;
    }

    fn now(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.lock())
    }
}

/// Encrypted bytes that wait for the kernel; what is behind them stays in the outbox, where it counts.
const UNSENT: usize = 16 * 1024;
