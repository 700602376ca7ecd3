//! The members of channels on several nodes: what other nodes are given of ours, and what is known of theirs. Owns how this
//! reaches the tables; never asks another node.

use super::Core;
use crate::id::SocketId;
use crate::name::{Name, Space};
use crate::name_map::Hashed;
use crate::post::Post;
use crate::presence::{MemberId, MemberState, Unsaved};
use crate::rooms::Rooms;

/// What another node says of its members of a channel.
#[derive(Clone, Copy, Debug)]
pub struct OtherMembers<'a> {
    /// The number of the node, which is neither 0 nor that of this one.
    pub node: u64,
    /// What was seen with another mark may be [removed](Core::sweep_members).
    pub mark: u32,
    /// Each socket, since when it is a member, and its info as JSON.
    pub members: &'a [(SocketId, u64, Option<&'a str>)],
}

impl<K> Core<K> {
    /// Sets whether other nodes have members of the same channels. From then on what changes here is
    /// [noted](Post::unsaved) for them.
    pub fn share_presence(&self, is_shared: bool) {
        for mut table in self.channels.each() {
            if let Some(rooms) = table.rooms_mut() {
                rooms.share(is_shared);
            }
        }
    }

    /// Takes what other nodes have not been given yet of this node's members, at most so many changes of about so many bytes
    /// of infos.
    pub fn take_unsaved(&self, channel: &[u8], bounds: (usize, usize)) -> Unsaved {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        table
            .rooms_mut()
            .map_or(Unsaved::Whole, |rooms| rooms.take_unsaved(key, bounds))
    }

    /// Takes note that other nodes are going to be given [all members](Self::members_here) of this one. What changes from now
    /// on is noted.
    pub fn begin_saving(&self, channel: &[u8]) {
        let key = self.hashed(Space::Channel, channel);
        if let Some(rooms) = self.channel_table(key).rooms_mut() {
            rooms.begin_saving(key);
        }
    }

    /// At most so many members of this node behind a socket, in the order of the sockets.
    pub fn members_here(
        &self,
        channel: &[u8],
        after: Option<SocketId>,
        most: usize,
    ) -> Vec<MemberState> {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        table
            .rooms_mut()
            .map_or_else(Vec::new, |rooms| rooms.members_here(key, after, most))
    }

    /// Takes over what another node says of its members. `tells` returns whether subscribers are told; with `None` nothing
    /// is taken over. It is asked under the channel's lock and must not call the core. Returns how many were left out, because all infos
    /// together would take too much.
    pub fn put_members<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        others: &OtherMembers<'_>,
        tells: impl FnOnce() -> Option<bool>,
        post: &mut P,
    ) -> usize {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let Some(rooms) = table.rooms_of(key) else {
            return 0;
        };
        let Some(tells) = tells() else {
            return 0;
        };
        let name = Name::new(key.space, key.name);
        let (mut is_due, mut left_out) = (false, 0);
        for (socket, since_ms, info) in others.members {
            let id = MemberId {
                node: others.node,
                socket: *socket,
            };
            let how = (others.mark, tells);
            match rooms.put((key, &name), id, (*since_ms, *info), how) {
                Ok(due) => is_due |= due,
                Err(_) => left_out += 1,
            }
        }
        drop(table);
        if is_due {
            post.presence_is_due();
        }
        left_out
    }

    /// Members of another node have left.
    pub fn drop_members<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        (node, sockets): (u64, &[SocketId]),
        post: &mut P,
    ) {
        let id = |socket: &SocketId| MemberId {
            node,
            socket: *socket,
        };
        let ids = |_: &Rooms, _: Hashed<'_>| sockets.iter().map(id).collect();
        self.drop_found(channel, ids, true, post);
    }

    /// The members of another node that were not seen with this mark have left.
    pub fn sweep_members<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        (node, mark): (u64, u32),
        tells: bool,
        post: &mut P,
    ) {
        let is_old = |_, of: u32| of != mark;
        let old = |rooms: &Rooms, key: Hashed<'_>| rooms.others(key, Some(node), is_old);
        self.drop_found(channel, old, tells, post);
    }

    /// No other nodes have members than these, which are in ascending order.
    pub fn keep_nodes<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        nodes: &[u64],
        tells: bool,
        post: &mut P,
    ) {
        let is_gone = |id: MemberId, _| nodes.binary_search(&id.node).is_err();
        let gone = |rooms: &Rooms, key: Hashed<'_>| rooms.others(key, None, is_gone);
        self.drop_found(channel, gone, tells, post);
    }

    /// All members of other nodes are known from now on, of which subscribers were told nothing: those who were told a number
    /// that is wrong are told the right one. `in_vain`: a subscriber has asked for the members in vain, so that all are told to
    /// ask anew.
    pub fn tell_number<P: Post<Kept = K>>(&self, channel: &[u8], in_vain: bool, post: &mut P) {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let Some(rooms) = table.rooms_of(key) else {
            return;
        };
        let is_due = if in_vain {
            rooms.tell_again(key, &Name::new(key.space, key.name))
        } else {
            rooms.tell_number(key)
        };
        drop(table);
        if is_due {
            post.presence_is_due();
        }
    }

    fn drop_found<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        find: impl FnOnce(&Rooms, Hashed<'_>) -> Vec<MemberId>,
        tells: bool,
        post: &mut P,
    ) {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let Some(rooms) = table.rooms_mut() else {
            return;
        };
        let found = find(rooms, key);
        let is_due = rooms.drop_others(key, &found, tells);
        drop(table);
        if is_due {
            post.presence_is_due();
        }
    }

    /// Forgets the members of other nodes without telling anybody, if `may` is true, which is asked under the channel's lock
    /// and must not call the core. False: nothing was done.
    pub fn forget_others(&self, channel: &[u8], may: impl FnOnce() -> bool) -> bool {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        if !may() {
            return false;
        }
        if let Some(rooms) = table.rooms_mut() {
            let all = rooms.others(key, None, |_, _| true);
            rooms.drop_others(key, &all, false);
        }
        true
    }
}
