//! One connection's life as a state machine over [`Env`](env::Env), and the contract with what it speaks: its session, which
//! decides what bytes mean, and the context, in which it says what is to happen. Nothing here spawns or sleeps.

mod admission;
pub(crate) mod bodies;
pub(crate) mod close;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod credit;
mod deaf;
pub(crate) mod env;
pub(crate) mod fullest;
pub(crate) mod links;
pub(crate) mod outbox;
mod outside;
pub(crate) mod rate;
mod read;
mod steps;
pub(crate) mod stops;
mod timers;
pub(crate) mod transfers;
mod waker;
pub(crate) mod wheel;
mod write;

use crate::close::CloseReason;
use crate::event::{Instruction, Step, TransferId};
use crate::frame::Encoding;

pub(crate) use context::Context;

/// What one connection speaks. One value per connection; lives on its I/O shard. Pure: bytes and times in, effects by
/// the context. Never called within another of its calls.
pub(crate) trait Session {
    /// What it is like. Asked once, when it opens, and kept in the connection.
    fn traits(&self) -> Traits;

    /// Encodes what it says first of all, in front of everything that `handleOpen` sends and before it was
    /// [opened](Wake::Opened). A peer that is refused does not get it.
    fn append_opening(&mut self, _out: &mut Vec<u8>) {}

    /// Takes bytes just read, or given back earlier. Those that it does not take are given again when the pause is over.
    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason>;

    /// The peer has sent its last byte, and everything before it was taken; asked only with
    /// [`half_close`](Traits::half_close). With `Ok` writing goes on until somebody closes; an error ends the connection
    /// once the worker has handled what came before.
    fn input_ended(&mut self, _cx: &mut Context<'_>) -> Result<(), CloseReason> {
        Err(CloseReason::ABNORMAL)
    }

    /// Something else than input has come.
    fn wake(&mut self, _why: Wake<'_>, _cx: &mut Context<'_>) -> Result<(), CloseReason> {
        Ok(())
    }

    /// Encodes the question, or the sign of life, that its [liveness](Liveness) promises.
    fn append_ping(&mut self, _out: &mut Vec<u8>) {}

    /// Encodes the goodbye that its traits promise.
    fn append_close(&mut self, _reason: &CloseReason, _out: &mut Vec<u8>) {}

    /// Its end begins: the core knows it no more, and its goodbye follows, if there is one. Once, behind everything else but
    /// [input](Self::input) and [goodbye](Self::append_close).
    fn left(&mut self, _reason: &CloseReason, _env: &env::Env) {}

    /// Bytes received of something not complete: asked by deadlines, not by reads.
    fn unfinished(&self) -> usize {
        0
    }

    /// Bytes of large bodies that wait for the worker. Asked of those that have any.
    fn waiting(&self) -> usize {
        0
    }
}

/// What became of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// How many bytes were taken.
    pub(crate) bytes: usize,
    /// Whether they end within something.
    pub(crate) unfinished: bool,
}

/// What a session is like, for all of its life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) liveness: Liveness,
    pub(crate) goodbye: Goodbye,
    /// Whether its input waits for the worker's room and the socket's credit.
    pub(crate) feeds_worker: bool,
    /// Whether the session is told that the peer has sent its last byte; without it that ends the connection.
    pub(crate) half_close: bool,
    /// Which shared frames it takes, until it [speaks](Context::speaks) otherwise.
    pub(crate) encoding: Encoding,
}

/// How it is known that the peer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// A question is asked, and an answer is due.
    Asks,
    /// Nothing will answer: that writing goes on is the sign of life.
    Tells,
    /// The kernel asks (TCP keep-alive).
    Kernel,
    /// The session sees to it, by [`Context::wake_at`].
    Own,
}

impl Liveness {
    /// Whether there is something to do from time to time.
    pub(crate) fn is_looked_at(self) -> bool {
        matches!(self, Self::Asks | Self::Tells)
    }
}

/// How a connection parts from its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goodbye {
    /// Without a word.
    None,
    /// With one that nobody answers.
    Said,
    /// With one that the peer answers; the answer is waited for.
    Answered,
}

/// Why a session is woken.
#[derive(Debug)]
pub(crate) enum Wake<'a> {
    /// It is open, and nothing was read yet.
    Opened,
    /// The time of [`Context::wake_at`] has come.
    Time,
    /// Somebody used the [waker](Context::waker) while it was open: whoever makes one before looks again once
    /// [opened](Self::Opened).
    Posted,
    /// Its [reply in order](Context::reply_in_order) is written; input may be taken again.
    Resumed,
    /// What it [asked about](Context::when_written) is written.
    Written,
    /// The outbox has the room that it [waited for](Context::has_room).
    Room,
    /// The worker tells it something, in the order of what it sends. May come before [`Opened`](Self::Opened), where
    /// `handleOpen` said it, and while the worker still handles what came before the peer's end.
    Told(Instruction<'a>),
    /// The worker takes a step of one of its transfers.
    Transfer(TransferId, Step),
}

/// Whether a session may go on taking input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flow {
    Go,
    /// Take nothing more now.
    Stop,
}

impl Flow {
    /// As the condition says.
    pub(crate) fn go_if(may_go: bool) -> Self {
        if may_go { Self::Go } else { Self::Stop }
    }
}

#[cfg(test)]
pub(crate) mod tests;
