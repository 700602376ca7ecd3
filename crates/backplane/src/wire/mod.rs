//! What servers speak, sans-I/O: bytes in, events out, and commands into a buffer. Owns the contract between a
//! link and a protocol.

mod command;
pub(crate) mod nats;
pub(crate) mod redis;
mod reply;
mod subject;

use std::fmt;

use crate::outlet::Outgoing;
use crate::source::Source;
use crate::topic::Topic;

/// One protocol's side of one connection.
pub(crate) trait Wire: fmt::Debug + Send {
    /// What is said first.
    fn open(&mut self, out: &mut Vec<u8>);

    /// Asks for a topic; [`Event::Subscribed`] or [`Event::Refused`] follows. False: its name is too long for this
    /// server, and nothing follows.
    fn subscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) -> bool;

    /// Leaves a topic; [`Event::Unsubscribed`] follows.
    fn unsubscribe(&mut self, topic: &Topic, out: &mut Vec<u8>);

    /// Publishes a message; unless nodes only talk among themselves, it is counted by an [`Event::Published`] or
    /// [`Event::NotPublished`] later. False: it or its name is too large for this server, and nothing follows.
    fn publish(&mut self, message: &Outgoing, out: &mut Vec<u8>) -> bool;

    /// Asks again which servers of a cluster have what; [`Event::Slots`] follows.
    fn refresh(&mut self, _out: &mut Vec<u8>) {}

    /// Ends a batch: a server that confirms nothing by itself is asked to.
    fn settle(&mut self, out: &mut Vec<u8>);

    /// Asks for a sign of life.
    fn ping(&mut self, out: &mut Vec<u8>);

    /// Reads what came; returns how many bytes were used up. The rest is given again, with more behind it.
    fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, WireError>;

    /// Messages that were published and not counted yet.
    fn unconfirmed(&self) -> u64;

    /// Everything that the server has still to answer.
    fn unanswered(&self) -> usize;
}

/// What a server says.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// It knows us; topics and messages may follow.
    Ready,
    /// It subscribed us.
    Subscribed(Topic),
    /// It does not send us this any more.
    Unsubscribed(Topic),
    /// Somebody published.
    Message(Source<'a>, &'a [u8]),
    /// Something came that is too long, and is passed over.
    TooLong,
    /// It took so many messages.
    Published(u64),
    /// It refused a message.
    NotPublished(&'a str),
    /// It refused a topic.
    Refused(Topic, &'a str),
    /// A list of the cluster's nodes, or that it has changed.
    Slots(Vec<SlotRange>),
    /// What we asked this server for belongs to another one.
    Moved,
}

/// The slots that one node of a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// Empty: the one that was asked.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Why a link cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WireError {
    /// It does not let us in.
    #[error("the server refused us: {0}")]
    Refused(String),
    /// It said something that it must not say.
    #[error("the server does not speak the protocol: {0}")]
    Protocol(&'static str),
    /// It ended the connection with a reason.
    #[error("the server ended the connection: {0}")]
    Ended(String),
}

/// What a server wrote, for a message to people.
pub(crate) fn shown(text: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|letter| !letter.is_control())
        .take(SHOWN)
        .collect();
    shown
}

const SHOWN: usize = 200;
