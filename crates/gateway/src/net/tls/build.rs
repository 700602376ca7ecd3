//! Turns the TLS configuration into rustls objects: PEM, keys, authorities, versions.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use super::names::Names;
use super::{ClientCertificates, Identity, TlsConfig};

/// Why a TLS configuration is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// There is neither a default certificate nor one for a name.
    #[error("tls has no certificate")]
    Nothing,
    /// A part is not valid PEM.
    #[error("tls.{at} is not valid PEM: {source}")]
    Pem {
        /// The option.
        at: String,
        /// The error of the PEM parser.
        source: pem::Error,
    },
    /// A part does not contain what it should.
    #[error("tls.{at} has no {what} in it")]
    Missing {
        /// The option.
        at: String,
        /// What is missing.
        what: &'static str,
    },
    /// A certificate or its key is invalid, or they do not belong together.
    #[error("tls.{at} cannot be used: {source}")]
    Unusable {
        /// The option.
        at: String,
        /// The error of rustls.
        source: rustls::Error,
    },
    /// A name is not a host name.
    #[error("tls.names: '{0}' is not a host name")]
    Name(String),
    /// The name of a server to connect to is not a host name.
    #[error("tls.servername: '{0}' is not a host name or an IP address")]
    ServerName(String),
    /// The authorities cannot be used to verify certificates.
    #[error("tls.ca cannot be used: {0}")]
    Authorities(VerifierBuilderError),
}

impl TlsError {
    /// The stable code for JavaScript.
    pub fn code(&self) -> &'static str {
        "ERR_MILLRACE_INVALID_TLS"
    }
}

pub(super) fn server_config(
    config: &TlsConfig,
    alpn: &[&[u8]],
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let names = names(config, &provider)?;
    let versions: &[_] = if config.only_1_3 {
        &[&TLS13]
    } else {
        &[&TLS13, &TLS12]
    };
    let unusable = |source| TlsError::Unusable {
        at: "minVersion".to_owned(),
        source,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(unusable)?;
    let builder = match verifier(config, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut made = builder.with_cert_resolver(Arc::new(names));
    // sessions are stored by the clients: a table here would be memory that unauthenticated clients fill
    made.ticketer = ring::Ticketer::new().map_err(unusable)?;
    made.alpn_protocols = if config.alpn.is_empty() {
        alpn.iter().map(|name| name.to_vec()).collect()
    } else {
        config.alpn.clone()
    };
    Ok(Arc::new(made))
}

fn names(config: &TlsConfig, provider: &CryptoProvider) -> Result<Names, TlsError> {
    if config.identity.is_none() && config.names.is_empty() {
        return Err(TlsError::Nothing);
    }
    let identity = config.identity.as_ref();
    let identity = identity.map(|identity| certified(identity, "", provider));
    let mut names = Names::new(identity.transpose()?);
    for (name, identity) in &config.names {
        let key = certified(identity, &format!("names['{name}']."), provider)?;
        if !names.add(name, key) {
            return Err(TlsError::Name(name.clone()));
        }
    }
    Ok(names)
}

fn certified(
    identity: &Identity,
    at: &str,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates(&identity.chain, &format!("{at}cert"))?;
    let key = private_key(&identity.key, &format!("{at}key"))?;
    let made = CertifiedKey::from_der(chain, key, provider);
    made.map(Arc::new).map_err(|source| TlsError::Unusable {
        at: format!("{at}key"),
        source,
    })
}

pub(super) fn private_key(pem: &[u8], at: &str) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::Missing {
            at: at.to_owned(),
            what: "private key (one without a password)",
        },
        source => TlsError::Pem {
            at: at.to_owned(),
            source,
        },
    })
}

pub(super) fn certificates(pem: &[u8], at: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|source| TlsError::Pem {
        at: at.to_owned(),
        source,
    })?;
    if found.is_empty() {
        return Err(TlsError::Missing {
            at: at.to_owned(),
            what: "certificate",
        });
    }
    Ok(found)
}

fn verifier(
    config: &TlsConfig,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    if config.clients == ClientCertificates::Ignored {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    for authority in certificates(&config.authorities, "ca")? {
        roots.add(authority).map_err(|source| TlsError::Unusable {
            at: "ca".to_owned(),
            source,
        })?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    if config.clients == ClientCertificates::Optional {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map(Some).map_err(TlsError::Authorities)
}
