//! What happens to a connection between its acceptance and its first request: TLS.

use std::io;
use std::time::Duration;

use crate::listener::Peer;
use crate::shard::Shard;
use crate::stream::Stream;
use crate::tls;

/// Takes a connection through what its listener asks for, within `timeout`; `None`: it is closed.
pub(crate) async fn arrive(
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

async fn enter(stream: Stream, peer: &mut Peer) -> io::Result<Stream> {
    let Some(terms) = &peer.listener.tls else {
        return Ok(stream);
    };
    let accepted = tls::accept(stream, terms).await?;
    peer.certificate = accepted.certificate;
    Ok(accepted.stream)
}
