//! The protocols of servers, without I/O: bytes in, events out, and commands into a buffer. Owns the contract
//! between a link and a protocol.

mod command;
mod master_query;
pub(crate) mod nats;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod pieces;
pub(crate) mod redis;
mod reply;
pub(crate) mod subject;

use std::fmt;

use crate::config::Server;
use crate::outlet::Outgoing;
use crate::source::Source;
use crate::topic::Topic;

pub(crate) use master_query::{Master, MasterQuery};

/// One protocol on one connection.
pub(crate) trait Wire: Send {
    /// Appends the first commands.
    fn open(&mut self, out: &mut Vec<u8>);

    /// Requests a topic. [`Event::Subscribed`] or [`Event::Refused`] follows. Returns false if its name is too
    /// long for this server; then nothing follows.
    fn subscribe(&mut self, topic: &Topic, out: &mut Vec<u8>) -> bool;

    /// Ends a subscription. [`Event::Unsubscribed`] follows.
    fn unsubscribe(&mut self, topic: &Topic, out: &mut Vec<u8>);

    /// Publishes a message. Unless it is a control message, an [`Event::Published`] or [`Event::NotPublished`]
    /// confirms it later. Returns false if the message or its name is too large for this server; then nothing
    /// follows.
    fn publish(&mut self, message: &Outgoing, out: &mut Vec<u8>) -> bool;

    /// Queries the slots of a cluster again. [`Event::Slots`] follows.
    fn refresh(&mut self, _out: &mut Vec<u8>) {}

    /// Ends a batch: requests a confirmation from a server that confirms nothing by itself.
    fn settle(&mut self, out: &mut Vec<u8>);

    /// Sends a ping.
    fn ping(&mut self, out: &mut Vec<u8>);

    /// Parses received bytes. Returns how many were consumed. The caller gives the rest again, followed by new
    /// bytes.
    fn read(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<usize, WireError>;

    /// The number of published messages that are not confirmed yet.
    fn unconfirmed(&self) -> u64;

    /// The number of requests that the server has not answered yet.
    fn unanswered(&self) -> usize;
}

impl fmt::Debug for dyn Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

/// An event of a server.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// The server has accepted us: topics and messages may follow.
    Ready,
    /// The server has subscribed us.
    Subscribed(Topic),
    /// The server has ended a subscription.
    Unsubscribed(Topic),
    /// A message was published.
    Message(Source<'a>, &'a [u8]),
    /// A message was too long and is skipped.
    TooLong,
    /// The server has accepted so many messages.
    Published(u64),
    /// The server refused a message.
    NotPublished(&'a str),
    /// The server refused a topic.
    Refused(Topic, &'a str),
    /// The slots of the cluster's nodes.
    Slots(Vec<SlotRange>),
    /// A request concerns a slot of another server.
    Moved,
    /// Other servers that have the same messages.
    Servers(Vec<Server>),
}

/// The slots of one node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotRange {
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// Empty: the server that was queried.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Why a link must end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WireError {
    /// The server refuses the connection.
    #[error("the server refused us: {0}")]
    Refused(String),
    /// The server violated the protocol.
    #[error("the server does not speak the protocol: {0}")]
    Protocol(&'static str),
    /// The server ended the connection with a reason.
    #[error("the server ended the connection: {0}")]
    Ended(String),
}

/// A server's text, shortened and escaped for an error message.
pub(crate) fn shown(text: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|letter| !letter.is_control())
        .take(SHOWN)
        .collect();
    shown
}

const SHOWN: usize = 200;
