//! Subscribers that read on in the past of a channel: each turn takes some kept messages out of the core for those whose
//! outbox has room, until the step that makes them live.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{ChannelId, Cursor, Kept, Name, Number, Position, Progress, Room, SocketId};

use super::Shard;
use super::past_pages::{Held, Pages, Place, STEP_CHARGE, is_long, wide};
use super::recent_past::RecentPast;
use super::recipients::Local;
use crate::frame::{KeptMessage, Publication};
use crate::hub::Hub;
use crate::inbox::{Enter, WantedPage};
use crate::socket::Wake;
use crate::socket::connection::{Io, Shared, Swelling};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    /// By recipient list and socket.
    all: AHashMap<(ChannelId, SocketId), Reading>,
    /// Those that make a step in this turn.
    pub(super) ready: Vec<Place>,
    /// Those that wait for room in an outbox.
    waiting: AHashMap<SocketId, Vec<Place>>,
    /// The messages that were read last, for others that read them soon.
    recent: RecentPast,
    /// What is not kept here and read in a store.
    pub(super) pages: Pages,
    /// When what is held is looked through; `None`: nothing is.
    looks_at: Option<u64>,
}

/// A subscriber that is behind.
#[derive(Debug)]
struct Reading {
    name: Name,
    slot: u32,
    cursor: Cursor,
    /// The first message of the store behind those that are gone.
    gone: Option<Position>,
}

impl Cursors {
    /// A subscriber reads on no more. What was read is held for others who come soon.
    fn remove(&mut self, list: ChannelId, socket: SocketId) {
        if self.all.remove(&(list, socket)).is_none() {
            return;
        }
        if let Some(places) = self.waiting.get_mut(&socket) {
            places.retain(|place| place.list != list);
            if places.is_empty() {
                self.waiting.remove(&socket);
            }
        }
        if self.all.is_empty() {
            self.all = AHashMap::default();
            self.ready = Vec::new();
            self.waiting = AHashMap::default();
            self.pages.reset();
        }
    }

    /// Holds a page of the store for those who read it.
    pub(super) fn hold_page(&mut self, list: ChannelId, page: &[Kept<KeptMessage>], hub: &Hub) {
        let held = page.iter().map(|kept| Held {
            publication: self.recent.publication(list, kept, hub),
            number: kept.number,
        });
        let held = held.collect();
        self.pages.hold(list, held);
    }

    fn holds_nothing(&self) -> bool {
        self.recent.is_empty() && self.pages.is_empty()
    }

    fn reading(&self, place: &Place) -> Option<&Reading> {
        let reading = self.all.get(&(place.list, place.socket))?;
        (reading.cursor.id == place.cursor).then_some(reading)
    }

    /// Its name, its slot and its cursor.
    fn get(&self, place: Place) -> Option<(Name, u32, Cursor)> {
        let reading = self.reading(&place)?;
        Some((reading.name.clone(), reading.slot, reading.cursor))
    }

    /// Where a subscriber reads on.
    fn cursor(&self, list: ChannelId, socket: SocketId) -> Option<Cursor> {
        let reading = self.all.get(&(list, socket))?;
        Some(reading.cursor)
    }

    /// Whether a subscriber still reads on there.
    pub(super) fn reads(&self, place: &Place) -> bool {
        self.reading(place).is_some()
    }

    /// The next page to ask the store for.
    pub(super) fn next_page(&mut self) -> Option<WantedPage> {
        let (mut pages, mut served) = (std::mem::take(&mut self.pages), Vec::new());
        let next = pages.next(|place| self.reads(place), &mut served);
        self.pages = pages;
        self.ready.append(&mut served);
        next
    }

    /// What a subscriber wants is gone from the store, up to this message.
    pub(super) fn set_gone(&mut self, place: &Place, first: Position) {
        if let Some(reading) = self.all.get_mut(&(place.list, place.socket)) {
            reading.gone = Some(first);
        }
    }

    /// The offset of the first message that is not gone, if the one is that a subscriber wants.
    pub(super) fn take_gone(&mut self, place: Place, from: Position) -> Option<u64> {
        let reading = self.all.get_mut(&(place.list, place.socket))?;
        let first = reading.gone.take()?;
        (first.epoch == from.epoch && first.offset > from.offset).then_some(first.offset)
    }
}

