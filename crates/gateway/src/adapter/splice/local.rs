//! Targets within the gateway: each is an in-memory stream whose other end is accepted as if a client had connected to
//! the listener. Its requests are answered like those of any client.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::mpsc;

use crate::contract::{Carried, Peer, Service, Shard, Stream, spawn};
use crate::http::{Exchange, HttpService};

/// Passes the targets of one session to the task that accepts them. The task ends when this is dropped.
#[derive(Debug)]
pub(super) struct Inner(mpsc::UnboundedSender<Stream>);

impl Inner {
    /// For the session of this request, whose client has this address.
    pub(super) fn new(
        service: &Arc<HttpService>,
        exchange: &Exchange,
        client: (Option<IpAddr>, u16),
    ) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let own = &exchange.client;
        let peer = Peer {
            address: client.0,
            port: client.1,
            listener: Arc::clone(&own.listener),
            local: None,
            permit: None,
            over_limit: false,
            certificate: own.certificate.clone(),
        };
        let (shard, service) = (Rc::clone(&exchange.shard), Arc::clone(service));
        spawn(Box::pin(accept(receiver, shard, service, peer)));
        Self(sender)
    }

    /// Without the accepting task: the caller has the receiver and accepts the streams.
    #[cfg(test)]
    pub(super) fn on_stage() -> (Self, mpsc::UnboundedReceiver<Stream>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Opens one more stream and returns this end of it. The session limits how many there are.
    pub(super) fn connect(&self) -> Stream {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        // the accepting task ends only together with the session
        let _taken = self.0.send(stream(far));
        stream(near)
    }
}

/// Accepts the targets of one client, each with a permit of its own.
async fn accept(
    mut streams: mpsc::UnboundedReceiver<Stream>,
    shard: Rc<Shard>,
    service: Arc<HttpService>,
    client: Peer,
) {
    let _guard = shard.guard_connection();
    while let Some(stream) = streams.recv().await {
        let (permit, over_limit) = shard.hub().permits().take(client.address);
        if over_limit {
            shard.stats.refused_by_address.add(1);
        }
        let peer = Peer {
            permit: Some(permit),
            over_limit,
            listener: Arc::clone(&client.listener),
            certificate: client.certificate.clone(),
            ..client
        };
        Arc::clone(&service).accept(&shard, stream, peer);
    }
}

fn stream(end: DuplexStream) -> Stream {
    Stream::carried(End(end))
}

/// Bytes that are buffered between both ends, in each direction.
const PIPE_BYTES: usize = 16 * 1024;

/// One end of the stream.
#[derive(Debug)]
struct End(DuplexStream);

impl Carried for End {
    fn needs_shutdown(&self) -> bool {
        true
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
