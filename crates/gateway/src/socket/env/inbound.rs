//! Incomplete messages of all connections together: if they take too many bytes, the largest waits for room, and its
//! connection is closed if none comes. Owns the counted bytes; never touches connections without an incomplete message.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ahash::AHashMap;

use super::Env;
use crate::hub::UNCOUNTED_BYTES;
use crate::socket::connection::{Io, Partial, Shared};
use crate::socket::fullest::Fullest;

/// The incomplete messages of one I/O shard.
#[derive(Debug, Default)]
pub(crate) struct Partials {
    by_size: RefCell<Fullest>,
    /// The counted bytes of each message, by the slots of their connections.
    sizes: RefCell<AHashMap<u32, usize>>,
    /// The approximate size of the largest message, as the other shards know it.
    largest: Cell<usize>,
    /// The slot of the connection that is held back, and since when.
    held_back: Cell<Option<(u32, u64)>>,
}

impl Env {
    /// Records the bytes of a connection's incomplete message, or 0 if there is none. A function of its own, because
    /// most reads end with a complete message.
    #[inline(never)]
    pub(crate) fn count_unfinished(&self, connection: &Shared, io: &mut Io, bytes: usize) {
        let bytes = if bytes < UNCOUNTED_BYTES { 0 } else { bytes };
        let (slot, partials) = (connection.slot, &self.partials);
        let before = self.unfinished_of(connection);
        if bytes == before {
            return;
        }
        if bytes == 0 {
            partials.sizes.borrow_mut().remove(&slot);
            self.stop_holding_back(connection);
            connection.partial.set(Partial::None);
        } else {
            partials.sizes.borrow_mut().insert(slot, bytes);
            if before == 0 {
                connection.partial.set(Partial::Counted);
            }
        }
        let mut by_size = partials.by_size.borrow_mut();
        by_size.put(slot, bytes);
        let largest = by_size.most();
        drop(by_size);
        let inbound = self.hub.inbound();
        if partials.largest.replace(largest) != largest {
            inbound.set_largest(self.index, largest);
        }
        let limit = self.limits.inbound_total_bytes;
        if bytes < before {
            let bits = inbound.shrink(before - bytes, limit);
            self.hub.look_at_inbound(bits);
        } else if inbound.grow(bytes - before) > limit {
            self.relieve_inbound(connection, io);
        }
    }

    /// The counted bytes of a connection's message.
    pub(crate) fn unfinished_of(&self, connection: &Shared) -> usize {
        if connection.partial.get() == Partial::None {
            return 0;
        }
        let sizes = self.partials.sizes.borrow();
        sizes.get(&connection.slot).copied().unwrap_or_default()
    }

    /// The total exceeds the limit since this message grew.
    #[cold]
    fn relieve_inbound(&self, connection: &Shared, io: &mut Io) {
        let limit = self.limits.inbound_total_bytes;
        let most = limit.saturating_add(limit / LEEWAY_PART);
        while self.hub.inbound().bytes() > most
            && self.with_largest(Some((connection, &mut *io)), Self::give_up)
        {}
        if self.hub.inbound().bytes() > limit {
            self.hold_back_largest(Some((connection, io)));
        }
    }

    /// The total exceeds the limit since a message of another shard grew, or no longer exceeds it.
    pub(crate) fn look_at_inbound(&self) {
        self.hub.inbound().looks(self.index);
        let is_over = self.hub.inbound().bytes() > self.limits.inbound_total_bytes;
        let held_back = self.partials.held_back.get();
        if is_over && held_back.is_none() {
            self.hold_back_largest(None);
        } else if !is_over && let Some((slot, _)) = held_back {
            self.go_on(slot);
        }
    }

