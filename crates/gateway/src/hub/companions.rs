//! Members of channels on other nodes: what this node is told of them, and who waits until they are known. Which channels are
//! followed is decided by [`Rosters`](super::rosters::Rosters).

use std::sync::Arc;
use std::time::Instant;

use millrace_backplane::store::Seat;
use millrace_core::{MemberId, OtherMembers, ShardSet, SocketId};
use millrace_protocol::v1;

use super::asking::Asked;
use super::rosters::{Asker, Filled, Readiness};
use super::teller::{Outcome, Teller};
use super::{Hub, Rosters};
use crate::config::ChannelTerms;
use crate::event::{Place, Question};

impl Hub {
    /// In which channels this node follows the members of other nodes.
    pub(crate) fn rosters(&self) -> &Arc<Rosters> {
        &self.rosters
    }

    /// Sets whether other nodes have members, after the terms of channels are set.
    pub(crate) fn set_rosters(&self, is_on: bool, terms: &[ChannelTerms]) {
        self.rosters
            .set(is_on, terms.iter().map(|one| one.presence));
        self.core.share_presence(is_on);
    }

    /// Whether a session can read the members of all nodes; if that is awaited, it is told by the number of its operation.
    pub(crate) fn session_reads_members(
        &self,
        channel: &[u8],
        (socket, number): (SocketId, u32),
    ) -> Readiness {
        let teller = || Teller::Session(socket, number);
        self.ready(channel, Asker::Client, teller)
    }

    /// Without presence nothing is awaited: there are no members.
    fn ready(&self, channel: &[u8], asker: Asker, teller: impl FnOnce() -> Teller) -> Readiness {
        if self.core.has_presence(channel) {
            self.rosters.ready(channel, asker, teller)
        } else {
            Readiness::Known
        }
    }

    /// Whether other nodes have members, so that calls for them may be answered later.
    pub fn shares_presence(&self) -> bool {
        self.rosters.is_on()
    }

    /// Has a thread told, with `true` for an answer, when the members of all nodes can be read. `None`: they can now. The
    /// inner `None`: too many questions wait.
    pub fn when_members_known(
        &self,
        channel: &[u8],
        (number, answers): Asked<'_>,
    ) -> Option<Option<Arc<Place>>> {
        if !self.rosters.is_on() {
            return None;
        }
        let Some(place) = self.place() else {
            return Some(None);
        };
        let asker = || Teller::Asker(Question::new(number, answers, &place));
        match self.ready(channel, Asker::Application, asker) {
            Readiness::Known => {
                place.free();
                None
            }
            Readiness::Awaited => Some(Some(place)),
            Readiness::Unknown => {
                asker().tell(self, Outcome::MembersUnknown);
                Some(Some(place))
            }
        }
    }

    /// The number of this node; 0 without others.
    pub fn node(&self) -> u64 {
        let uplink = self.uplink.get();
        uplink.and_then(|uplink| uplink.node()).unwrap_or(0)
    }

    /// A member as clients see it.
    pub(crate) fn member_name(&self, id: MemberId) -> String {
        match id.node {
            0 => self.socket_name(id.socket),
            node => super::clients::name_of(node, id.socket),
        }
    }

    /// The member with this name, which need not exist; `None`: it is no name. Its node is named by its number.
    pub(crate) fn member_named(&self, name: &str) -> Option<MemberId> {
        let Some((node, socket)) = name.split_once('-') else {
            let socket = self.socket_named(name)?;
            return Some(MemberId { node: 0, socket });
        };
        let number = u64::from_str_radix(node, 16).ok()?;
        let is_socket = socket.bytes().all(|byte| byte.is_ascii_digit());
        let socket = socket.parse().ok().and_then(SocketId::new);
        let socket = socket.filter(|_| is_socket && node == format!("{number:016x}"))?;
        (self.node() != 0).then_some(MemberId {
            node: number,
            socket,
        })
    }
}

/// What the store of members tells.
impl Hub {
    /// Another node has these members.
    pub(crate) fn put_members(
        &self,
        channel: &[u8],
        (node, mark): (u64, u32),
        seats: &[Seat],
        dirty: &mut ShardSet,
    ) {
        let infos: Vec<_> = seats.iter().map(info).collect();
        let members = seats.iter().zip(&infos).filter_map(|(seat, info)| {
            Some((SocketId::new(seat.socket)?, seat.since_ms, info.as_deref()))
        });
        let members: Vec<_> = members.collect();
        let others = OtherMembers {
            node,
            mark,
            members: &members,
        };
        let tells = || self.rosters.tells(channel);
        let left_out = self
            .core
            .put_members(channel, &others, tells, &mut self.poster(dirty));
        if left_out > 0 {
            self.report(
                "ERR_MILLRACE_PRESENCE_FULL",
                "members of other nodes are left out, because the infos of all members would take too much",
            );
        }
    }

    /// Members of another node have left.
    pub(crate) fn members_left(
        &self,
        channel: &[u8],
        (node, sockets): (u64, &[u64]),
        dirty: &mut ShardSet,
    ) {
        let sockets: Vec<_> = sockets.iter().copied().filter_map(SocketId::new).collect();
        self.core
            .drop_members(channel, (node, &sockets), &mut self.poster(dirty));
    }

    /// All members of another node have left that were not put with this mark.
    pub(crate) fn sweep_members(&self, channel: &[u8], of: (u64, u32), dirty: &mut ShardSet) {
        let tells = self.rosters.is_known(channel);
        self.core
            .sweep_members(channel, of, tells, &mut self.poster(dirty));
    }

    /// The members of all nodes are known, by this following of the channel: those of these.
    pub(crate) fn members_known(
        &self,
        (channel, following): (&[u8], u64),
        nodes: &[u64],
        dirty: &mut ShardSet,
    ) {
        if !self.rosters.is_followed_by(channel, following) {
            return;
        }
        let tells = self.rosters.is_known(channel);
        self.core
            .keep_nodes(channel, nodes, tells, &mut self.poster(dirty));
        let Filled { waiting, news } = self.rosters.filled(channel, following);
        if let Some(in_vain) = news {
            self.core
                .tell_number(channel, in_vain, &mut self.poster(dirty));
        }
        for teller in waiting {
            teller.tell(self, Outcome::Followed);
        }
    }

    /// The members of other nodes cannot be read now, by this following of the channel.
    pub(crate) fn members_unknown(&self, channel: &[u8], following: u64) {
        for teller in self.rosters.failed(channel, following) {
            teller.tell(self, Outcome::MembersUnknown);
        }
    }

    /// The store of members has ended.
    pub(crate) fn attendance_ended(&self) {
        let (channels, waiting) = self.rosters.disconnect();
        for channel in channels {
            self.core.forget_others(&channel, || true);
        }
        for teller in waiting {
            teller.tell(self, Outcome::MembersUnknown);
        }
    }

    /// Forgets channels that nobody needs, and answers those who have waited too long. Called from time to time.
    pub(super) fn sweep_rosters(&self) {
        if !self.rosters.is_on() {
            return;
        }
        let now = Instant::now();
        let due = self.rosters.due(now);
        for teller in due.waiting {
            teller.tell(self, Outcome::MembersUnknown);
        }
        for channel in due.unused {
            self.core
                .forget_others(&channel, || self.rosters.forget(&channel, now));
        }
    }
}

/// What a member says of itself, in one line. What is no JSON is left out: another program wrote it.
fn info(seat: &Seat) -> Option<String> {
    let info = seat.info.as_deref()?;
    v1::is_json(info).then(|| v1::compact(info))
}