impl Shard {
    /// A connection has entered a channel.
    pub(super) fn enter(&self, enter: &Enter) {
        let (slot, socket) = (enter.slot, enter.socket);
        let Some(connection) = self.find(slot, socket) else {
            return;
        };
        let entering = &enter.entering;
        let mut told = *entering;
        if entering.goes_on {
            told.cursor = self.cursors.borrow().cursor(entering.list, socket);
        }
        if entering.tag == 0 {
            self.tell_entered(enter, told.cursor);
        }
        let why = Wake::Entered(&enter.name, &told);
        self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
        if let Some(cursor) = entering.cursor {
            let reading = Reading {
                name: enter.name.clone(),
                slot,
                cursor,
                gone: None,
            };
            let place = Place {
                list: entering.list,
                socket,
                cursor: cursor.id,
            };
            let mut cursors = self.cursors.borrow_mut();
            cursors.remove(place.list, socket);
            cursors.all.insert((place.list, socket), reading);
            cursors.ready.push(place);
        }
    }

    /// The number of subscribers that are behind.
    #[cfg(test)]
    pub(super) fn behind(&self) -> usize {
        self.cursors.borrow().all.len()
    }

    /// The number of messages that are held for others.
    #[cfg(test)]
    pub(super) fn held_of_past(&self) -> usize {
        let cursors = self.cursors.borrow();
        cursors.recent.len() + cursors.pages.held()
    }

    /// A subscription has ended, or begins anew.
    pub(super) fn stop_reading(&self, list: ChannelId, subscriber: SocketId) {
        let mut cursors = self.cursors.borrow_mut();
        if !cursors.all.is_empty() {
            cursors.remove(list, subscriber);
        }
    }

    /// Has what is held of the past looked through from time to time.
    pub(super) fn watch_past(&self, cursors: &mut Cursors) {
        if cursors.looks_at.is_none() && !cursors.holds_nothing() {
            cursors.looks_at = Some(self.now() + HELD_MS);
            self.wheel_armed.notify_one();
        }
    }

    /// Lets go of what is held of the past and nobody reads or waits for, if it is time. Returns whether something is held.
    pub(super) fn look_at_past(&self) -> bool {
        let mut cursors = self.cursors.borrow_mut();
        if cursors.looks_at.is_some_and(|at| at <= self.now()) {
            cursors.pages.look();
            cursors.recent.look();
            let is_over = cursors.holds_nothing();
            cursors.looks_at = (!is_over).then(|| self.now() + HELD_MS);
        }
        cursors.looks_at.is_some()
    }

    /// Has subscribers that are behind read on, each by one step.
    #[inline]
    pub(super) fn read_on(&self) {
        if !self.cursors.borrow().ready.is_empty() || !self.history_room.borrow().is_empty() {
            self.read_on_each();
        }
    }

    #[cold]
    fn read_on_each(&self) {
        let ready = {
            let mut cursors = self.cursors.borrow_mut();
            let mut ready = std::mem::take(&mut cursors.ready);
            for socket in std::mem::take(&mut *self.history_room.borrow_mut()) {
                ready.extend(cursors.waiting.remove(&socket).unwrap_or_default());
            }
            ready
        };
        let mut rest = ready.into_iter();
        let mut bytes = 0;
        while bytes < TURN_BYTES
            && let Some(place) = rest.next()
        {
            bytes += self.step_on(place);
        }
        let mut cursors = self.cursors.borrow_mut();
        // those that had a step already are next behind the others
        let again = std::mem::take(&mut cursors.ready);
        cursors.ready = rest.chain(again).collect();
        self.watch_past(&mut cursors);
        if !cursors.ready.is_empty() {
            self.schedule();
        }
    }

    /// Has one subscriber make a step, if its outbox has room. Returns the bytes of the messages that it got.
    pub(super) fn step_on(&self, place: Place) -> usize {
        let Some((name, slot, cursor)) = self.cursors.borrow().get(place) else {
            return 0;
        };
        let (list, socket) = (place.list, place.socket);
        let Some(connection) = self.find(slot, socket) else {
            self.stop_reading(list, socket);
            return 0;
        };
        let Some(room) = self.room_for_past(&connection.io.borrow(), &name) else {
            self.await_room(place, &connection);
            return 0;
        };
        let mut out = Vec::new();
        let step = self.with_core(|core, post| {
            core.read_on((list, &name), (socket, cursor), room, &mut out, post)
        });
        if let Progress::Absent { from, until } = step.progress {
            return self.step_in_store(place, &connection, (&name, room), (from, until));
        }
        if let Some(last) = step.gap {
            let why = Wake::Gap(&name, last);
            self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
        }
        let local = Local::new(socket, slot, None);
        let is_long = out.iter().any(|kept| is_long(kept.message.payload()));
        let each = out.iter().map(|kept| {
            let mut cursors = self.cursors.borrow_mut();
            (
                cursors.recent.publication(list, kept, &self.hub),
                kept.number,
            )
        });
        let bytes = self.append_all_past(&connection, &local, (list, &name), is_long, each);
        let has_read = bytes > 0 || step.gap.is_some();
        self.keep_cursor(place, &connection, step.progress, has_read);
        bytes
    }

