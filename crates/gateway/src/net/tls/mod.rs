//! TLS of a listener: its configuration, the handshake, and replacing the configuration while the listener runs. Reads
//! no files: certificates and keys are passed as bytes.

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

/// The TLS options of a listener, all in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate for clients that name no host or none of `names`. Without it such clients are refused.
    pub identity: Option<Identity>,
    /// Certificates for clients that name a host: `a.example`, or `*.example` for every name that is one label longer.
    pub names: Vec<(String, Identity)>,
    /// Whether clients have to send a certificate of their own.
    pub clients: ClientCertificates,
    /// The authorities that clients' certificates must come from.
    pub authorities: Vec<u8>,
    /// Whether TLS 1.2 is refused.
    pub only_1_3: bool,
    /// Whether clients may select HTTP/2.
    pub http2: bool,
    /// The protocols to offer (ALPN), the best first, in place of those of the listener's protocol; empty: the protocol
    /// decides.
    pub alpn: Vec<Vec<u8>>,
}

/// A certificate chain and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, followed by those that lead to the authority.
    pub chain: Vec<u8>,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: Vec<u8>,
}

/// Whether clients have to send a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// No certificate is requested.
    #[default]
    Ignored,
    /// A certificate is requested. A client without one is accepted; a client with an invalid one is refused.
    Optional,
    /// A client without a certificate is refused.
    Required,
}

/// Hides the key from logs.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The current configuration of a listener's handshakes.
#[derive(Debug)]
pub(crate) struct Terms(Mutex<Arc<ServerConfig>>);

impl Terms {
    /// `alpn` has the names of the protocols, the best first.
    pub(crate) fn new(config: &TlsConfig, alpn: &[&[u8]]) -> Result<Self, TlsError> {
        build::server_config(config, alpn).map(|config| Self(Mutex::new(config)))
    }

    /// Later handshakes use `other`; established connections are not affected.
    pub(crate) fn replace(&self, other: &Self) {
        let newer = other.now();
        *self.0.lock() = newer;
    }

    fn now(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.lock())
    }
}

/// Encrypted bytes that wait for the kernel; the rest stays in the outbox, where it counts against the limits.
const UNSENT: usize = 16 * 1024;
