//! TLS as a client: verification of the server, our own certificate, and the handshake.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::build::{TlsError, certificates, private_key};
use super::{Identity, UNSENT};
use crate::net::stream::Stream;

/// The TLS options of an outgoing connection, all in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTls {
    /// The host name or IP address that the server's certificate must have. Host names are sent to the server.
    pub server_name: String,
    /// The authorities that its certificate must come from.
    pub authorities: Vec<u8>,
    /// Accepts any certificate, from any authority and for any name.
    pub accept_any: bool,
    /// The client certificate, sent if the server asks for one.
    pub identity: Option<Identity>,
    /// The protocols to offer (ALPN), the best first; empty: ALPN is not used.
    pub alpn: Vec<Vec<u8>>,
}

/// The configuration of handshakes with one server.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Connector {
    pub(crate) fn new(tls: &ClientTls) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|source| unusable("minVersion", source))?;
        let builder = if tls.accept_any {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(Arc::clone(&provider))))
        } else {
            let mut roots = RootCertStore::empty();
            for authority in certificates(&tls.authorities, "ca")? {
                let added = roots.add(authority);
                added.map_err(|source| unusable("ca", source))?;
            }
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            builder.with_webpki_verifier(verifier.build().map_err(TlsError::Authorities)?)
        };
        let mut config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => builder
                .with_client_auth_cert(certificates(chain, "cert")?, private_key(key, "key")?)
                .map_err(|source| unusable("key", source))?,
        };
        config.alpn_protocols.clone_from(&tls.alpn);
        let name = tls.server_name.clone();
        let name = ServerName::try_from(name)
            .map_err(|_| TlsError::ServerName(tls.server_name.clone()))?;
        config.enable_sni = tls.server_name.parse::<IpAddr>().is_err();
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// The same configuration for a server with another name or address.
    pub(crate) fn named(&self, name: &str) -> io::Result<Self> {
        let name = ServerName::try_from(name.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self {
            config: Arc::clone(&self.config),
            name,
        })
    }

    /// Runs the handshake with a server. The caller sets the deadline.
    pub(crate) async fn connect(&self, stream: Stream) -> io::Result<Stream> {
        let limit = |session: &mut ClientConnection| session.set_buffer_limit(Some(UNSENT));
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let connecting = connector.connect_with(self.name.clone(), stream, limit);
        Ok(Stream::Tls(Box::new(connecting.await?.into())))
    }
}

/// Random bytes from the source that TLS uses.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    let random = ring::default_provider().secure_random;
    random.fill(bytes).map_err(|_| io::ErrorKind::Other.into())
}

fn unusable(at: &str, source: rustls::Error) -> TlsError {
    TlsError::Unusable {
        at: at.to_owned(),
        source,
    }
}

/// Accepts every certificate; signatures made with it are still verified.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
