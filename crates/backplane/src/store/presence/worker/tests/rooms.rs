//! What a node has of its own members and knows of others, as the core keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use super::store::Channel;
use crate::store::presence::roll::{Pending, Roll, Seat};

/// Members of other nodes, with the mark of the last reading.
type Others = BTreeMap<(Channel, u64, u64), (String, u32)>;

/// What a node has, and what it was told of others.
#[derive(Default)]
pub(super) struct Rooms(Mutex<Inner>);

/// See [`Rooms`].
#[derive(Default)]
pub(super) struct Inner {
    pub(super) here: BTreeMap<Channel, BTreeMap<u64, String>>,
    /// Nothing: everything has to be written.
    pub(super) unsaved: BTreeMap<Channel, BTreeSet<u64>>,
    /// By the number of the following.
    pub(super) followed: BTreeMap<Channel, u64>,
    pub(super) known: BTreeSet<Channel>,
    pub(super) others: Others,
}

impl Rooms {
    pub(super) fn all(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}

impl Inner {
    fn seats(&self, channel: &[u8]) -> impl Iterator<Item = Seat> {
        let here = self.here.get(channel).into_iter().flatten();
        here.map(|(socket, info)| Seat {
            socket: *socket,
            since_ms: 1,
            info: Some(info.as_str().into()),
        })
    }
}

impl Roll for Rooms {
    fn take_changes(&self, channel: &[u8], (most, _): (usize, usize)) -> Pending {
        let all = &mut *self.all();
        let Some(unsaved) = all.unsaved.get_mut(channel) else {
            all.unsaved.insert(channel.into(), BTreeSet::new());
            return Pending::Whole;
        };
        let rest = unsaved.iter().nth(most).copied();
        let rest = rest.map_or_else(BTreeSet::new, |first| unsaved.split_off(&first));
        let taken = std::mem::replace(unsaved, rest);
        let seat = |socket| {
            let mut seats = all.seats(channel);
            seats.find(|seat| seat.socket == socket).ok_or(socket)
        };
        Pending::Changes(taken.into_iter().map(seat).collect())
    }

    fn begin(&self, channel: &[u8]) {
        self.all().unsaved.insert(channel.into(), BTreeSet::new());
    }

    fn members_here(&self, channel: &[u8], after: Option<u64>, most: usize) -> Vec<Seat> {
        let all = self.all();
        let behind = all.seats(channel).filter(|seat| Some(seat.socket) > after);
        behind.take(most).collect()
    }

    fn put(&self, channel: &[u8], node: u64, mark: u32, seats: Vec<Seat>) {
        let mut all = self.all();
        if all.followed.contains_key(channel) {
            for seat in seats {
                let info = seat.info.map(String::from).unwrap_or_default();
                let id = (channel.into(), node, seat.socket);
                all.others.insert(id, (info, mark));
            }
        }
    }

    fn left(&self, channel: &[u8], node: u64, sockets: &[u64]) {
        for socket in sockets {
            self.all().others.remove(&(channel.into(), node, *socket));
        }
    }

    fn sweep(&self, channel: &[u8], node: u64, mark: u32) {
        self.all().others.retain(|(of, other, _), (_, last)| {
            **of != *channel || *other != node || *last == mark
        });
    }

    fn filled(&self, channel: &[u8], following: u64, nodes: &[u64]) {
        let mut all = self.all();
        if all.followed.get(channel) == Some(&following) {
            all.others
                .retain(|(of, node, _), _| **of != *channel || nodes.contains(node));
            all.known.insert(channel.into());
        }
    }

    fn failed(&self, channel: &[u8], following: u64) {
        let all = self.all();
        let is_current = all.followed.get(channel) == Some(&following);
        assert!(!is_current || !all.known.contains(channel), "it is known");
    }

    fn flush(&self) {}

    fn report(&self, _: &str) {}
}
