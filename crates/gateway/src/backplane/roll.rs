//! What a store of members asks this node and tells it: passes it on to the hub.

use std::sync::Arc;

use millrace_backplane::store::{Pending, Roll, Seat};
use millrace_core::{MemberState, ShardSet, SocketId, Unsaved};

use crate::hub::Hub;
use crate::sync::Mutex;

/// See the module.
pub(super) struct NodeRoll {
    hub: Arc<Hub>,
    /// I/O shards to wake after something was posted.
    dirty: Mutex<ShardSet>,
}

impl NodeRoll {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            dirty: Mutex::new(ShardSet::default()),
        }
    }
}

impl Roll for NodeRoll {
    fn take_changes(&self, channel: &[u8], bounds: (usize, usize)) -> Pending {
        match self.hub.core().take_unsaved(channel, bounds) {
            Unsaved::Whole => Pending::Whole,
            Unsaved::Changes(changes) => {
                let change = |(socket, state): (SocketId, Option<MemberState>)| {
                    state.map(seat).ok_or_else(|| socket.get())
                };
                Pending::Changes(changes.into_iter().map(change).collect())
            }
        }
    }

    fn begin(&self, channel: &[u8]) {
        self.hub.core().begin_saving(channel);
    }

    fn members_here(&self, channel: &[u8], after: Option<u64>, most: usize) -> Vec<Seat> {
        let after = after.and_then(SocketId::new);
        let members = self.hub.core().members_here(channel, after, most);
        members.into_iter().map(seat).collect()
    }

    fn put(&self, channel: &[u8], node: u64, mark: u32, seats: Vec<Seat>) {
        let dirty = &mut self.dirty.lock();
        self.hub.put_members(channel, (node, mark), &seats, dirty);
    }

    fn left(&self, channel: &[u8], node: u64, sockets: &[u64]) {
        let dirty = &mut self.dirty.lock();
        self.hub.members_left(channel, (node, sockets), dirty);
    }

    fn sweep(&self, channel: &[u8], node: u64, mark: u32) {
        let dirty = &mut self.dirty.lock();
        self.hub.sweep_members(channel, (node, mark), dirty);
    }

    fn filled(&self, channel: &[u8], following: u64, nodes: &[u64]) {
        let dirty = &mut self.dirty.lock();
        self.hub.members_known((channel, following), nodes, dirty);
    }

    fn failed(&self, channel: &[u8], following: u64) {
        self.hub.members_unknown(channel, following);
    }

    fn flush(&self) {
        let mut dirty = std::mem::take(&mut *self.dirty.lock());
        self.hub.wake(&mut dirty);
    }

    fn report(&self, message: &str) {
        self.hub
            .report("ERR_MILLRACE_PRESENCE_UNAVAILABLE", message);
    }
}

fn seat(state: MemberState) -> Seat {
    Seat {
        socket: state.socket.get(),
        since_ms: state.since_ms,
        info: state.info.map(|info| info.text().into()),
    }
}
