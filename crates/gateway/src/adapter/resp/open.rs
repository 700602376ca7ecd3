//! How an accepted connection becomes a socket that speaks RESP: no handshake, no handler.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use millrace_core::Tally;
use millrace_protocol::resp::{Decoder, Version};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::AsyncWriteExt;

use super::Resp;
use super::clients::Client;
use super::session::{Session, Silence, Terms};
use crate::listener::Peer;
use crate::net::stream::Stream;
use crate::shard::Shard;

/// Takes a connection over on this shard.
pub(crate) fn adopt(shard: &Rc<Shard>, stream: Stream, peer: Peer, terms: &Arc<Terms>) {
    let local = local_address(&stream);
    let config = &peer.listener.config;
    if !peer.over_limit && !config.proxy_protocol && peer.listener.tls.is_none() {
        return begin(shard, stream, peer, (terms, local));
    }
    let (shard, terms) = (Rc::clone(shard), Arc::clone(terms));
    tokio::task::spawn_local(enter(shard, stream, peer, (terms, local)));
}

/// Goes through what the listener asks for first.
async fn enter(
    shard: Rc<Shard>,
    stream: Stream,
    mut peer: Peer,
    (terms, local): (Arc<Terms>, Option<SocketAddr>),
) {
    let _guard = shard.guard_connection();
    let timeout = peer.listener.config.limits.handshake_timeout;
    let Some(mut stream) = shard.pass_preamble(stream, &mut peer, timeout).await else {
        return;
    };
    if peer.over_limit {
        // a peer that is gone already needs no reason
        let _gone = tokio::time::timeout(OVER_LIMIT_TIMEOUT, async {
            stream.write_all(OVER_LIMIT).await?;
            stream.shutdown().await
        })
        .await;
        return;
    }
    begin(&shard, stream, peer, (&terms, local));
}

fn begin(
    shard: &Rc<Shard>,
    stream: Stream,
    peer: Peer,
    (terms, local): (&Arc<Terms>, Option<SocketAddr>),
) {
    if peer.listener.is_stopping() {
        return;
    }
    let hub = shard.hub();
    let address = peer.address.map(|ip| SocketAddr::new(ip, peer.port));
    let user = terms.access.anyone();
    let name = user.as_ref().map_or("default", |user| user.name.as_str());
    let now = shard.elapsed();
    let place = (peer.address, peer.permit);
    let connection = shard.open_without_worker(&peer.listener, place, |id| {
        let client = Arc::new(Client::new(id, (address, local), name, now));
        terms.common.clients.enter(&client);
        Box::new(Resp {
            decoder: Decoder::new(),
            session: Session {
                terms: Arc::clone(terms),
                hub: Arc::clone(hub),
                client,
                version: Version::Resp2,
                user: user.clone(),
                asked: now,
                silence: Silence::default(),
                tally: Tally::default(),
            },
        })
    });
    shard.connected(&connection, stream, &Bytes::new());
}

/// This side's address. Has the kernel ask peers that are silent for long whether they still live, since RESP has no
/// such question.
fn local_address(stream: &Stream) -> Option<SocketAddr> {
    let Stream::Tcp(stream) = stream else {
        return None;
    };
    // where it cannot be had, a peer that vanished is noticed with the next message to it
    let _without = SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENCE));
    stream.local_addr().ok()
}

/// As Redis's default.
const SILENCE: Duration = Duration::from_secs(300);

/// What a peer is told whose address has too many connections.
const OVER_LIMIT: &[u8] = b"-ERR max number of clients reached\r\n";

/// Time for it to read that.
const OVER_LIMIT_TIMEOUT: Duration = Duration::from_secs(1);