    /// Puts messages of the past into an outbox; `refers`: one of them is [long](is_long). Returns their bytes.
    pub(super) fn append_all_past(
        &self,
        connection: &Shared,
        local: &Local,
        channel: (ChannelId, &Name),
        refers: bool,
        messages: impl Iterator<Item = (Arc<Publication>, Number)>,
    ) -> usize {
        if refers {
            connection.io.borrow_mut().outbox.refer(self.ledger());
        }
        let (mut count, mut bytes) = (0, 0);
        for (publication, number) in messages {
            self.append_past(connection, local, (&publication, &number), channel);
            count += 1;
            bytes += publication.payload().len() + STEP_CHARGE;
        }
        if refers {
            connection.io.borrow_mut().outbox.settle_references();
        }
        self.hub.count_recovered(count);
        bytes
    }

    /// `has_read`: it got or was told something. Otherwise the next message does not fit into the outbox yet.
    pub(super) fn keep_cursor(
        &self,
        place: Place,
        connection: &Shared,
        progress: Progress,
        has_read: bool,
    ) {
        match progress {
            Progress::Behind(next)
            | Progress::Absent {
                from: Position { offset: next, .. },
                ..
            } => {
                let mut cursors = self.cursors.borrow_mut();
                let reading = cursors.all.get_mut(&(place.list, place.socket));
                if let Some(reading) = reading {
                    reading.cursor.next = next;
                    if has_read {
                        cursors.ready.push(place);
                    }
                }
                drop(cursors);
                if has_read {
                    self.mark_dirty(connection);
                } else {
                    self.await_room(place, connection);
                }
            }
            Progress::Live | Progress::Ended => {
                self.stop_reading(place.list, place.socket);
            }
        }
    }

    /// What of the past an outbox has room for; `None`: nothing.
    fn room_for_past(&self, io: &Io, name: &Name) -> Option<Room> {
        let limits = &self.limits;
        let waiting = io.outbox.charge() + io.outbox.chunk_bytes();
        // no more than that, so that reading is not paused, and live messages have room
        let most = limits.outbox_read_pause_bytes.min(limits.outbox_bytes) / 2;
        let few = io.outbox.entries() <= limits.outbox_frames / 2;
        let first = match waiting {
            // behind nothing, a message may have any length: the limits are about what waits behind it
            0 => u64::MAX,
            _ if waiting < most && few => wide(most - waiting),
            _ => return None,
        };
        let frames = (limits.outbox_frames / 4).saturating_mul(STEP_CHARGE);
        let all = most.saturating_sub(waiting).min(STEP_BYTES).min(frames);
        Some(Room {
            first,
            all: wide(all),
            beside: wide(name.as_bytes().len() * ESCAPED + HEAD),
        })
    }

    /// Has a subscriber make its next step when the outbox has room.
    fn await_room(&self, place: Place, connection: &Shared) {
        let mut cursors = self.cursors.borrow_mut();
        cursors.waiting.entry(place.socket).or_default().push(place);
        drop(cursors);
        let io = &mut *connection.io.borrow_mut();
        io.extra.get_or_insert_default().reads_history = true;
        if io.swelling == Swelling::None {
            io.swelling = Swelling::Awaited;
        }
    }
}

/// Bytes that one subscriber gets in one turn.
const STEP_BYTES: usize = 64 * 1024;

/// Bytes that one byte of a channel's name takes at most in the head of a message, and what else is in a head.
const ESCAPED: usize = 6;
const HEAD: usize = 128;

/// Bytes that all subscribers get in one turn, so that others of the shard do not wait long.
const TURN_BYTES: usize = 4 * 1024 * 1024;

/// After so many milliseconds what was read is looked through.
const HELD_MS: u64 = 1000;
