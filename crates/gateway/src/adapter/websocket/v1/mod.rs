//! The subprotocol `millrace.v1` on WebSocket connections: clients subscribe and publish by themselves, as far as the terms
//! of channels allow. JavaScript takes part only where the worker has handlers for that.

mod asked;
mod asking;
mod bads;
mod calling;
mod calls;
mod carried;
mod encoding;
mod entering;
mod history;
mod members;
mod operations;
mod presence;
mod questions;
mod session;
mod speaker;
mod storing;
mod unwrap;

use std::sync::Arc;

use crate::contract::{Encoding, Hub};
use crate::limits::ListenerLimits;
pub(crate) use carried::CarriedSessions;
pub(crate) use encoding::HEADED;
pub(super) use session::V1;

/// What the connections of a listener share.
#[derive(Debug)]
pub(super) struct V1Listener {
    /// The encoding of messages without compression.
    plain: Encoding,
    /// The most subscriptions of a socket.
    subscriptions: usize,
    /// The most unanswered calls of a client, and the most operations of channels that wait for handlers.
    calls: usize,
    /// The most bytes of a client's answers that wait for the threads that have called it: one message.
    answer_bytes: usize,
    /// The interval of pings in milliseconds, which clients are told.
    ping_ms: u64,
}

/// What a connection speaks the subprotocol with.
#[derive(Debug)]
pub(super) struct V1Terms {
    listener: Arc<V1Listener>,
    hub: Arc<Hub>,
}

impl V1Listener {
    pub(super) fn new(plain: Encoding, limits: &ListenerLimits) -> Self {
        Self {
            plain,
            subscriptions: limits.subscriptions_per_socket,
            calls: limits.calls_per_socket,
            answer_bytes: limits.message_bytes,
            ping_ms: u64::try_from(limits.ping_interval.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl V1Terms {
    pub(super) fn new(listener: &Arc<V1Listener>, hub: &Arc<Hub>) -> Self {
        Self {
            listener: Arc::clone(listener),
            hub: Arc::clone(hub),
        }
    }

    /// The encoding of messages without compression.
    pub(super) fn plain(&self) -> Encoding {
        self.listener.plain
    }
}
