//! What a follower knows of the index and of each node. Values only.

use super::super::session::Session;
use super::reading::Reading;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Index {
    Known,
    /// It must be read.
    #[default]
    Wanted,
    /// It is being read.
    Sent,
    /// It must be read once more, because what was told meanwhile was not the next change.
    Outdated,
}

/// What was told of a node while the index was read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Newest {
    /// What is known of this session is newer than the index.
    Applied(Session),
    /// The index may not have it yet.
    Unknown(Session, u64),
}

#[derive(Debug)]
pub(super) struct Known {
    pub(super) session: Session,
    /// The last change that was passed on; `None`: not known, until the index was read.
    pub(super) version: Option<u64>,
    pub(super) reading: Option<Reading>,
}
