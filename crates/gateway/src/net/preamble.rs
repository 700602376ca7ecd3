//! The preamble of a connection between its acceptance and its first request: the header of a proxy, then TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use millrace_protocol::proxy::Source;

use super::proxy::{self, Trusted};
use super::stream::Stream;
use super::tls::{self, Terms};

/// The preamble that a listener requires.
pub(crate) struct Preamble<'a> {
    /// The proxies that may connect, if every connection has to begin with a header of the PROXY protocol.
    pub(crate) proxies: Option<&'a Trusted>,
    pub(crate) tls: Option<&'a Terms>,
}

/// The stage that a connection has reached, which says what has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    ProxyHeader,
    Tls,
}

/// A connection after its preamble.
pub(crate) struct Passed {
    pub(crate) stream: Stream,
    /// Its verified TLS certificate in DER.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl Preamble<'_> {
    /// Runs the preamble of a connection from `peer`. Before TLS begins, `named` is called with the client that a proxy
    /// names. The caller sets the deadline, and reads from `stage` how far it came.
    pub(crate) async fn pass(
        &self,
        mut stream: Stream,
        peer: Option<IpAddr>,
        stage: &mut Stage,
        named: impl FnOnce(SocketAddr),
    ) -> io::Result<Passed> {
        *stage = Stage::ProxyHeader;
        if let Some(trusted) = self.proxies {
            if !trusted.has(peer) {
                let why = "a PROXY protocol header is expected, and its sender is not trusted";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            let source;
            (source, stream) = proxy::read(stream).await?;
            if let Source::Client(client) = source {
                named(SocketAddr::new(client.ip().to_canonical(), client.port()));
            }
        }
        *stage = Stage::Tls;
        let Some(terms) = self.tls else {
            return Ok(Passed {
                stream,
                certificate: None,
            });
        };
        let accepted = tls::accept(stream, terms).await?;
        Ok(Passed {
            stream: accepted.stream,
            certificate: accepted.certificate,
        })
    }
}
