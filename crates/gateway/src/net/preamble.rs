//! What happens to a connection between its acceptance and its first request: the header of a proxy, then TLS.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use millrace_protocol::proxy::Source;

use super::proxy::{self, Trusted};
use super::stream::Stream;
use super::tls::{self, Terms};

/// What a listener asks of its connections before they speak.
pub(crate) struct Preamble<'a> {
    /// Every connection begins with a header of the PROXY protocol, and comes from one of these.
    pub(crate) proxies: Option<&'a Trusted>,
    pub(crate) tls: Option<&'a Terms>,
}

/// How far a connection has come in it, and so what has gone wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    ProxyHeader,
    Tls,
}

/// A connection that has been through it.
pub(crate) struct Passed {
    pub(crate) stream: Stream,
    /// Its TLS certificate in DER, checked.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl Preamble<'_> {
    /// Takes a connection from `peer` through it; `named` is told the client that a proxy speaks for, before TLS begins.
    /// The caller sets the deadline, and sees at which `stage` it was.
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
