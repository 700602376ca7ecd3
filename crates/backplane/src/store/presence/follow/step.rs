//! What a follower needs and passes on, and what it is given. Values only.

use super::super::roll::Seat;
use super::super::session::Session;

/// What a follower needs, or passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Step {
    /// The index must be read.
    Index,
    /// A page of the members of a session must be read, which [`Follower::sent`](super::Follower::sent) describes.
    Page(Session),
    /// The same, because a change was not the next one.
    Repair(Session),
    Put {
        node: u64,
        mark: u32,
        seats: Vec<Seat>,
    },
    Left {
        node: u64,
        sockets: Vec<u64>,
    },
    /// All members of a node that were not put with this mark have left.
    Sweep {
        node: u64,
        mark: u32,
    },
    /// Everything is known, of these nodes.
    Filled(Vec<u64>),
}

/// A page of a session's members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Page {
    pub(in super::super) seats: Vec<Seat>,
    /// Changes that are newer than what later pages have. `Err`: the socket has left.
    pub(in super::super) changes: Vec<Result<Seat, u64>>,
    /// Where the next one begins; `None`: this was the last one.
    pub(in super::super) next: Option<Box<str>>,
}
