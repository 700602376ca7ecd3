//! One connection's life as a state machine over [`Env`](env::Env), and the contract with its session: the session
//! decides what bytes mean, and requests effects through the context. Nothing here spawns or sleeps.

mod admission;
pub(crate) mod bodies;
pub(crate) mod close;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod credit;
mod deaf;
mod drain_waits;
pub(crate) mod env;
pub(crate) mod fullest;
mod gaps;
pub(crate) mod links;
mod lost;
mod marks;
mod message_streams;
pub(crate) mod moment;
pub(crate) mod outbox;
mod outside;
pub(crate) mod rate;
mod read;
mod steps;
pub(crate) mod stops;
mod streaming;
pub(crate) mod takeover;
mod timers;
pub(crate) mod times;
pub(crate) mod transfers;
mod waker;
pub(crate) mod wheel;
mod write;

use millrace_core::{Entering, Info, Kind, MemberId, Name, Number, Position, SocketId};

use crate::close::CloseReason;
use crate::event::{Calling, Instruction, Step, TransferId};
use crate::frame::Encoding;

pub(crate) use context::Context;

/// The protocol of one connection. One value per connection, which stays on its I/O shard. Pure: bytes and times in,
/// effects through the context. Its methods are never called within each other.
pub(crate) trait Session {
    /// Its traits. Read when the connection opens, when the subprotocol is [agreed](Self::agree) on and when it
    /// [stops compressing](Self::stop_compressing), and kept there.
    fn traits(&self) -> Traits;

    /// Whether the connection has the subprotocol that is its own. Called once, before it opens, of a session that was made
    /// for a client that offers that subprotocol.
    fn agree(&mut self, _is_own: bool) {}

    /// From now on its encoding compresses nothing. Called at most once, before it opens, of a session that compresses.
    fn stop_compressing(&mut self) {}

    /// Appends what was sent in its own subprotocol, whole frames, as it would have been sent without it.
    fn unwrap_sent(&self, sent: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(sent);
    }

    /// Encodes its first output, which is sent before the output of `handleOpen` and before the session is
    /// [opened](Wake::Opened). A peer that is refused does not get it.
    fn append_opening(&mut self, _socket: SocketId, _out: &mut Vec<u8>) {}

    /// Takes bytes that were just read, or that it did not take earlier. Bytes that it does not take are passed again
    /// when the pause is over.
    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason>;

    /// The peer has sent its last byte, and everything before it was taken. Called only with
    /// [`half_close`](Traits::half_close). With `Ok` writing continues until one side closes; an error closes the
    /// connection once the worker has handled what came before.
    fn input_ended(&mut self, _cx: &mut Context<'_>) -> Result<(), CloseReason> {
        Err(CloseReason::ABNORMAL)
    }

    /// Something other than input has happened.
    fn wake(&mut self, _why: Wake<'_>, _cx: &mut Context<'_>) -> Result<(), CloseReason> {
        Ok(())
    }

    /// Encodes the ping or the sign of life that its [liveness](Liveness) requires.
    fn append_ping(&mut self, _out: &mut Vec<u8>) {}

    /// Encodes the close that its traits require.
    fn append_close(&mut self, _reason: &CloseReason, _out: &mut Vec<u8>) {}

    /// Encodes that the application has subscribed its client to a channel, whose messages it gets from behind this position
    /// on, if the channel has history. Called only if the encoding of its messages has [heads](crate::frame::HeadedDef).
    fn append_subscribed(
        &mut self,
        _channel: &[u8],
        _behind: Option<Position>,
        _out: &mut Vec<u8>,
    ) {
    }

    /// Encodes that a message of a channel with history was published, which its client does not get. Called only if the
    /// encoding of its messages has heads.
    fn append_excepted(&mut self, _channel: &[u8], _number: &Number, _out: &mut Vec<u8>) {}

