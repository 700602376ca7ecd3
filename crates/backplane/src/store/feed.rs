//! What the store of channels with history and the node tell each other. Owns these values and the trait; decides
//! nothing.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use millrace_core::{HistoryTerms, Kind, Position};

use super::stats::StoreStats;

/// A message to be published in a channel with history.
#[derive(Clone, Debug)]
pub struct Append {
    /// The channel's name, without the prefix of the backplane.
    pub channel: Box<[u8]>,
    /// How much of the channel's past is kept.
    pub terms: HistoryTerms,
    /// Text or binary.
    pub kind: Kind,
    /// The message.
    pub payload: Bytes,
    /// The number of the socket of this node that publishes it, if a client does.
    pub from: Option<u64>,
    /// Names the message, so that it is not published twice while the first is kept; at most 64 bytes.
    pub key: Option<Box<[u8]>>,
    /// A number of the node's own, by which it knows the message when it comes back ([`Entry::mark`]); 0: none.
    pub mark: u64,
}

/// What came of an [`Append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Where the message is in its channel.
    pub position: Position,
    /// Whether a message with the same key was published before: nothing was done, and the position is that of the first.
    pub is_repeated: bool,
}

/// A message as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the channel, from 1 on.
    pub offset: u64,
    /// When it was published, by the store's clock, in milliseconds of Unix time; never less than that of the one before.
    pub unix_ms: u64,
    /// Text or binary.
    pub kind: Kind,
    /// The message.
    pub payload: Bytes,
    /// The node and the socket that published it, if a client did.
    pub from: Option<(u64, u64)>,
    /// The mark that this node gave it; 0: another node published it, or it had none.
    pub mark: u64,
}

/// What a channel has kept in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPast {
    /// The newest message, kept or not. Offset 0: there was none yet.
    pub position: Position,
    /// The kept messages that were asked for, in the order asked for. Ascending ones have no hole.
    pub entries: Vec<Entry>,
}

/// Which kept messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Only messages with a greater offset; 0: all.
    pub after: u64,
    /// The most messages.
    pub most: usize,
    /// With so many bytes of messages, no more are given.
    pub most_bytes: usize,
    /// The newest first.
    pub is_reverse: bool,
}

/// Why the store did not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// It cannot be reached; nothing was done.
    Away,
    /// The link was lost, or no answer came within five seconds: whether the message was published is not known.
    Unknown,
    /// Too much waits for it already; nothing was done.
    Full,
    /// It refused: wrong type of key, no permission, no memory. Nothing was done.
    Refused,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Away => "the store of histories cannot be reached",
            Self::Unknown => {
                "no answer came from the store: whether the message was published is not known"
            }
            Self::Full => "too many publications wait for the store",
            Self::Refused => "the store refused the command",
        })
    }
}

impl std::error::Error for StoreError {}

/// Takes an answer; called once, on the store's thread.
pub type Done<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// What the node does with a channel that it [follows](crate::store::Store::follow). All calls come from the store's
/// thread, those of one channel in order; they do not wait.
pub trait Feed: Send + Sync {
    /// The channel is followed from here on: what it has kept. Called first, and again when its numbers began anew or
    /// messages were lost that the store no longer has: a subscriber that is behind `past` has a gap then.
    fn filled(&self, channel: &[u8], past: StoredPast);

    /// The next message: its offset is one more than that of the one before.
    fn next(&self, channel: &[u8], entry: Entry);

    /// The channel could not be followed: the store is away or refused. Called instead of the first
    /// [`filled`](Self::filled), not after it; the store tries again by itself.
    fn failed(&self, channel: &[u8], error: StoreError);

    /// Everything that has arrived at once was passed on: wake who was given something.
    fn flush(&self);

    /// Something that an operator should know, such as a message of a foreign program in a channel's name.
    fn report(&self, message: &str);
}

/// What the node does with a store; implemented by [`Store`](crate::store::Store). No call waits or blocks.
pub trait History: Send + Sync {
    /// Publishes a message. It comes back by [`Feed::next`] if its channel is followed, before or after `done`.
    fn append(&self, message: Append, done: Done<Appended>);

    /// Begins to follow a channel. Without effect if it is followed.
    fn follow(&self, channel: &[u8], terms: HistoryTerms);

    /// Ends following it: no call of the [`Feed`] begins for it after the next [`flush`](Feed::flush).
    fn forget(&self, channel: &[u8]);

    /// Reads kept messages, of a channel that need not be followed.
    fn read(&self, channel: &[u8], terms: HistoryTerms, range: Range, done: Done<StoredPast>);

    /// The state and the counters.
    fn stats(&self) -> StoreStats;
}

/// A shared [`History`].
pub type SharedHistory = Arc<dyn History>;
