//! How accepted streams become sockets in protocols without HTTP: the preamble of their listener, then `handleOpen` if
//! a worker is told of them, then the session. The protocol chooses what a refused peer is told.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Shard;
use super::open::{Candidate, Refusal, Shown};
use super::protocol::{Service, Streams};
use super::tasks::spawn;
use crate::event::Transport;
use crate::listener::Peer;
use crate::net::stream::Stream;

impl<S: Streams> Service for S {
    fn accept(self: Arc<Self>, shard: &Rc<Shard>, stream: Stream, mut peer: Peer) {
        peer.local = stream.local_address();
        let listener = &peer.listener;
        let waits = peer.over_limit || listener.config.proxy_protocol || listener.tls.is_some();
        if !waits && self.transport().is_none() {
            return begin(&*self, shard, stream, peer);
        }
        spawn(Box::pin(enter(self, Rc::clone(shard), stream, peer)));
    }
}

/// Runs the preamble of the listener first.
async fn enter(streams: Arc<dyn Streams>, shard: Rc<Shard>, stream: Stream, mut peer: Peer) {
    let _guard = shard.guard_connection();
    let mut timeout = peer.listener.config.limits.handshake_timeout;
    if peer.over_limit {
        timeout = timeout.min(REFUSAL_TIMEOUT);
    }
    let Some(stream) = shard.pass_preamble(stream, &mut peer, timeout).await else {
        return;
    };
    if peer.over_limit {
        return refuse(&*streams, &Refusal::OverLimit, stream).await;
    }
    match streams.transport() {
        None => begin(&*streams, &shard, stream, peer),
        Some(transport) => ask(&*streams, &shard, stream, (peer, transport)).await,
    }
}

/// Lets a worker decide.
async fn ask(
    streams: &dyn Streams,
    shard: &Rc<Shard>,
    stream: Stream,
    (mut peer, transport): (Peer, Transport),
) {
    let listener = Arc::clone(&peer.listener);
    let Some(permit) = peer.permit.take().filter(|_| !listener.is_stopping()) else {
        return;
    };
    let worker = match shard.pick_worker(&listener) {
        Ok(worker) => worker,
        Err(refusal) => return refuse(streams, &refusal, stream).await,
    };
    let candidate = Candidate {
        worker,
        listener: &listener,
        transport,
        address: peer.address,
        port: peer.port,
        certificate: peer.certificate.as_deref(),
        permit,
    };
    let shown = || Shown {
        target: Cow::Borrowed(""),
        headers: Vec::new(),
    };
    let session = |socket| streams.session(socket, &peer);
    match shard.open(candidate, session, shown).await {
        Ok((opened, acceptance)) if acceptance.is_plain() => {
            opened.connected(stream, &Bytes::new());
        }
        Ok((opened, _)) => opened.report_invalid(
            "handleOpen returned headers or a subprotocol, which this protocol does not have",
        ),
        Err(refusal) => refuse(streams, &refusal, stream).await,
    }
}

/// Opens the connection without asking a worker.
fn begin(streams: &dyn Streams, shard: &Rc<Shard>, stream: Stream, mut peer: Peer) {
    let listener = Arc::clone(&peer.listener);
    let Some(permit) = peer.permit.take().filter(|_| !listener.is_stopping()) else {
        return;
    };
    // the clock may be old, because no turn may have run for long
    shard.tick();
    let place = (peer.address, permit);
    let connection =
        shard.open_without_worker(&listener, place, |socket| streams.session(socket, &peer));
    shard.connected(&connection, stream, &Bytes::new());
}

/// Tells a peer why it is refused. It has a short time to read that; what it sends meanwhile is discarded.
async fn refuse(streams: &dyn Streams, why: &Refusal, mut stream: Stream) {
    let mut text = Vec::new();
    streams.append_refusal(why, &mut text);
    if text.is_empty() {
        return;
    }
    // a peer that has left needs no reason
    let _gone = tokio::time::timeout(REFUSAL_TIMEOUT, async {
        stream.write_all(&text).await?;
        stream.shutdown().await?;
        // closing a stream with unread bytes resets it, and the text may be lost
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
}

/// Time for the peer to read the reason.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
