//! What a session may do apart from messages and replies.

use std::borrow::Cow;
use std::sync::Arc;
use std::task::Waker;

use super::{Audience, Context};
use crate::event::record::{event_bytes, record_bytes};
use crate::event::{Event, TransferId, Turn};
use crate::frame::SharedBytes;
use crate::limits::ENTRY_CHARGE;
use crate::socket::Flow;
use crate::socket::connection::{Extra, Partial, Swelling, Wait};
use crate::socket::transfers::Owner;
use crate::socket::waker::SessionWaker;
use crate::worker::queue::Parcel;

/// What the session may read and report about itself.
impl Context<'_> {
    /// Whether the connection is not read now, so that the peer's silence does not count.
    pub(crate) fn is_paused(&self) -> bool {
        let parts = &self.parts;
        parts.wait == Wait::InLine
            || parts.swelling.pauses()
            || self.connection.partial.get() == Partial::HeldBack
            || parts.extra.as_deref().is_some_and(Extra::stalls)
    }

    /// A waker that has the session [woken](crate::socket::Wake::Posted) from any thread. Several calls before the
    /// session runs cause one wake-up.
    pub(crate) fn waker(&mut self) -> Waker {
        let (env, connection) = (self.env, self.connection);
        let waker = self.extra().waker.get_or_insert_with(|| {
            let place = (connection.slot, connection.socket);
            Arc::new(SessionWaker::new(env.hub(), env.index(), place))
        });
        Waker::from(Arc::clone(waker))
    }
}

/// Output to the peer on behalf of the worker. Unlike replies, which are limited by the input, it counts against the
/// limits of the outbox.
impl Context<'_> {
    /// Sends a whole message. A dropping policy may drop it, so nothing else that is sent may depend on it.
    pub(crate) fn send(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.may_send() {
            let ledger = self.env.ledger();
            self.parts.outbox.append(ledger, encode);
        }
    }

    /// Sends a part of something longer, which is never dropped: if the limits are exceeded and no message is left to
    /// drop, the connection is closed.
    pub(crate) fn send_part(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        if self.may_send() {
            let ledger = self.env.ledger();
            self.parts.outbox.append_part(ledger, encode);
        }
    }

    /// Like [`send_part`](Self::send_part), with bytes that are not copied.
    pub(crate) fn send_shared(&mut self, shared: &SharedBytes) {
        if self.may_send() {
            let ledger = self.env.ledger();
            self.parts.outbox.append_frame(ledger, shared.frame(), 0);
        }
    }

    /// Whether something was sent during this call of the session.
    pub(crate) fn has_sent(&self) -> bool {
        self.outcome.sent
    }

    /// Has the session [woken](crate::socket::Wake::Written) when everything that was sent until now is written. False:
    /// it is written already.
    pub(crate) fn when_written(&mut self) -> bool {
        let unwritten = self.parts.outbox.unwritten();
        if unwritten > 0 {
            self.extra().unwritten = unwritten;
        }
        unwritten > 0
    }

    /// Whether the outbox has room for more. If not, the session is [woken](crate::socket::Wake::Room) when there is
    /// room.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.parts.outbox.charge() <= self.env.drained_bytes() {
            return true;
        }
        self.await_room();
        false
    }

    /// Whether this many bytes may be sent now without exceeding the outbox's limit, with `spared` bytes left for other
    /// output. If nothing waits, any number may be sent, because it is then being written. Otherwise the session is
    /// [woken](crate::socket::Wake::Room) when there is room, and has to ask again.
    #[inline]
    pub(crate) fn fits(&mut self, bytes: usize, spared: usize) -> bool {
        let outbox = &self.parts.outbox;
        let waiting = outbox.charge() + outbox.chunk_bytes();
        let with_it = waiting.saturating_add(bytes).saturating_add(ENTRY_CHARGE);
        if waiting == 0 || with_it.saturating_add(spared) <= self.env.limits().outbox_bytes {
            return true;
        }
        self.await_room();
        false
    }

    #[inline(never)]
    fn await_room(&mut self) {
        self.extra().wants_room = true;
        if *self.parts.swelling == Swelling::None {
            *self.parts.swelling = Swelling::Awaited;
        }
    }

    /// Has other connections run before this one is read again, because what it has sent takes long to read.
    pub(crate) fn yield_turn(&mut self) {
        self.extra().yields = true;
    }

    /// The outbox's limit.
    pub(crate) fn outbox_bytes(&self) -> usize {
        self.env.limits().outbox_bytes
    }

    /// Bytes that may be sent at once when the outbox [has room](Self::has_room), without exceeding its limit.
    pub(crate) fn most_at_once(&self) -> usize {
        self.env
            .limits()
            .outbox_bytes
            .saturating_sub(self.env.drained_bytes())
    }

    /// Whether the peer still gets output; if so, provides a buffer for it.
    fn may_send(&mut self) -> bool {
        if self.audience == Audience::Nobody {
            return false;
        }
        self.outcome.sent = true;
        let env = self.env;
        self.parts.outbox.lend(|| env.spare_buffer());
        true
    }
}

