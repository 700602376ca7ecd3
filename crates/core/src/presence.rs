//! What is said about presence: what a member says of itself, and what the others are told. Owns these values and the bytes
//! that they take in all; knows no channel.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::id::{ChannelId, SocketId};
use crate::limits::INFO_BYTES;
use crate::name::Name;
use crate::route::Route;
use crate::sync::{AtomicU64, Ordering};

/// The bounds of presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresenceBounds {
    /// Members of a channel above which only their number is told; also the changes of a channel between two batches
    /// above which that is told instead.
    pub events: usize,
    /// Bytes of all infos, each charged its length + [`INFO_CHARGE`].
    pub bytes: u64,
}

/// What an info is charged beside its length, in bytes.
pub const INFO_CHARGE: u64 = 128;

/// Why an info is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InfoError {
    /// It is longer than [`INFO_BYTES`].
    #[error("an info cannot exceed {INFO_BYTES} bytes")]
    TooLong,
    /// All infos together would take too much.
    #[error("the infos of all members cannot exceed {most} bytes")]
    TooMany {
        /// The most bytes.
        most: u64,
    },
    /// No channel has presence.
    #[error("no channel has presence")]
    NoPresence,
}

/// What a member says of itself: JSON, which nobody reads here. Shared by all who hold it, and charged until the last of
/// them is gone. Two are equal if their texts are.
#[derive(Clone)]
pub struct Info(Arc<Charged>);

struct Charged {
    text: Box<str>,
    totals: Arc<Totals>,
}

/// What all lock shards of one core share.
pub(crate) struct Totals {
    most_events: AtomicU64,
    most_bytes: AtomicU64,
    bytes: AtomicU64,
    /// 1: something is to be told, and the [time for it](crate::Post::presence_is_due) has been asked for.
    due: AtomicU64,
}

impl Totals {
    pub(crate) fn new() -> Self {
        Self {
            most_events: AtomicU64::new(0),
            most_bytes: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            due: AtomicU64::new(0),
        }
    }

    pub(crate) fn bound(&self, bounds: PresenceBounds) {
        let events = u64::try_from(bounds.events).unwrap_or(u64::MAX);
        self.most_events.store(events, Ordering::Relaxed);
        self.most_bytes.store(bounds.bytes, Ordering::Relaxed);
    }

    /// See [`PresenceBounds::events`].
    pub(crate) fn most_events(&self) -> usize {
        usize::try_from(self.most_events.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Something is to be told. True: the caller has to see that it is.
    pub(crate) fn is_due_now(&self) -> bool {
        self.due.swap(1, Ordering::SeqCst) == 0
    }

    /// What is noted from now on needs another time.
    pub(crate) fn begin_telling(&self) {
        self.due.store(0, Ordering::SeqCst);
    }
}

impl Info {
    pub(crate) fn new(text: &str, totals: &Arc<Totals>) -> Result<Self, InfoError> {
        if text.len() > INFO_BYTES {
            return Err(InfoError::TooLong);
        }
        let charge = charge(text);
        let before = totals.bytes.fetch_add(charge, Ordering::Relaxed);
        let most = totals.most_bytes.load(Ordering::Relaxed);
        if before.saturating_add(charge) > most {
            totals.bytes.fetch_sub(charge, Ordering::Relaxed);
            return Err(InfoError::TooMany { most });
        }
        Ok(Self(Arc::new(Charged {
            text: text.into(),
            totals: Arc::clone(totals),
        })))
    }

    /// The JSON.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        let charge = charge(&self.text);
        self.totals.bytes.fetch_sub(charge, Ordering::Relaxed);
    }
}

fn charge(text: &str) -> u64 {
    u64::try_from(text.len())
        .unwrap_or(u64::MAX)
        .saturating_add(INFO_CHARGE)
}

impl PartialEq for Info {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Info {}

impl Hash for Info {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Which socket of which node is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId {
    /// The number of the node; 0: this one, unless it is said otherwise.
    pub node: u64,
    /// The socket.
    pub socket: SocketId,
}

impl MemberId {
    /// A socket of this node.
    pub const fn here(socket: SocketId) -> Self {
        Self { node: 0, socket }
    }

    /// All that a node may have.
    pub(crate) fn all_of(node: u64) -> RangeInclusive<Self> {
        let at = |socket| Self { node, socket };
        at(SocketId::LEAST)..=at(SocketId::MOST)
    }
}

/// A member on another node. It is charged as an info until it is dropped, whether it has one or not.
#[derive(Clone, Debug)]
pub(crate) struct OtherMember {
    pub(crate) id: MemberId,
    pub(crate) since_ms: u64,
    /// Empty: it has none.
    said: Info,
}

impl OtherMember {
    pub(crate) fn new(
        id: MemberId,
        (since_ms, info): (u64, Option<&str>),
        totals: &Arc<Totals>,
    ) -> Result<Self, InfoError> {
        let said = Info::new(info.unwrap_or_default(), totals)?;
        Ok(Self { id, since_ms, said })
    }

    pub(crate) fn info(&self) -> Option<&Info> {
        (!self.said.text().is_empty()).then_some(&self.said)
    }
}

/// What other nodes have not been given yet of the members of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// These have changed; `None`: they have left.
    Changes(Vec<(SocketId, Option<MemberState>)>),
    /// What has changed is not known: everything has to be given.
    Whole,
}

/// A member of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// The number of the node that has the socket; 0: this one.
    pub node: u64,
    /// The socket.
    pub socket: SocketId,
    /// When it became a member, in milliseconds of Unix time.
    pub since_ms: u64,
    /// What it says of itself.
    pub info: Option<Info>,
}

impl MemberState {
    /// Which one it is.
    pub fn id(&self) -> MemberId {
        MemberId {
            node: self.node,
            socket: self.socket,
        }
    }
}

/// How many members a channel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCount {
    /// Different infos; to have none is one of them.
    pub members: usize,
    /// Sockets.
    pub sockets: usize,
}

/// What the subscribers of a channel are told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The channel's recipient list.
    pub list: ChannelId,
    /// The channel's name.
    pub name: Name,
    /// What has changed.
    pub news: News,
    /// Subscribers that read on in the past, which are not on the list yet.
    pub behind: Vec<Route>,
}

/// What has changed among the members of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Their number.
    Count(usize),
    /// These. A socket that has left and come back is in both lists.
    Members(Changes),
}

/// The changes of members, each list in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// They are gone.
    pub left: Vec<MemberId>,
    /// They are new.
    pub joined: Vec<(MemberId, Option<Info>)>,
    /// They say something else of themselves.
    pub updated: Vec<(MemberId, Option<Info>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_info_is_charged_until_its_last_holder_is_gone() {
        let bounds = PresenceBounds {
            events: 1,
            bytes: 2 * INFO_CHARGE + 3,
        };
        let totals = Arc::new(Totals::new());
        totals.bound(bounds);
        let one = Info::new("1", &totals).unwrap();
        let two = Info::new("22", &totals).unwrap();
        assert_eq!(totals.bytes(), bounds.bytes);
        let full = InfoError::TooMany { most: bounds.bytes };
        assert_eq!(Info::new("", &totals), Err(full));
        let again = one.clone();
        drop(one);
        assert_eq!(Info::new("", &totals), Err(full));
        drop(again);
        let three = Info::new("", &totals).unwrap();
        drop((two, three));
        assert_eq!(totals.bytes(), 0);
        let long = "x".repeat(INFO_BYTES + 1);
        assert_eq!(Info::new(&long, &totals), Err(InfoError::TooLong));
        assert_eq!(totals.bytes(), 0);
    }
}
