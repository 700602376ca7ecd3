//! What a node asks the stand-in for Redis, and how that fails.

use super::store::Channel;
use crate::store::link::Fault;
use crate::store::presence::register::{Place, Request};
use crate::store::presence::roll::Seat;
use crate::store::presence::session::Session;

/// What was asked for. What has an answer is told by that.
pub(super) enum Command {
    FollowSessions,
    Unsubscribe(Channel),
    Beat(Session, bool),
    Subscribe(Place),
    Index(Place, u32),
    Page(Place, (Session, u32), u64),
    Check(Channel, Session, u64),
    Change(Channel, Session, (u64, u64), Vec<Result<Seat, u64>>),
    Write(Channel, Session, Whole),
    Purge(Channel, Session),
}

impl Command {
    /// What is asked for, and the error of it, if this failure hits it.
    pub(super) fn fail(self, failure: Option<Failure>) -> Result<Self, (Option<Request>, Fault)> {
        let fault = match (failure, &self) {
            (Some(Failure::Refuses), _) => Fault::Refused(String::new()),
            (Some(Failure::LacksScripts), Self::Beat(..) | Self::Change(..) | Self::Write(..)) => {
                Fault::NoScript
            }
            _ => return Ok(self),
        };
        let request = match self {
            Self::Subscribe(place) => Request::Subscribe(place),
            Self::Beat(..) => Request::Beat,
            Self::Index(place, look) => Request::Index(place, look),
            Self::Page(place, (session, mark), _) => Request::Page(place, session, mark),
            Self::Check(channel, session, version) => Request::Check(channel, session, version),
            Self::Change(channel, session, ..) | Self::Write(channel, session, _) => {
                Request::Write(channel, session)
            }
            // they are never refused alone
            Self::FollowSessions | Self::Unsubscribe(_) => return Ok(self),
            Self::Purge(..) => return Err((None, fault)),
        };
        Err((Some(request), fault))
    }
}

/// An owned part of all members.
pub(super) struct Whole {
    pub(super) is_first: bool,
    pub(super) version: Option<u64>,
    pub(super) seats: Vec<Seat>,
    pub(super) old: Option<Session>,
}

/// How a store fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It does nothing.
    Refuses,
    /// It writes, and tells nobody.
    IsMute,
    /// It does not know the scripts.
    LacksScripts,
}
