//! What happens to a connection between its acceptance and its first request: the header of a proxy, then TLS.

use std::io;
use std::time::Duration;

use millrace_protocol::proxy::Source;

use crate::listener::Peer;
use crate::net::proxy;
use crate::net::stream::Stream;
use crate::net::tls;
use crate::shard::Shard;

/// Takes a connection through what its listener asks for, within `timeout`; `None`: it is closed.
pub(crate) async fn run(
    shard: &Shard,
    stream: Stream,
    peer: &mut Peer,
    timeout: Duration,
) -> Option<Stream> {
    let outcome = tokio::time::timeout(timeout, enter(stream, peer)).await;
    let error = match outcome {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => error,
        Err(_) => io::ErrorKind::TimedOut.into(),
    };
    shard.stats().failed_handshakes.add(1);
    let address = peer.address.map(tracing::field::display);
    tracing::debug!(target: "millrace::tls", address, error = %error, "handshake failed");
    None
}

async fn enter(mut stream: Stream, peer: &mut Peer) -> io::Result<Stream> {
    let config = &peer.listener.config;
    if config.proxy_protocol {
        if !config.trusted.has(peer.address) {
            let why = "a PROXY protocol header is expected, and its sender is not trusted";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let source;
        (source, stream) = proxy::read(stream).await?;
        if let Source::Client(client) = source {
            peer.port = client.port();
            let client = client.ip().to_canonical();
            peer.address = Some(client);
            // a proxy behind the proxy names the client in its requests
            if !config.trusted.has(peer.address) {
                peer.over_limit = peer.permit.count_for(client);
            }
        }
    }
    let Some(terms) = &peer.listener.tls else {
        return Ok(stream);
    };
    let accepted = tls::accept(stream, terms).await?;
    peer.certificate = accepted.certificate;
    Ok(accepted.stream)
}