    /// Holds back the largest message of all shards, or tells its shard to do so.
    #[cold]
    fn hold_back_largest(&self, current: Option<(&Shared, &mut Io)>) {
        let inbound = self.hub.inbound();
        let owner = inbound.owner_of_largest(self.index);
        if inbound.is_holding(owner) {
            return;
        }
        if owner == self.index.get() {
            self.with_largest(current, Self::hold_back);
        } else {
            self.hub.look_at_inbound(1 << owner);
        }
    }

    /// Calls `act` with the connection of this shard's largest message. False: there is none. `current` has the
    /// connection that is already borrowed.
    fn with_largest(
        &self,
        current: Option<(&Shared, &mut Io)>,
        act: impl FnOnce(&Self, &Shared, &mut Io),
    ) -> bool {
        let largest = {
            let connections = self.connections.borrow();
            let sizes = self.partials.sizes.borrow();
            let size = |slot| sizes.get(&slot).copied().unwrap_or_default();
            let slot = self.partials.by_size.borrow().first(size);
            slot.and_then(|slot| connections.get(slot)).cloned()
        };
        let Some(largest) = largest else {
            return false;
        };
        match current {
            Some((connection, io)) if Rc::ptr_eq(connection, &largest) => act(self, &largest, io),
            _ => act(self, &largest, &mut largest.io.borrow_mut()),
        }
        true
    }

    /// Reads nothing more from a connection until there is room.
    fn hold_back(&self, connection: &Shared, io: &mut Io) {
        if !io.phase.is_open() {
            // its message is no longer needed
            return self.give_up(connection, io);
        }
        let now = self.now.get();
        connection.partial.set(Partial::HeldBack);
        self.partials.held_back.set(Some((connection.slot, now)));
        self.arm(connection, io, now + HOLD_MS);
        if self.hub.inbound().hold_back(self.index) <= self.limits.inbound_total_bytes {
            self.hub.look_at_inbound(1 << self.index.get());
        }
    }

    /// There is room: reading continues.
    #[cold]
    fn go_on(&self, slot: u32) {
        let connection = {
            let connections = self.connections.borrow();
            connections.get(slot).cloned()
        };
        if let Some(connection) = connection {
            let io = &mut *connection.io.borrow_mut();
            self.stop_holding_back(&connection);
            self.restart_clocks(io);
            self.run_soon(&connection);
        }
    }

    /// The connection is no longer held back, or is closing.
    pub(crate) fn stop_holding_back(&self, connection: &Shared) {
        if connection.partial.get() == Partial::HeldBack {
            connection.partial.set(Partial::Counted);
            self.partials.held_back.set(None);
            self.hub.inbound().let_go(self.index);
        }
    }

    /// The time until which a connection waits for room.
    pub(crate) fn held_back_until(&self, connection: &Shared) -> Option<u64> {
        let held_back = self.partials.held_back.get();
        let (_, since) = held_back.filter(|_| connection.partial.get() == Partial::HeldBack)?;
        Some(since + HOLD_MS)
    }

    /// The time of a connection that is held back is over: if there is still no room, the largest connection is closed.
    pub(crate) fn look_at_held_back(&self, connection: &Shared, io: &mut Io) {
        let now = self.now.get();
        if self
            .held_back_until(connection)
            .is_none_or(|until| now < until)
        {
            return;
        }
        let inbound = self.hub.inbound();
        let is_over = || inbound.bytes() > self.limits.inbound_total_bytes;
        if is_over() && inbound.owner_of_largest(self.index) == self.index.get() {
            self.with_largest(Some((connection, &mut *io)), Self::give_up);
        }
        if connection.partial.get() == Partial::HeldBack {
            // closing another connection frees room now or soon
            let waits = Some((connection.slot, now));
            self.partials.held_back.set(waits);
        }
        if is_over() {
            self.hold_back_largest(Some((connection, io)));
        } else {
            self.hub.look_at_inbound(1 << self.index.get());
        }
    }
}

/// How long the largest message waits for room.
const HOLD_MS: u64 = 1000;

/// The bytes that other messages may take meanwhile: the limit divided by this.
const LEEWAY_PART: usize = 8;
