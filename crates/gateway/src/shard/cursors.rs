//! Subscribers that read on in the past of a channel: each turn takes some kept messages out of the core for those whose
//! outbox has room, until the step that makes them live.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{ChannelId, Cursor, Kept, Name, Position, Progress, SocketId};

use super::Shard;
use super::recipients::Local;
use crate::frame::{KeptMessage, Publication};
use crate::hub::Hub;
use crate::inbox::Enter;
use crate::limits::GatewayLimits;
use crate::socket::Wake;
use crate::socket::connection::{Io, Shared, Swelling};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Cursors {
    /// By recipient list and socket.
    all: AHashMap<(ChannelId, SocketId), Reading>,
    /// Those that make a step in this turn.
    ready: Vec<(ChannelId, SocketId)>,
    /// The messages that were read last, for others that read them soon, and their bytes.
    recent: AHashMap<(ChannelId, u64), Arc<Publication>>,
    recent_bytes: usize,
}

/// A subscriber that is behind.
#[derive(Debug)]
struct Reading {
    name: Name,
    slot: u32,
    cursor: Cursor,
}

impl Cursors {
    /// A message in the form that all who read it share.
    fn publication(
        &mut self,
        list: ChannelId,
        kept: &Kept<KeptMessage>,
        hub: &Hub,
    ) -> Arc<Publication> {
        let place = (list, kept.number.position.offset);
        if let Some(known) = self.recent.get(&place) {
            return Arc::clone(known);
        }
        let from = || kept.number.from.map(|id| hub.socket_name(id));
        let publication = kept.message.publication(from);
        let bytes = publication.payload().len();
        if self.recent_bytes + bytes > RECENT_BYTES || self.recent.len() >= RECENT {
            self.forget_recent();
        }
        self.recent_bytes += bytes;
        self.recent.insert(place, Arc::clone(&publication));
        publication
    }

    fn forget_recent(&mut self) {
        self.recent = AHashMap::default();
        self.recent_bytes = 0;
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
        let why = Wake::Entered(&enter.name, entering);
        self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
        if let Some(cursor) = entering.cursor {
            let reading = Reading {
                name: enter.name.clone(),
                slot,
                cursor,
            };
            let place = (entering.list, socket);
            let mut cursors = self.cursors.borrow_mut();
            cursors.all.insert(place, reading);
            cursors.ready.push(place);
        }
    }

    /// The number of subscribers that are behind.
    #[cfg(test)]
    pub(super) fn behind(&self) -> usize {
        self.cursors.borrow().all.len()
    }

    /// A subscription has ended, or begins anew.
    pub(super) fn stop_reading(&self, list: ChannelId, subscriber: SocketId) {
        let mut cursors = self.cursors.borrow_mut();
        if !cursors.all.is_empty() {
            cursors.all.remove(&(list, subscriber));
        }
    }

    /// Tells all recipients of a channel that they have missed messages up to this position; not virtual sockets, whose
    /// messages have no place among those of their real socket.
    pub(super) fn tell_gap(&self, list: ChannelId, end: Position) {
        let (name, places) = {
            let recipients = self.recipients.borrow();
            let Some(list) = recipients.of(list) else {
                return;
            };
            let real = |local: &&Local| local.subscriber == local.socket;
            let locals = list.locals.iter().filter(real);
            let places = locals.map(|local| (local.slot, local.socket));
            (list.name.clone(), places.collect::<Vec<_>>())
        };
        for (slot, socket) in places {
            if let Some(connection) = self.find(slot, socket) {
                let why = Wake::Gap(&name, end);
                self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
            }
        }
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
            let room = std::mem::take(&mut *self.history_room.borrow_mut());
            let mut ready = std::mem::take(&mut cursors.ready);
            if !room.is_empty() {
                let waiting = cursors.all.keys().filter(|place| room.contains(&place.1));
                ready.extend(waiting.copied());
                ready.sort_unstable();
                ready.dedup();
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
        if !cursors.ready.is_empty() {
            self.schedule();
        } else if cursors.all.is_empty() {
            cursors.forget_recent();
        }
    }

    /// Has one subscriber make a step, if its outbox has room. Returns the bytes of the messages that it got.
    fn step_on(&self, place: (ChannelId, SocketId)) -> usize {
        let (list, socket) = place;
        let (name, slot, cursor) = match self.cursors.borrow().all.get(&place) {
            Some(reading) => (reading.name.clone(), reading.slot, reading.cursor),
            None => return 0,
        };
        let Some(connection) = self.find(slot, socket) else {
            self.stop_reading(list, socket);
            return 0;
        };
        if !self.has_room_for_past(&mut connection.io.borrow_mut()) {
            return 0;
        }
        let mut out = Vec::new();
        let most = most_bytes(&self.limits);
        let step = self.with_core(|core, post| {
            core.read_on((list, &name), (socket, cursor), most, &mut out, post)
        });
        if let Some(last) = step.gap {
            let why = Wake::Gap(&name, last);
            self.tell_session(&connection, &mut connection.io.borrow_mut(), why);
        }
        self.hub.count_recovered(out.len());
        let local = Local::new(socket, slot, None);
        let mut bytes = 0;
        for kept in &out {
            let mut cursors = self.cursors.borrow_mut();
            let publication = cursors.publication(list, kept, &self.hub);
            drop(cursors);
            let sent = (&*publication, &kept.number);
            self.append_past(&connection, &local, sent, (list, &name));
            bytes += kept.message.payload().len();
        }
        self.keep_cursor(place, &connection, step.progress);
        bytes
    }

    fn keep_cursor(&self, place: (ChannelId, SocketId), connection: &Shared, progress: Progress) {
        let mut cursors = self.cursors.borrow_mut();
        match progress {
            Progress::Behind(next) => {
                if let Some(reading) = cursors.all.get_mut(&place) {
                    reading.cursor.next = next;
                    cursors.ready.push(place);
                }
                self.mark_dirty(connection);
            }
            Progress::Live | Progress::Ended => {
                cursors.all.remove(&place);
            }
        }
    }

    /// Whether an outbox has room for messages of the past. If not, the connection is asked again when it has.
    fn has_room_for_past(&self, io: &mut Io) -> bool {
        let limits = &self.limits;
        let waiting = io.outbox.charge() + io.outbox.chunk_bytes();
        // a step beyond that does not pause reading
        let most = limits.outbox_read_pause_bytes.min(limits.outbox_bytes) / 2;
        let entries = io.outbox.entries();
        if waiting == 0 || waiting < most && entries <= limits.outbox_frames / 2 {
            return true;
        }
        io.extra.get_or_insert_default().reads_history = true;
        if io.swelling == Swelling::None {
            io.swelling = Swelling::Awaited;
        }
        false
    }
}

/// About how many bytes a subscriber gets in one step, with what the core charges for a message: small limits of the
/// outbox hold a few of them.
fn most_bytes(limits: &GatewayLimits) -> u64 {
    let frames = (limits.outbox_frames / 4).saturating_mul(128);
    let bytes = limits.outbox_read_pause_bytes.min(limits.outbox_bytes) / 4;
    let most = STEP_BYTES.min(bytes).min(frames);
    u64::try_from(most).unwrap_or(u64::MAX)
}

/// Bytes that one subscriber gets in one turn.
const STEP_BYTES: usize = 64 * 1024;

/// Bytes that all subscribers get in one turn, so that others of the shard do not wait long.
const TURN_BYTES: usize = 4 * 1024 * 1024;

/// Messages, and their bytes, that are held for others that read them soon.
const RECENT: usize = 4096;
const RECENT_BYTES: usize = 4 * 1024 * 1024;
