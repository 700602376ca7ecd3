//! The commands of members in the store, most of which call scripts. Owns the order of their arguments.

use redis::{Cmd, cmd};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::super::names::Names;
use super::message;
use super::register::Part;
use super::roll::Seat;
use super::session::Session;

/// See the module.
#[derive(Debug)]
pub(super) struct Scripts {
    names: Names,
    change: Box<str>,
    write: Box<str>,
    beat: Box<str>,
    is_cluster: bool,
}

impl Scripts {
    pub(super) fn new(names: Names, is_cluster: bool) -> Self {
        Self {
            names,
            change: name(CHANGE),
            write: name(WRITE),
            beat: name(BEAT),
            is_cluster,
        }
    }

    /// Puts the scripts into the store.
    pub(super) fn load() -> [Cmd; 3] {
        [CHANGE, WRITE, BEAT].map(|text| {
            let mut load = cmd("SCRIPT");
            load.arg("LOAD").arg(text);
            load
        })
    }

    /// Writes what has changed behind the change `before`.
    pub(super) fn change(
        &self,
        channel: &[u8],
        session: Session,
        (before, version): (u64, u64),
        seats: &[Result<Seat, u64>],
    ) -> Cmd {
        let mut call = cmd("EVALSHA");
        call.arg(&*self.change)
            .arg(2)
            .arg(self.names.index(channel))
            .arg(self.members(channel, session))
            .arg(session.to_string())
            .arg(before)
            .arg(version)
            .arg(LIFE_MS)
            .arg(self.names.member_topic(channel))
            .arg(message::change(session, (before, version), seats))
            .arg(self.verb());
        let left: Vec<_> = seats
            .iter()
            .filter_map(|seat| seat.as_ref().err())
            .collect();
        call.arg(left.len());
        for socket in left {
            call.arg(&message::field(*socket)[..]);
        }
        for seat in seats.iter().flatten() {
            call.arg(&message::field(seat.socket)[..])
                .arg(message::value(seat));
        }
        call
    }

    /// Writes a part of all members.
    pub(super) fn write(&self, channel: &[u8], session: Session, part: Part<'_>) -> Cmd {
        let old = part.old.filter(|old| *old != session);
        let mut call = cmd("EVALSHA");
        call.arg(&*self.write)
            .arg(3)
            .arg(self.names.index(channel))
            .arg(self.members(channel, session))
            .arg(self.members(channel, old.unwrap_or(session)))
            .arg(session.to_string());
        match part.version {
            Some(version) => call.arg(version),
            None => call.arg("w"),
        };
        call.arg(if part.is_first { "1" } else { "0" })
            .arg(LIFE_MS)
            .arg(self.names.member_topic(channel))
            .arg(message::reset(session, part.version.unwrap_or_default()))
            .arg(self.verb())
            .arg(old.map_or_else(String::new, |old| old.to_string()));
        for seat in part.seats {
            call.arg(&message::field(seat.socket)[..])
                .arg(message::value(seat));
        }
        call
    }

    /// Extends the life of a session, or begins it.
    pub(super) fn beat(&self, session: Session, begins: bool) -> Cmd {
        let mut call = cmd("EVALSHA");
        call.arg(&*self.beat)
            .arg(1)
            .arg(self.names.lease(LEASES))
            .arg(session.to_string())
            .arg(SESSION_MS)
            .arg(if begins { "1" } else { "0" })
            .arg(MOST_SESSIONS);
        call
    }

    /// Ends a session, and tells it.
    pub(super) fn leave(&self, session: Session) -> [Cmd; 2] {
        let mut remove = cmd("ZREM");
        remove
            .arg(self.names.lease(LEASES))
            .arg(session.to_string());
        let mut tell = cmd(self.verb());
        tell.arg(self.topic(None)).arg(message::gone(session));
        [remove, tell]
    }

    /// Marks that a server has not lost what was written, and returns the mark that was there.
    pub(super) fn mark(&self, tag: &[u8], session: Session) -> Cmd {
        let node = format!("{:016x}", session.node);
        let mut mark = cmd("SET");
        mark.arg([self.names.mark(tag), node.into_bytes()].concat())
            .arg(session.to_string())
            .arg("PX")
            .arg(LIFE_MS)
            .arg("GET");
        mark
    }

