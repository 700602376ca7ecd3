//! TLS for a link. Owns the conversion from PEM to the types of rustls.

use std::net::IpAddr;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::config::{Server, Tls};

/// Why TLS cannot be used as configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// An option is not valid PEM.
    #[error("backplane.tls.{at} is not valid PEM: {source}")]
    Pem {
        /// The option.
        at: &'static str,
        /// The parse error.
        source: pem::Error,
    },
    /// There is no authority, so no server could be trusted.
    #[error("backplane.tls.ca has no certificate in it")]
    NoAuthorities,
    /// The options cannot be used together.
    #[error("backplane.tls cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The TLS configuration of a link.
#[derive(Clone)]
pub(crate) struct Encryption {
    connector: TlsConnector,
    server_name: Option<String>,
    /// The servers of a NATS configuration.
    servers: Vec<Server>,
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encryption").finish_non_exhaustive()
    }
}

impl Encryption {
    pub(crate) fn new(tls: &Tls, servers: &[Server]) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let authorities = certificates("ca", &tls.authorities)?;
        roots.add_parsable_certificates(authorities);
        if roots.is_empty() {
            return Err(TlsError::NoAuthorities);
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|source| TlsError::Pem { at: "key", source })?;
                builder.with_client_auth_cert(certificates("cert", chain)?, key)?
            }
        };
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            server_name: tls.server_name.clone(),
            servers: servers.to_vec(),
        })
    }

    pub(crate) fn connector(&self) -> &TlsConnector {
        &self.connector
    }

    /// The name that the server's certificate must have; `None` if the host is not a valid name. Servers of NATS report
    /// each other by address, and certificates usually have names: such an address stands for the first host.
    pub(crate) fn name_of(&self, server: &Server) -> Option<ServerName<'static>> {
        let is_address = server.host.parse::<IpAddr>().is_ok();
        let stands_for = self
            .servers
            .first()
            .filter(|_| is_address && !self.servers.contains(server));
        let host = stands_for.map_or(&server.host, |first| &first.host);
        let name = self.server_name.as_ref().unwrap_or(host);
        ServerName::try_from(name.clone()).ok()
    }
}

fn certificates(at: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|source| TlsError::Pem { at, source })
}