    /// Encodes what has changed among the members of a channel. Called only if the encoding of its messages has heads; the
    /// result is sent to others with that encoding, too, unless it is for this socket alone.
    fn append_presence(&mut self, _channel: &[u8], _presence: &Presence<'_>, _out: &mut Vec<u8>) {}

    /// The channel and the offset of a message in one of its frames, if its client sees offsets. Called only if the encoding
    /// of its messages has heads.
    fn number_of(&mut self, _frame: &[u8]) -> Option<(Vec<u8>, u64)> {
        None
    }

    /// Encodes that messages of a channel are missing up to this position. Called only for channels of
    /// [numbers](Self::number_of).
    fn append_gap(&mut self, _channel: &[u8], _last: Position, _out: &mut Vec<u8>) {}

    /// Whether its connection ends together with that of another session, which has dialled it.
    fn follows(&self) -> bool {
        false
    }

    /// Whether it is of use to its peer if the worker has no handler for it.
    fn needs_no_handler(&self) -> bool {
        false
    }

    /// Whether the application may call its client.
    fn calls_client(&self) -> bool {
        false
    }

    /// Whether its messages may be sent in parts.
    fn has_fragments(&self) -> bool {
        false
    }

    /// Encodes a part of a message. Called only if [they may have parts](Self::has_fragments).
    fn append_fragment(&mut self, _fragment: &Fragment<'_>, _out: &mut Vec<u8>) {}

    /// The peer sends nothing more, and the connection closes once the worker has handled what came before. Not called of a
    /// connection that closes at once.
    fn ending(&mut self) {}

    /// Whether something that the peer has sent takes effect only when the session is woken again, because it waits for something
    /// else than the worker's events. A connection whose peer has sent its last input closes when that is done.
    fn has_pending(&self) -> bool {
        false
    }

    /// The connection closes: the core no longer has it, and the close follows, if there is one. Called once, after
    /// every other method except [input](Self::input) and [close](Self::append_close).
    fn left(&mut self, _reason: &CloseReason, _env: &env::Env) {}

    /// Bytes of an incomplete message. Read by deadlines, not by reads.
    fn unfinished(&self) -> usize {
        0
    }

    /// Bytes of an incomplete message that have arrived, including those that the worker has been given already.
    fn received(&self) -> usize {
        self.unfinished()
    }

    /// Bytes that wait for the worker beside its events: those of transfers, and of messages that wait for handlers of others.
    /// Read only if the session has transfers, or its input was held.
    fn waiting(&self) -> usize {
        0
    }
}

/// The result of taking input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many bytes were taken.
    pub(crate) bytes: usize,
    /// Whether the input ends within a message.
    pub(crate) unfinished: bool,
}

/// A part of a message that is sent while it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'a> {
    pub(crate) kind: Kind,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    pub(crate) payload: &'a [u8],
}

/// What has changed among the members of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Presence<'a> {
    /// Only their number is told.
    Count(usize),
    Changed {
        change: MemberChange,
        members: &'a [(MemberId, Option<Info>)],
        /// One of them that is left out.
        without: Option<MemberId>,
    },
}

/// What members have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberChange {
    Joined,
    Left,
    /// They say something else of themselves.
    Updated,
}

/// Properties of a session, which do not change while the connection is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) liveness: Liveness,
    pub(crate) goodbye: Goodbye,
    /// Whether its input waits for the worker's room and the socket's credit.
    pub(crate) feeds_worker: bool,
    /// Whether the session is told that the peer has sent its last byte; otherwise that closes the connection.
    pub(crate) half_close: bool,
    /// The encoding of the shared frames that it takes, until it [sets](Context::speaks) another one.
    pub(crate) encoding: Encoding,
}

/// How it is known that the peer is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// A ping is sent, and an answer is due.
    Asks,
    /// The peer does not answer: progress of writing is the sign of life.
    Tells,
    /// The kernel sends probes (TCP keep-alive).
    Kernel,
    /// The session checks it, using [`Context::wake_at`].
    Own,
}

impl Liveness {
    /// Whether a timer has something to send or to check.
    pub(crate) fn is_looked_at(self) -> bool {
        matches!(self, Self::Asks | Self::Tells)
    }
}

/// What the peer is sent before the stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goodbye {
    /// Nothing.
    None,
    /// A close that is not answered.
    Said,
    /// A close that the peer answers; the answer is awaited.
    Answered,
}

/// Why a session is woken.
#[derive(Debug)]
pub(crate) enum Wake<'a> {
    /// The connection is open, and nothing was read yet.
    Opened,
    /// The time of [`Context::wake_at`] has come.
    Time,
    /// The [waker](Context::waker) was used while the connection was open. A session that makes a waker before that has
    /// to check again once it is [opened](Self::Opened).
    Posted,
    /// Its [reply in order](Context::reply_in_order) is written; input may be taken again.
    Resumed,
    /// Everything up to the [request](Context::when_written) is written.
    Written,
    /// The outbox has the room that the session [waited for](Context::has_room).
    Room,
    /// The socket has entered a channel, in front of everything that it gets by this subscription.
    Entered(
        #[cfg_attr(not(test), expect(dead_code, reason = "tests note the channel"))] &'a Name,
        &'a Entering,
    ),
    /// Messages of this channel are missing up to this position; what follows is behind it.
    Gap(&'a Name, Position),
    /// An instruction of the worker, in order with what the worker sends. May come before [`Opened`](Self::Opened) if
    /// `handleOpen` sent it, and while the worker still handles what came before the peer's end.
    Told(Instruction<'a>),
    /// The application calls the client. Only for sessions that [can do that](Session::calls_client).
    Called(Calling),
    /// The worker is gone or gives its connections up, and the connection is about to be closed.
    WorkerGone,
    /// The worker takes a step of one of its transfers.
    Transfer(TransferId, Step),
}

/// Whether a session may continue to take input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flow {
    Go,
    /// Take nothing more now.
    Stop,
}

impl Flow {
    /// `Go` if the condition holds.
    pub(crate) fn go_if(may_go: bool) -> Self {
        if may_go { Self::Go } else { Self::Stop }
    }
}

#[cfg(test)]
pub(crate) mod tests;
