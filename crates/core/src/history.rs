//! What is said about history: the terms that a channel has, positions in it, and where a subscriber begins. Owns these
//! values; keeps no message.

use std::fmt;

use crate::id::{ChannelId, SocketId};
use crate::pattern::Pattern;

/// What applies to the channels that a pattern matches, as far as the core has to know it.
#[derive(Clone, Debug)]
pub struct ChannelTerms {
    /// The channels.
    pub pattern: Pattern,
    /// How much of the past is kept; `None`: nothing, and messages have no positions.
    pub history: Option<HistoryTerms>,
}

/// How much of a channel's past is kept: a message goes when the first of the two bounds is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryTerms {
    /// The most messages, at least one.
    pub messages: u32,
    /// The age in milliseconds from which on a message is gone.
    pub age_ms: u64,
}

/// The bounds of what all channels together keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Bytes: each message is charged its length + [`ENTRY_CHARGE`], its key the key's length, and each channel that
    /// keeps messages the length of its name + [`NAME_CHARGE`].
    pub bytes: u64,
    /// Channels that keep messages and have no subscriber.
    pub channels: u64,
}

/// What a kept message is charged beside its length, in bytes.
pub const ENTRY_CHARGE: u64 = 128;

/// The highest offset that is taken from a store: JavaScript's numbers are exact up to there.
pub const MOST_OFFSET: u64 = (1 << 53) - 1;

/// What a channel that keeps messages is charged beside the length of its name, in bytes.
pub const NAME_CHARGE: u64 = 512;

/// Names a time in the life of a channel in which its offsets go on without a hole. It changes whenever they begin
/// anew. Its text is 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(u64);

/// A place in the sequence of a channel's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// When the offset counts.
    pub epoch: Epoch,
    /// The number of the message, from 1 on; 0 is before the first.
    pub offset: u64,
}

/// What a message of a channel with history has beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its position.
    pub position: Position,
    /// When it was published, in milliseconds of Unix time; never less than that of the message before it.
    pub unix_ms: u64,
    /// The socket that published it, if a client did.
    pub from: Option<SocketId>,
}

/// What a listing shows of a channel's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastSummary {
    /// The position of the newest message.
    pub position: Position,
    /// The messages that are kept.
    pub messages: usize,
    /// What they are charged, in bytes.
    pub bytes: u64,
    /// Subscribers that read on in the past.
    pub behind: usize,
}

/// How a message is published, beside its payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// Sockets that do not get it.
    pub except: &'a [SocketId],
    /// The socket that publishes it, if a client does.
    pub from: Option<SocketId>,
    /// Names the message, so that it is not published twice: a later one with the same key is dropped for as long as
    /// this one is kept. Without history it has no effect.
    pub key: Option<&'a [u8]>,
    /// Passed on to [`Post::store`](crate::Post::store): who is told what comes of it there; 0 is nobody.
    pub ticket: u64,
}

/// What came of a publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// The deliveries that were posted.
    pub deliveries: usize,
    /// Where the message is in its channel; `None`: the channel has no history.
    pub position: Option<Position>,
    /// Whether a message with the same key was published before. Then nothing was done, and the position is that of
    /// the first.
    pub is_repeated: bool,
    /// Whether a [store](crate::Post::store) has it: then the deliveries are the channel's subscribers at this moment, and
    /// what comes of it is known later.
    pub is_stored: bool,
}

/// A message as a store of histories has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored<K> {
    /// Its number in the channel.
    pub offset: u64,
    /// When it was published, in milliseconds of Unix time.
    pub unix_ms: u64,
    /// The socket that published it, if a client did.
    pub from: Option<SocketId>,
    /// The message in the form in which it is kept.
    pub message: K,
    /// Its length in bytes.
    pub length: usize,
}

/// Where a subscriber begins in a channel with history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the next message.
    Next,
    /// With the message behind this position.
    Since(Position),
    /// Behind a position that is certainly gone, because its epoch is none of ours.
    Gone,
    /// With so many messages of the past.
    Last(u32),
}

