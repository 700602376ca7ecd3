//! Which sockets have much in their outboxes, so that any thread can ask without a delivery paying for it: each I/O
//! shard lists those of its connections whose outbox is above a mark. Below the mark an outbox counts as empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use ahash::AHashMap;
use millrace_core::{ShardIndex, SocketId};

use super::Hub;
use crate::limits::MAX_SHARDS;
use crate::sync::{Mutex, Padded};

/// See the module.
pub(crate) struct Backlogs {
    /// By shard.
    all: Box<[Padded<Mutex<List>>]>,
}

/// The bytes of each socket, as its outbox is charged.
type List = AHashMap<SocketId, usize>;

impl fmt::Debug for Backlogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlogs").finish_non_exhaustive()
    }
}

impl Backlogs {
    pub(super) fn new() -> Self {
        Self {
            all: (0..MAX_SHARDS).map(|_| Padded::default()).collect(),
        }
    }

    /// Empties the list of a shard that starts, which may have run before.
    pub(crate) fn begin(&self, shard: ShardIndex) {
        *self.all[shard.get()].lock() = List::new();
    }

    /// Records the bytes of a socket of this shard. Returns whether it is listed now.
    pub(crate) fn put(&self, shard: ShardIndex, socket: SocketId, bytes: usize) -> bool {
        let mut list = self.all[shard.get()].lock();
        if bytes > SHOWN_BYTES {
            list.insert(socket, bytes);
            return true;
        }
        list.remove(&socket);
        if list.is_empty() {
            // gives back what a burst has left
            *list = List::new();
        }
        false
    }

    /// The listed sockets with the most bytes, the most first, at most `most` of them; and how many are listed in all.
    pub(crate) fn largest(&self, most: usize) -> (Vec<(SocketId, usize)>, usize) {
        let mut largest = BinaryHeap::with_capacity(most.saturating_add(1));
        let mut count = 0;
        for list in &self.all {
            let list = list.lock();
            count += list.len();
            for (socket, bytes) in list.iter() {
                let entry = Reverse((*bytes, *socket));
                if largest.len() < most {
                    largest.push(entry);
                } else if let Some(mut least) = largest.peek_mut()
                    && *least > entry
                {
                    *least = entry;
                }
            }
        }
        let sorted = largest.into_sorted_vec().into_iter();
        let all = sorted.map(|Reverse((bytes, socket))| (socket, bytes));
        (all.collect(), count)
    }

    fn of(&self, shard: ShardIndex, socket: SocketId) -> usize {
        let list = self.all[shard.get()].lock();
        list.get(&socket).copied().unwrap_or_default()
    }
}

impl Hub {
    /// The bytes in the outbox of a socket, or of the socket behind a virtual one, as its limit counts them; 0 up to
    /// 16 KiB, and if there is no such socket.
    pub fn outbox_bytes(&self, id: SocketId) -> usize {
        let place = |route: millrace_core::Route| (route.shard, route.socket);
        let reached = self.core.reach(id, &[], |route, _| place(route));
        reached.map_or(0, |(shard, socket)| self.backlogs.of(shard, socket))
    }
}

/// The mark: outboxes with at most so many bytes are not listed.
pub(crate) const SHOWN_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_outboxes_are_listed() {
        let backlogs = Backlogs::new();
        let shard = ShardIndex::new(1).unwrap();
        let [one, other] = [64, 65].map(|id| SocketId::new(id).unwrap());
        assert!(backlogs.put(shard, one, SHOWN_BYTES + 1));
        assert!(!backlogs.put(shard, other, SHOWN_BYTES));
        let sizes = || [one, other].map(|socket| backlogs.of(shard, socket));
        assert_eq!(sizes(), [SHOWN_BYTES + 1, 0]);
        assert!(backlogs.put(shard, one, SHOWN_BYTES * 9));
        assert_eq!(sizes(), [SHOWN_BYTES * 9, 0]);
        let second = ShardIndex::new(2).unwrap();
        backlogs.put(second, other, SHOWN_BYTES + 2);
        let (first, all) = backlogs.largest(1);
        assert_eq!((&first[..], all), (&[(one, SHOWN_BYTES * 9)][..], 2));
        let (both, _) = backlogs.largest(9);
        assert_eq!(both, [(one, SHOWN_BYTES * 9), (other, SHOWN_BYTES + 2)]);
        assert_eq!(backlogs.largest(0), (Vec::new(), 2));
        backlogs.put(second, other, 0);
        assert!(!backlogs.put(shard, one, 0));
        assert_eq!(sizes(), [0, 0]);
        backlogs.put(shard, one, SHOWN_BYTES * 9);
        backlogs.begin(shard);
        assert_eq!(sizes(), [0, 0]);
    }
}
