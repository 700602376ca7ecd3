//! Runs the preamble of an accepted connection within its timeout, and counts failures.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Shard;
use crate::fault::Fault;
use crate::listener::Peer;
use crate::net::preamble::{Preamble, Stage};
use crate::net::stream::Stream;

impl Shard {
    /// The stream after the preamble of its listener, within `timeout`; `None`: the connection is closed.
    pub(crate) async fn pass_preamble(
        &self,
        stream: Stream,
        peer: &mut Peer,
        timeout: Duration,
    ) -> Option<Stream> {
        self.hub.faults().hit(Fault::Preamble);
        let asks = peer.listener.tls.is_some() || peer.listener.config.proxy_protocol;
        // a carried stream had its preamble on the connection that carries it
        if !asks || stream.is_carried() {
            return Some(stream);
        }
        // boxed, so that connections of plain listeners do not reserve memory for a handshake
        Box::pin(self.pass_in_time(stream, peer, timeout)).await
    }

    async fn pass_in_time(
        &self,
        stream: Stream,
        peer: &mut Peer,
        timeout: Duration,
    ) -> Option<Stream> {
        // the future is dropped when it is late, so its stage is stored here
        let mut stage = Stage::ProxyHeader;
        let was_over_limit = peer.over_limit;
        let outcome = tokio::time::timeout(timeout, pass(stream, peer, &mut stage)).await;
        let error = match outcome {
            Ok(Ok(stream)) => {
                if peer.over_limit && !was_over_limit {
                    self.stats.refused_by_address.add(1);
                }
                return Some(stream);
            }
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        let address = peer.address.map(tracing::field::display);
        match stage {
            Stage::ProxyHeader => {
                self.stats.refused_proxy_headers.add(1);
                tracing::debug!(target: "millrace::proxy", address, error = %error, "header refused");
            }
            Stage::Tls => {
                self.stats.failed_handshakes.add(1);
                tracing::debug!(target: "millrace::tls", address, error = %error, "handshake failed");
            }
        }
        None
    }
}

async fn pass(stream: Stream, peer: &mut Peer, stage: &mut Stage) -> io::Result<Stream> {
    let listener = Arc::clone(&peer.listener);
    let config = &listener.config;
    let preamble = Preamble {
        proxies: config.proxy_protocol.then_some(&config.trusted),
        tls: listener.tls.as_ref(),
    };
    let passed = preamble.pass(stream, peer.address, stage, |client| {
        peer.port = client.port();
        peer.address = Some(client.ip());
        // another proxy behind this one names the client in its requests
        if !config.trusted.has(peer.address) {
            let permit = peer.permit.as_mut();
            peer.over_limit = permit.is_some_and(|permit| permit.count_for(client.ip()));
        }
    });
    let passed = passed.await?;
    peer.certificate = passed.certificate;
    Ok(passed.stream)
}