/// How a subscriber entered a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The channel's newest message at that moment; `None`: the channel has no history.
    pub position: Option<Position>,
    /// Whether nothing is missing behind the position that the subscriber gave; `None`: it gave none.
    pub recovered: Option<bool>,
    /// Whether the subscription is new: the application's, or that of the socket's client, whichever was asked for.
    pub is_new: bool,
}

/// What the I/O shard of a subscriber is told when it enters. With a cursor the subscriber is *behind*: nothing live is
/// posted for it until its shard has [read on](crate::Core::read_on) to the newest message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entering {
    /// The channel's recipient list.
    pub list: ChannelId,
    /// What the caller is told.
    pub entered: Entered,
    /// Where the subscriber reads on; `None`: it is live, or [goes on](Self::goes_on).
    pub cursor: Option<Cursor>,
    /// Whether it was subscribed already, and goes on where it was: live, or behind.
    pub goes_on: bool,
    /// What the caller passed, for example the number of a request; 0 if a client did not ask.
    pub tag: u64,
}

impl Entering {
    /// How many messages of the past follow, up to the newest at that moment.
    pub fn follow(&self) -> u64 {
        let newest = self.entered.position.map_or(0, |position| position.offset);
        let next = self.cursor.map_or(u64::MAX, |cursor| cursor.next);
        (newest + 1).saturating_sub(next)
    }
}

/// What is known of the messages that the store of a [followed](crate::Core::fill) channel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InStore {
    /// The oldest message of which is known that it is there, with all behind it.
    pub oldest: Position,
    /// Whether nothing is in front of it.
    pub is_all: bool,
}

/// A subscriber's place in a channel's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Differs from the number of any other cursor.
    pub id: u64,
    /// The offset of the next message.
    pub next: u64,
}

/// How much a subscriber that is behind takes in one step. A message counts as long as its charge, see
/// [`HistoryBounds::bytes`], and what it has beside that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most bytes of the first message.
    pub first: u64,
    /// The most bytes of all together, if they are several.
    pub all: u64,
    /// Bytes that each message has beside its charge, such as the channel's name in its frame.
    pub beside: u64,
}

/// A kept message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept<K> {
    /// Its number.
    pub number: Number,
    /// The message.
    pub message: K,
}

/// What is next for a subscriber that reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more, from this offset on. If nothing was read, the next message needs more room.
    Behind(u64),
    /// The messages from this position on, up to the offset `until` but not that one, are not kept here. They are read in the
    /// store of the channel, and the subscriber goes on behind them, or behind those that the store does not have either.
    Absent {
        /// The next message.
        from: Position,
        /// The oldest one that is kept here.
        until: u64,
    },
    /// It has everything and is live from now on.
    Live,
    /// It is no longer subscribed, or has another cursor now.
    Ended,
}

/// A step of a subscriber that reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The last message that is missing in front of what was read, because it went first. Not of a channel that is
    /// [followed](crate::Core::fill), where that is known only by its store.
    pub gap: Option<Position>,
    /// What is next.
    pub progress: Progress,
}

impl Epoch {
    /// The epoch with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The epoch with this text; `None`: no epoch has it.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        if text.len() != DIGITS || !text.iter().all(is_digit) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Start {
    /// Behind the position with this epoch in text form.
    pub fn since(epoch: &[u8], offset: u64) -> Self {
        Epoch::parse(epoch).map_or(Self::Gone, |epoch| Self::Since(Position { epoch, offset }))
    }
}

const DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_read_as_it_is_written() {
        for number in [0, 1, 0xfedc_ba98_7654_3210, u64::MAX] {
            let epoch = Epoch::new(number);
            assert_eq!(epoch.to_string().len(), 16);
            assert_eq!(Epoch::parse(epoch.to_string().as_bytes()), Some(epoch));
        }
        for text in [
            "",
            "0",
            "00000000000000000",
            "000000000000000G",
            "000000000000000F",
            "+00000000000000f",
        ] {
            assert_eq!(Epoch::parse(text.as_bytes()), None, "{text}");
            assert_eq!(Start::since(text.as_bytes(), 1), Start::Gone);
        }
    }
}
