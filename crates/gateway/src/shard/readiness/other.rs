//! No readiness loop: every connection has a task.

use std::io;
use std::task::Context;

use crate::net::stream::Stream;
use crate::socket::connection::Connection;

/// Watches nothing.
#[derive(Debug)]
pub(in crate::shard) struct Readiness;

impl Readiness {
    #[cfg(any(test, feature = "fuzzing"))]
    pub(in crate::shard) fn none() -> Self {
        Self
    }

    pub(in crate::shard) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(in crate::shard) fn watch(&self, stream: Stream, _token: usize) -> io::Result<Stream> {
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
