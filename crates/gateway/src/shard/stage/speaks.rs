//! The protocols of connections on a stage, and what their clients send. Owns the stage's own encoding of each
//! protocol.

use std::sync::Arc;

use millrace_core::SocketId;

use crate::adapter::websocket::{
    V1_ENCODING, compressed_session_on_stage as compressed_session,
    session_on_stage as websocket_session, v1_session_on_stage as v1_session,
};
use crate::adapter::{
    RespOnStage, SocketyOnStage, SpliceOnStage, TcpOnStage, sse_encoding, sse_session,
};
use crate::frame::{Encoding, Encodings};
use crate::hub::Hub;
use crate::listener::{ListenerState, Peer};
use crate::socket::Session;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    WebSocket,
    /// WebSocket with compression and context takeover.
    Deflated,
    /// The subprotocol `millrace.v1` on it.
    V1,
    Events,
    Resp,
    /// Raw TCP with lines.
    Tcp,
    /// Sockety; headers are exchanged before a test begins.
    Sockety,
    /// A splice session whose targets are never reached.
    Splice,
}

pub(crate) const EVERY: [Speaks; 8] = [
    Speaks::WebSocket,
    Speaks::Deflated,
    Speaks::V1,
    Speaks::Events,
    Speaks::Resp,
    Speaks::Tcp,
    Speaks::Sockety,
    Speaks::Splice,
];

impl Speaks {
    /// The header that both sides send first.
    pub(super) fn header(self) -> &'static [u8] {
        match self {
            Self::Sockety => b"\xe3",
            _ => b"",
        }
    }

    /// Whether messages are sent to its sockets: those of a splice session are its targets'.
    pub(crate) fn takes_messages(self) -> bool {
        self != Self::Splice
    }

    /// Whether a worker is told of it.
    pub(in crate::shard) fn has_worker(self) -> bool {
        !matches!(self, Self::Resp | Self::Splice)
    }

    /// Whether a worker may accept or refuse the connection before it opens; for splice it does if the module has a handler.
    #[cfg(test)]
    pub(in crate::shard) fn is_judged(self) -> bool {
        self != Self::Resp
    }

    /// Whether it uses WebSocket frames.
    pub(super) fn has_frames(self) -> bool {
        matches!(
            self,
            Self::WebSocket | Self::Deflated | Self::V1 | Self::Splice
        )
    }

    /// Input that a client may repeat without end: no part of it is an error or has an answer.
    pub(in crate::shard) fn said(self) -> &'static [u8] {
        match self {
            Self::WebSocket => b"\x81\x85\0\0\0\0hello\x02\x81\0\0\0\0a\x80\x81\0\0\0\0b",
            Self::Deflated => HELLO_DEFLATED,
            Self::V1 => ANSWERS_WITHOUT_CALLS,
            Self::Events => b"anything",
            Self::Resp => b"\r\n\r\n",
            Self::Tcp => b"hello\r\na\n\n\xff\n",
            Self::Sockety => EVERYTHING_OF_SOCKETY,
            Self::Splice => MEANT_FOR_NOBODY,
        }
    }
}

/// A compressed message, one in two fragments, a stored one and a plain one.
const HELLO_DEFLATED: &[u8] = b"\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\0\
    \x42\x83\0\0\0\0\xf2\x48\xcd\x80\x84\0\0\0\0\xc9\xc9\x07\0\
    \xc2\x87\0\0\0\0\0\x01\0\xfe\xffa\0\x81\x85\0\0\0\0hello";

/// An answer to a call, a failed one in two fragments, and a publication that the terms do not allow.
const ANSWERS_WITHOUT_CALLS: &[u8] = b"\x81\x91\0\0\0\0{\"t\":\"ok\",\"id\":1}\
    \x02\x85\0\0\0\0{\"t\":\x80\x98\0\0\0\0\"err\",\"id\":1,\"code\":\"a\"}\
    \x82\x94\0\0\0\0{\"t\":\"pub\",\"c\":\"\"}\n\xff";

/// A message, one with data, the beginning of one with a stream on another channel, one with a file, the end of the
/// stream, an aborted message, and small packets between them.
const EVERYTHING_OF_SOCKETY: &[u8] = b"\x20\x13\0................\x01a\
    \xa0\x20\x14\x40................\x01d\x05\xe0\x05hello\
    \x01\x22\x13\0................\x01s\x70\x02hi\
    \0\x20\x1a\x10................\x01f\x01\x03\0\0\x03\x01x\xc0\x03abc\xd0\
    \x30................\x01\x80\x22\x13\0................\x01s\x70\x02hi\x90\xb0\0";

/// A reply without a call, an unasked pong, and such a reply in two fragments.
const MEANT_FOR_NOBODY: &[u8] = b"\x82\x99\0\0\0\0\xff\xff{\"id\":1,\"type\":\"reply\"}\
    \x8a\x80\0\0\0\0\
    \x02\x83\0\0\0\0\xff\xff{\x80\x96\0\0\0\0\"id\":1,\"type\":\"reply\"}";

/// The other ends of targets within the gateway.
#[cfg(test)]
pub(in crate::shard) type Arriving =
    tokio::sync::mpsc::UnboundedReceiver<crate::net::stream::Stream>;

/// Each protocol, without listeners.
pub(super) struct Forms {
    events: Encoding,
    v1: Encoding,
    resp: RespOnStage,
    tcp: TcpOnStage,
    sockety: SocketyOnStage,
    splice: SpliceOnStage,
}

impl Forms {
    pub(super) fn new(encodings: &Arc<Encodings>) -> Self {
        Self {
            events: sse_encoding(encodings),
            v1: encodings.headed(V1_ENCODING),
            resp: RespOnStage::new(encodings),
            tcp: TcpOnStage::new(encodings),
            sockety: SocketyOnStage::new(encodings),
            splice: SpliceOnStage::new(encodings),
        }
    }

    pub(super) fn session(
        &self,
        speaks: Speaks,
        socket: SocketId,
        (hub, listener): (&Arc<Hub>, &Arc<ListenerState>),
    ) -> Box<dyn Session> {
        let config = &listener.config;
        match speaks {
            Speaks::WebSocket => websocket_session(&config.limits),
            Speaks::Deflated => compressed_session(&config.limits),
            Speaks::V1 => v1_session(&config.limits, self.v1, hub),
            Speaks::Events => sse_session(self.events),
            Speaks::Resp => self.resp.session_on_stage(socket, &peer(listener)),
            Speaks::Tcp => self.tcp.session_on_stage(socket, &peer(listener)),
            Speaks::Sockety => self.sockety.session_with_one_id(config),
            Speaks::Splice => self.splice.session_on_stage(hub, config),
        }
    }

    /// Makes splice sessions.
    #[cfg(test)]
    pub(super) fn splice(&self) -> &SpliceOnStage {
        &self.splice
    }
}

fn peer(listener: &Arc<ListenerState>) -> Peer {
    Peer {
        address: None,
        port: 0,
        listener: Arc::clone(listener),
        local: None,
        permit: None,
        over_limit: false,
        certificate: None,
    }
}
