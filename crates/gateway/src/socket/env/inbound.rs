//! Messages that are not complete, of all connections together: where they hold too much, the largest waits for room and
//! is given up if none comes. Owns what of them counts; never looks at connections that have none.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ahash::AHashMap;

use super::Env;
use crate::socket::connection::{Io, Partial, Shared};
use crate::socket::fullest::Fullest;

/// Those of one I/O shard.
#[derive(Debug, Default)]
pub(crate) struct Partials {
    by_size: RefCell<Fullest>,
    /// What is counted of each, by the slots of their connections.
    sizes: RefCell<AHashMap<u32, usize>>,
    /// About how large the largest is, as the other shards know it.
    largest: Cell<usize>,
    /// The slot of the connection that is held back, and since when.
    held_back: Cell<Option<(u32, u64)>>,
}

impl Env {
    /// So many bytes have come of a message that is not complete, or none of any. Apart, because most reads end with one.
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

    /// What is counted of a connection's message.
    pub(crate) fn unfinished_of(&self, connection: &Shared) -> usize {
        if connection.partial.get() == Partial::None {
            return 0;
        }
        let sizes = self.partials.sizes.borrow();
        sizes.get(&connection.slot).copied().unwrap_or_default()
    }

    /// All of them hold too much since this one grew.
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

    /// They hold too much since another shard's grew, or no longer.
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

    /// Holds the largest of all shards back, or has its shard do so.
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

    /// Does something about this shard's largest. False: it has none. What of connections is borrowed is in `current`.
    fn with_largest(
        &self,
        current: Option<(&Shared, &mut Io)>,
        act: impl FnOnce(&Self, &Shared, &mut Io),
    ) -> bool {
        let largest = {
            let connections = self.connections.borrow();
            let find = |slot: u32| connections.get(usize::try_from(slot).ok()?);
            let sizes = self.partials.sizes.borrow();
            let size = |slot| sizes.get(&slot).copied().unwrap_or_default();
            let slot = self.partials.by_size.borrow().first(size);
            slot.and_then(find).cloned()
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

    /// Reads nothing more of a connection until there is room.
    fn hold_back(&self, connection: &Shared, io: &mut Io) {
        if !io.phase.is_open() {
            // nobody waits for its message any more
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

    /// There is room.
    #[cold]
    fn go_on(&self, slot: u32) {
        let connection = {
            let connections = self.connections.borrow();
            let slot = usize::try_from(slot).unwrap_or(usize::MAX);
            connections.get(slot).cloned()
        };
        if let Some(connection) = connection {
            let io = &mut *connection.io.borrow_mut();
            self.stop_holding_back(&connection);
            self.restart_clocks(io);
            connection.wake();
        }
    }

    /// It is held back no longer, or is closing.
    pub(crate) fn stop_holding_back(&self, connection: &Shared) {
        if connection.partial.get() == Partial::HeldBack {
            connection.partial.set(Partial::Counted);
            self.partials.held_back.set(None);
            self.hub.inbound().let_go(self.index);
        }
    }

    /// When a connection has waited long enough for room.
    pub(crate) fn held_back_until(&self, connection: &Shared) -> Option<u64> {
        let held_back = self.partials.held_back.get();
        let (_, since) = held_back.filter(|_| connection.partial.get() == Partial::HeldBack)?;
        Some(since + HOLD_MS)
    }

    /// One that is held back has waited: without room by now, the largest makes some.
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
            // another's end makes room, or will
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

/// Less of a message is not counted: its connection takes as much.
const UNCOUNTED_BYTES: usize = 1024;

/// How long the largest waits for room.
const HOLD_MS: u64 = 1000;

/// What others may take meanwhile, as a part of the limit.
const LEEWAY_PART: usize = 8;