/// Events of the protocol for the worker.
impl Context<'_> {
    /// Whether the worker has the handler that this event calls; an event without a handler goes to JavaScript code of
    /// the protocol.
    pub(crate) fn handles(&self, event: Event) -> bool {
        let handlers = self.connection.worker.handlers();
        event
            .handler()
            .is_none_or(|handler| handlers.contains(handler))
    }

    /// Passes an event to the worker, even while the worker handles the peer's last messages: fields in words, and a
    /// payload. It counts like a message, unless both are empty. Like a message without a handler, it closes the
    /// connection if the worker does not [handle](Self::handles) it.
    pub(crate) fn event(&mut self, event: Event, fields: &[u8], payload: Cow<'_, [u8]>) -> Flow {
        if !matches!(self.audience, Audience::Both | Audience::Last) {
            return Flow::Go;
        }
        if !self.handles(event) {
            return self.no_handler();
        }
        let length = payload.len();
        // an event that something ended is not counted as a message
        let is_message = fields.len() + length > 0;
        let has_room = self.append_event(event, fields, payload) && self.has_credit();
        let unhurried = !is_message || self.count(length);
        Flow::go_if(has_room && unhurried)
    }

    /// Tells the worker the result of an instruction, which is not a message of the peer.
    pub(crate) fn report(&mut self, event: Event, fields: &[u8], payload: &[u8]) {
        if matches!(self.audience, Audience::Both | Audience::Last) && self.handles(event) {
            self.append_event(event, fields, payload.into());
        }
    }

    /// Asks the worker something, which is not counted as an event of this connection. If the worker's queue is full then,
    /// input waits until it has room.
    pub(crate) fn ask(&mut self, event: Event, fields: &[u8], payload: &[u8]) {
        if !matches!(self.audience, Audience::Both | Audience::Last) {
            return;
        }
        if !self.append_event(event, fields, payload.into()) {
            self.extra().awaits_worker = true;
        }
    }

    /// Whether the worker's queue was full when the session last [asked](Self::ask), so that input has to stop.
    pub(crate) fn awaits_worker(&self) -> bool {
        let extra = self.parts.extra.as_deref();
        extra.is_some_and(|extra| extra.awaits_worker)
    }

    /// Bytes of a socket's messages that may wait for its worker.
    pub(crate) fn unhandled_bytes(&self) -> usize {
        self.env.limits().unhandled_bytes.max(1)
    }

    fn append_event(&mut self, event: Event, fields: &[u8], payload: Cow<'_, [u8]>) -> bool {
        let slot = self.connection.worker_slot.get();
        self.append(event_bytes(fields.len(), payload.len()), |parcel| {
            parcel.event(slot, event, fields, payload)
        })
    }
}

