//! What an I/O shard is told. Owns no behaviour; kept small, because inboxes are long.

use std::sync::Arc;

use millrace_core::{Annotation, ChannelId, Kind, Name, SocketId};

use crate::event::{Acceptance, Rejection, Step, TransferId, Waiting};
use crate::frame::{LateReply, Publication};
use crate::listener::{Dialling, Incoming, Listening, Stopping};

/// What an I/O shard is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// A recipient for the list of a channel or pattern.
    Join {
        channel: ChannelId,
        name: Name,
        subscriber: SocketId,
        slot: u32,
        alias: Option<Box<AliasOf>>,
    },
    /// … and off it again.
    Leave {
        channel: ChannelId,
        subscriber: SocketId,
    },
    /// A message for a channel's recipients here.
    Publish {
        channel: ChannelId,
        publication: Arc<Publication>,
        except: Option<Arc<[SocketId]>>,
    },
    /// A message for a pattern's recipients here.
    Match(Box<Matched>),
    /// A small message for one socket; its payload lies in the batch's arena.
    Small {
        slot: u32,
        socket: SocketId,
        kind: Kind,
        start: u32,
        length: u32,
    },
    /// A large message for one socket.
    Direct {
        slot: u32,
        socket: SocketId,
        publication: Arc<Publication>,
    },
    /// The application closes a socket.
    Close {
        slot: u32,
        socket: SocketId,
        code: u16,
        reason: Box<str>,
    },
    /// An adapter answers its peer, behind what was posted before.
    Answer {
        slot: u32,
        socket: SocketId,
        answer: LateReply,
    },
    /// A worker tells the session of a socket.
    Tell {
        slot: u32,
        socket: SocketId,
        instruction: Box<Waiting>,
    },
    /// … something short, which lies in the batch's arena.
    TellSmall {
        slot: u32,
        socket: SocketId,
        start: u32,
        length: u32,
    },
    /// Somebody used the session's waker.
    Wake { slot: u32, socket: SocketId },
    /// `handleOpen` answered.
    Admit {
        slot: u32,
        socket: SocketId,
        answer: Result<Box<Acceptance>, Box<Rejection>>,
    },
    /// Events wait in JavaScript behind a promise.
    Hold {
        slot: u32,
        socket: SocketId,
        events: u32,
        bytes: u32,
    },
    /// … and are handled now.
    Release {
        slot: u32,
        socket: SocketId,
        events: u32,
        bytes: u32,
    },
    /// All messages that are being received hold too much, or no longer.
    LookAtInbound,
    /// A worker takes a step of a transfer.
    Transfer { id: TransferId, step: Step },
    /// A worker is gone.
    WorkerGone { worker: u32 },
    /// A worker is replaced and lets its connections go.
    WorkerLeaves { worker: u32 },
    /// A connection dealt to this shard.
    Adopt(Box<Incoming>),
    /// Accept on this listener.
    Listen(Box<Listening>),
    /// Connect to a peer.
    Dial(Box<Dialling>),
    /// Accept no more on these listeners.
    StopAccepting(Arc<[u32]>),
    /// Stop these listeners and their connections.
    Stop(Arc<Stopping>),
    /// End the shard.
    End,
}

/// What only virtual sockets have as recipients.
#[derive(Debug)]
pub(crate) struct AliasOf {
    /// The connection's own id.
    pub(crate) socket: SocketId,
    pub(crate) annotation: Option<Arc<Annotation>>,
}

/// A message in a channel that a pattern matches.
#[derive(Debug)]
pub(crate) struct Matched {
    pub(crate) pattern: ChannelId,
    pub(crate) channel: Name,
    pub(crate) publication: Arc<Publication>,
    pub(crate) except: Option<Arc<[SocketId]>>,
}
