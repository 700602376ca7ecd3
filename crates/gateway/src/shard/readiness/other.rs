//! No readiness loop: the runtime watches every socket, and every connection has a task.
#![expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the loop of Unix has the same functions"
)]

use std::io;
use std::net::SocketAddr;
use std::task::Context;

use crate::net::raw::RawStream;
use crate::net::stream::Stream;
use crate::socket::connection::Connection;

/// Watches nothing.
#[derive(Debug)]
pub(in crate::shard) struct Readiness;

/// A listening socket.
#[derive(Debug)]
pub(in crate::shard) struct Accepting(tokio::net::TcpListener);

impl Accepting {
    /// The next connection, not registered anywhere, with the peer's address.
    pub(in crate::shard) async fn accept(&self) -> io::Result<(RawStream, Option<SocketAddr>)> {
        let (stream, address) = self.0.accept().await?;
        Ok((RawStream::Tcp(stream.into_std()?), Some(address)))
    }

    /// The system cannot do that.
    pub(in crate::shard) fn hold_back(&self, _holds: bool) {}
}

impl Readiness {
    #[cfg(any(test, feature = "fuzzing"))]
    pub(in crate::shard) fn none() -> Self {
        Self
    }

    pub(in crate::shard) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(in crate::shard) fn stream(&self, raw: RawStream) -> io::Result<Stream> {
        Stream::from_raw(raw)
    }

    pub(in crate::shard) fn listen_tcp(
        &self,
        listener: std::net::TcpListener,
    ) -> io::Result<Accepting> {
        tokio::net::TcpListener::from_std(listener).map(Accepting)
    }

    pub(in crate::shard) fn establish(&self, stream: Stream, _token: usize) -> io::Result<Stream> {
        Ok(stream)
    }

    pub(in crate::shard) fn expects_more(&self) -> bool {
        false
    }

    pub(in crate::shard) fn expect_more(&self) {}

    pub(in crate::shard) fn has_news(&self, _cx: &mut Context<'_>) -> bool {
        false
    }

    pub(in crate::shard) fn take(&self, _run: impl FnMut(usize, &dyn Fn(&Connection))) {}
}