/// Transfers to the worker and from it, with credit in both directions.
impl Context<'_> {
    /// Opens a transfer. The worker's steps [wake](crate::socket::Wake::Transfer) the session until it
    /// [closes](Self::close_transfer) the transfer. The session has to tell the worker its id.
    pub(crate) fn open_transfer(&mut self) -> TransferId {
        let owner = Owner::Connection {
            slot: self.connection.slot,
            socket: self.connection.socket,
        };
        let id = self.env.transfers.open(|id| (owner, id));
        self.extra().bodies.open(id);
        id
    }

    /// Sends a piece to the worker. `Stop` also means that the worker has no room for more of this transfer: input
    /// pauses until it has.
    pub(crate) fn piece(&mut self, id: TransferId, bytes: Cow<'_, [u8]>, last: bool) -> Flow {
        let extra = self.parts.extra.as_deref_mut();
        let spent = extra.and_then(|extra| extra.bodies.spend(id, bytes.len(), last));
        let Some(has_credit) = spent.filter(|_| self.audience == Audience::Both) else {
            return Flow::Go;
        };
        self.outcome.passed = true;
        let length = ID_BYTES + bytes.len();
        let has_room = self.append(length, |parcel| parcel.piece(id.get(), bytes, last));
        let has_room = has_room && self.has_credit();
        Flow::go_if(has_room && has_credit)
    }

    /// Whether a transfer is open.
    pub(crate) fn has_transfer(&self, id: TransferId) -> bool {
        let extra = self.parts.extra.as_deref();
        extra.is_some_and(|extra| extra.bodies.has(id))
    }

    /// Bytes of a transfer that the worker has room for now. The session is [woken](crate::socket::Wake::Transfer) when
    /// the worker asks for more.
    pub(crate) fn credit(&self, id: TransferId) -> usize {
        let extra = self.parts.extra.as_deref();
        extra.map_or(0, |extra| extra.bodies.credit(id))
    }

    /// Holds input back or releases it, for sessions that keep what the worker has no room for. Input that the session
    /// did not take is passed to it again.
    pub(crate) fn hold_input(&mut self, holds: bool) {
        if holds || self.parts.extra.is_some() {
            self.extra().holds_input = holds;
        }
    }

    /// From now on input is taken although much waits in the outbox. For protocols whose output does not answer the
    /// input, because a peer that writes before it reads would otherwise block itself.
    pub(crate) fn read_on(&mut self) {
        self.extra().reads_on = true;
    }

    /// Holds input back until the worker has handled everything it was told of this connection. False: it has already.
    pub(crate) fn wait_for_worker(&mut self) -> bool {
        let handled = self.connection.worker.queue().handled(self.env.index());
        self.parts.credit.wait(handled)
    }

    /// Records that the session can take more of a transfer. The worker is told once the outbox has room.
    pub(crate) fn room(&mut self, id: TransferId) {
        let extra = self.parts.extra.as_deref_mut();
        if !extra.is_some_and(|extra| extra.bodies.await_room(id)) {
            return;
        }
        if self.parts.outbox.charge() > self.env.drained_bytes() {
            if *self.parts.swelling == Swelling::None {
                *self.parts.swelling = Swelling::Awaited;
            }
            return;
        }
        let bodies = &mut self.extra().bodies;
        let awaiting: Vec<_> = bodies.take_awaiting().collect();
        for id in awaiting {
            self.turn(id, Turn::Room);
        }
    }

    /// Ends a transfer. A worker that was sent only a part of its body is told that the rest will not arrive.
    pub(crate) fn close_transfer(&mut self, id: TransferId) {
        let extra = self.parts.extra.as_deref_mut();
        let Some(is_incomplete) = extra.and_then(|extra| extra.bodies.close(id)) else {
            return;
        };
        self.env.transfers.close(id);
        if is_incomplete {
            self.turn(id, Turn::Broken);
        }
    }

    fn turn(&mut self, id: TransferId, turn: Turn) {
        self.append(ID_BYTES + 4, |parcel| parcel.turn(id.get(), turn));
    }

    fn has_credit(&self) -> bool {
        !self.parts.credit.is_spent(self.env.limits())
    }

    /// Appends a record with this many bytes of payload; `append` returns its parcel. Returns whether the worker's queue has
    /// room for another one.
    fn append(&mut self, bytes: usize, append: impl FnOnce(&mut Parcel) -> u64) -> bool {
        let worker = &self.connection.worker;
        if self.parcel.is_none() {
            self.env.ring_later(worker);
            self.parcel = self.env.parcel(worker);
        }
        // the connections of a retired worker are about to be closed
        let Some(parcel) = &mut self.parcel else {
            return false;
        };
        let number = append(parcel);
        self.parts.credit.spend(number, record_bytes(bytes));
        worker.queue().accepts_more(parcel, self.env.queue_limits())
    }
}

/// Bytes of the transfer id in a record.
const ID_BYTES: usize = 8;
