//! The commands of an I/O shard. Contains no behaviour; commands are small, because inboxes are long.

use std::sync::Arc;

use millrace_core::{
    Annotation, Batch, ChannelId, Entering, Kept, Kind, Name, Number, Position, SocketId,
    TermsIndex,
};

use crate::event::{
    Acceptance, Calling, Question, Rejection, Step, StreamId, StreamStep, TransferId, Waiting,
};
use crate::frame::{KeptMessage, Late, LateReply, Publication};
use crate::listener::{Dialling, Incoming, Listening, Stopping};

/// A command for an I/O shard.
#[derive(Debug)]
pub(crate) enum Command {
    /// Adds a recipient to the list of a channel or pattern.
    Join {
        channel: ChannelId,
        name: Name,
        subscriber: SocketId,
        slot: u32,
        alias: Option<Box<AliasOf>>,
        /// Whether its client knows of it.
        is_known: bool,
    },
    /// Removes a recipient from that list.
    Leave {
        channel: ChannelId,
        subscriber: SocketId,
    },
    /// A message for the recipients of a channel on this shard.
    Publish {
        channel: ChannelId,
        publication: Publication,
        except: Option<Arc<[SocketId]>>,
    },
    /// A message with a number for the recipients of a channel on this shard.
    Numbered(Box<Numbered>),
    /// A connection has entered a channel at a position.
    Enter(Box<Enter>),
    /// The recipients of a channel on this shard have missed messages up to this position.
    Gap(Box<(ChannelId, Position)>),
    /// Messages of the past that the shard has read in the store.
    Page(Box<Page>),
    /// The store may be asked again for what it could not be asked for.
    PagesAgain,
    /// What has changed among the members of a channel.
    Presence(Arc<Batch>),
    /// Something has changed among the members of some channel, and has to be told some time later.
    PresenceIsDue,
    /// A message for the recipients of a pattern on this shard.
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
        publication: Publication,
    },
    /// A message for a virtual socket, which its connection shows in its own way.
    Marked(Box<MarkedDirect>),
    /// The application closes a socket.
    Close {
        slot: u32,
        socket: SocketId,
        code: u16,
        reason: Box<str>,
    },
    /// An adapter's answer to its peer, which has to follow what was posted before.
    Answer {
        slot: u32,
        socket: SocketId,
        answer: LateReply,
    },
    /// An instruction of a worker for the session of a socket.
    Tell {
        slot: u32,
        socket: SocketId,
        instruction: Box<Waiting>,
    },
    /// A short instruction, which lies in the batch's arena.
    TellSmall {
        slot: u32,
        socket: SocketId,
        start: u32,
        length: u32,
    },
    /// The session's waker was used.
    Wake { slot: u32, socket: SocketId },
    /// A thread asks to be told when the outbox is at or below its low-water mark.
    WhenDrained {
        slot: u32,
        socket: SocketId,
        question: Box<Question>,
    },
    /// A thread calls the client of a socket.
    Call {
        slot: u32,
        socket: SocketId,
        calling: Box<Calling>,
    },
    /// A step of a message that is sent in parts.
    Stream {
        slot: u32,
        socket: SocketId,
        id: StreamId,
        step: Box<StreamStep>,
    },
    /// The answer of `handleOpen`.
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
    /// Events that waited are handled now.
    Release {
        slot: u32,
        socket: SocketId,
        events: u32,
        bytes: u32,
    },
    /// The frame of a message is made that recipients on this shard wait for.
    Settle(Late),
    /// Check the messages that are being received: their total crossed the limit.
    LookAtInbound,
    /// A worker's step of a transfer.
    Transfer { id: TransferId, step: Step },
    /// A worker is gone.
    WorkerGone { worker: u32 },
    /// A worker is being replaced and gives up its connections.
    WorkerLeaves { worker: u32 },
    /// A connection that was dealt to this shard.
    Adopt(Box<Incoming>),
    /// Accept connections on this listener.
    Listen(Box<Listening>),
    /// Connect to a peer.
    Dial(Box<Dialling>),
    /// Accept no more connections on these listeners.
    StopAccepting(Arc<[u32]>),
    /// Stop these listeners and their connections.
    Stop(Arc<Stopping>),
    /// End the shard.
    End,
}

/// The fields that only virtual sockets have as recipients.
#[derive(Debug)]
pub(crate) struct AliasOf {
    /// The id of the real socket.
    pub(crate) socket: SocketId,
    pub(crate) annotation: Option<Arc<Annotation>>,
}

/// A message for one virtual socket.
#[derive(Debug)]
pub(crate) struct MarkedDirect {
    pub(crate) slot: u32,
    /// The id of the real socket.
    pub(crate) socket: SocketId,
    pub(crate) annotation: Arc<Annotation>,
    pub(crate) publication: Publication,
}

/// A message in a channel with history.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) channel: ChannelId,
    pub(crate) number: Number,
    /// The last message before it that its recipients miss, because the inbox was full.
    pub(crate) missed: Option<Position>,
    pub(crate) publication: Publication,
    pub(crate) except: Option<Arc<[SocketId]>>,
}

impl Numbered {
    /// Whether another message may be delivered together with this one and behind it.
    pub(crate) fn joins(&self, other: &Self) -> bool {
        let is_plain = self.except.is_none() && other.except.is_none();
        self.channel == other.channel && is_plain && other.missed.is_none()
    }
}

/// How a connection has entered a channel.
#[derive(Debug)]
pub(crate) struct Enter {
    pub(crate) name: Name,
    pub(crate) slot: u32,
    pub(crate) socket: SocketId,
    pub(crate) entering: Entering,
}

/// Messages of the past that a shard reads in the store, for subscribers that are behind.
#[derive(Clone, Debug)]
pub(crate) struct WantedPage {
    pub(crate) list: ChannelId,
    pub(crate) name: Name,
    /// The first message.
    pub(crate) from: Position,
    /// The messages from this offset on are not wanted.
    pub(crate) until: u64,
    /// Differs from the number of any other page of the shard.
    pub(crate) number: u64,
    /// How often the store has refused to read it.
    pub(crate) refusals: u32,
}

/// What the store has of them.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) wanted: WantedPage,
    /// From the first that is not gone; without a hole. Empty: all are gone that were wanted. `None`: the store could
    /// not be asked.
    pub(crate) messages: Option<Vec<Kept<KeptMessage>>>,
}

/// A message in a channel that matches a pattern.
#[derive(Debug)]
pub(crate) struct Matched {
    pub(crate) pattern: ChannelId,
    pub(crate) channel: Name,
    /// The terms of the channel.
    pub(crate) terms: Option<TermsIndex>,
    pub(crate) publication: Publication,
    pub(crate) except: Option<Arc<[SocketId]>>,
}