    /// Removes what a session has written in a channel.
    pub(super) fn purge(&self, channel: &[u8], session: Session) -> [Cmd; 2] {
        let mut place = cmd("HDEL");
        place
            .arg(self.names.index(channel))
            .arg(session.to_string());
        let mut members = cmd("DEL");
        members.arg(self.members(channel, session));
        [place, members]
    }

    /// Lets what a session has written live on.
    pub(super) fn prolong(&self, channel: &[u8], session: Session) -> [Cmd; 2] {
        [self.names.index(channel), self.members(channel, session)].map(|key| {
            let mut prolong = cmd("PEXPIRE");
            prolong.arg(key).arg(LIFE_MS);
            prolong
        })
    }

    /// Asks for the number of a session's last change.
    pub(super) fn version(&self, channel: &[u8], session: Session) -> Cmd {
        let mut version = cmd("HGET");
        version
            .arg(self.names.index(channel))
            .arg(session.to_string());
        version
    }

    /// Reads who has members.
    pub(super) fn index(&self, channel: &[u8]) -> Cmd {
        let mut index = cmd("HGETALL");
        index.arg(self.names.index(channel));
        index
    }

    /// Reads a page of the members of a session.
    pub(super) fn page(&self, channel: &[u8], session: Session, cursor: &str) -> Cmd {
        let mut page = cmd("HSCAN");
        page.arg(self.members(channel, session))
            .arg(cursor)
            .arg("COUNT")
            .arg(PAGE_MEMBERS);
        page
    }

    /// Subscribes to what is told of a channel, or `None`: of sessions.
    pub(super) fn subscribe(&self, channel: Option<&[u8]>) -> Cmd {
        let mut subscribe = cmd(if self.is_cluster {
            "SSUBSCRIBE"
        } else {
            "SUBSCRIBE"
        });
        subscribe.arg(self.topic(channel));
        subscribe
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, channel: &[u8]) -> Cmd {
        let mut unsubscribe = cmd(if self.is_cluster {
            "SUNSUBSCRIBE"
        } else {
            "UNSUBSCRIBE"
        });
        unsubscribe.arg(self.topic(Some(channel)));
        unsubscribe
    }

    /// The topic of a channel, or of sessions.
    pub(super) fn topic(&self, channel: Option<&[u8]>) -> Vec<u8> {
        match channel {
            Some(channel) => self.names.member_topic(channel),
            None => self.names.lease_topic(LEASES),
        }
    }

    /// The names of channels.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    fn members(&self, channel: &[u8], session: Session) -> Vec<u8> {
        [self.names.members(channel), hex(session)].concat()
    }

    /// In a cluster, what is published goes to the nodes of its slot only.
    fn verb(&self) -> &'static str {
        if self.is_cluster {
            "SPUBLISH"
        } else {
            "PUBLISH"
        }
    }
}

fn hex(session: Session) -> Vec<u8> {
    session.to_string().into_bytes()
}

/// The name under which a store knows a script.
fn name(text: &str) -> Box<str> {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    crate::encoding::hex(digest.as_ref()).into()
}

const CHANGE: &str = include_str!("change.lua");

const WRITE: &str = include_str!("write.lua");

const BEAT: &str = include_str!("beat.lua");

/// The name of what concerns all sessions; decides about its slot.
pub(super) const LEASES: &[u8] = b"nodes";

/// How long a session lives without being extended. With the time between two beats it is less than the 15 seconds after which
/// a dead node's members have to be gone.
const SESSION_MS: u64 = 9_000;

/// How long members stay that nobody prolongs or removes: those of channels that nobody reads after all nodes have died.
const LIFE_MS: u64 = 6 * 60 * 60 * 1000;

/// The most sessions that are known at a time.
const MOST_SESSIONS: usize = 4096;

/// About the most members of a page.
const PAGE_MEMBERS: usize = 256;
