//! One HTTP connection as its task, hyper and the shard share it, and the list of a shard's HTTP connections.
//!
//! [`wire`] holds its bytes, [`as_sent`] keeps heads of requests, [`hyper_io`] is the interface for hyper,
//! [`hyper_output`] orders hyper's output, [`write_buffer`] holds unsent output, [`pending_writes`] sends at the end of
//! a turn.

mod as_sent;
mod hyper_io;
mod hyper_output;
mod pending_writes;
mod wire;
mod write_buffer;

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use slab::Slab;
use tokio::task::AbortHandle;

use super::HttpService;
use super::answer_date::AnswerDate;
use super::clock::Due;
use super::h2::{self, Session};
use crate::listener::ListenerState;
use crate::shard::{Part, Shard};
use crate::socket::env::Env;
use crate::socket::wheel::{TICK_MS, Timed, Wheel};
pub(super) use hyper_io::HyperIo;
use pending_writes::PendingWrites;
pub(super) use wire::Wire;

/// What a connection belongs to.
pub(super) struct Around {
    pub(super) shard: Rc<Shard>,
    pub(super) listener: Arc<ListenerState>,
    pub(super) pending_writes: Rc<PendingWrites>,
    pub(super) date: Rc<AnswerDate>,
    pub(super) service: Arc<HttpService>,
}

/// See the module.
pub(crate) struct HttpConnection {
    pub(super) around: Around,
    pub(super) wire: RefCell<Wire>,
    /// Requests whose answer was begun.
    pub(super) asked: Cell<u64>,
    /// The part of a body that an endpoint did not read, while another request may follow.
    pub(super) left: Cell<Option<hyper::body::Incoming>>,
    /// Whether an answer said that it is the last one.
    pub(super) closing: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// `Some` if the connection uses HTTP/2.
    session: RefCell<Option<Rc<Session>>>,
    /// When its deadlines are checked next.
    next_look: Cell<Look>,
}

/// The HTTP connections of a shard.
pub(super) struct HttpConnections {
    list: RefCell<List>,
    /// The next check of each connection, and checks that were replaced by an earlier one.
    wheel: RefCell<Wheel<Look>>,
    /// A buffer for the checks that are due.
    due: RefCell<Vec<Look>>,
}

struct List {
    all: Slab<Entry>,
    /// The number of connections so far.
    entered: u64,
}

/// A check of a connection's deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    at: u64,
    key: usize,
    /// Distinguishes connections that have had the same key.
    number: u64,
}

struct Entry {
    number: u64,
    listener: u32,
    connection: Rc<HttpConnection>,
    task: Option<AbortHandle>,
}

/// A connection's place in the list.
pub(super) struct Place {
    connections: Rc<HttpConnections>,
    key: usize,
}

/// Removes the connection from the list when dropped.
pub(super) struct Registration {
    shard: Rc<Shard>,
    connections: Rc<HttpConnections>,
    key: usize,
}

impl HttpConnection {
    pub(super) fn new(
        shard: &Rc<Shard>,
        listener: &Arc<ListenerState>,
        service: Arc<HttpService>,
    ) -> Rc<Self> {
        Rc::new(Self {
            wire: RefCell::new(Wire::new(shard.arm_timers())),
            around: Around {
                shard: Rc::clone(shard),
                listener: Arc::clone(listener),
                pending_writes: shard.part(),
                date: shard.part(),
                service,
            },
            asked: Cell::new(0),
            left: Cell::new(None),
            closing: Cell::new(false),
            waker: RefCell::new(None),
            session: RefCell::new(None),
            next_look: Cell::default(),
        })
    }

    /// Records that the connection uses HTTP/2 from now on.
    pub(super) fn set_session(&self, session: &Rc<Session>) {
        *self.session.borrow_mut() = Some(Rc::clone(session));
    }

    /// Limits everything that still happens to `timeout`.
    pub(super) fn begin_end(&self, timeout: Duration) {
        let now = self.around.shard.now();
        let until = self.wire.borrow_mut().clock.begin_end(now, timeout);
        self.look_by(until);
    }

    /// Limits the handshake of a request for another protocol, which has a deadline of its own.
    pub(super) fn begin_handshake(&self, wire: &mut Wire) {
        let limits = &self.around.listener.config.limits;
        let until = wire.clock.begin_handshake(limits.handshake_timeout);
        self.look_by(until);
    }

    /// Has its deadlines checked by this time.
    pub(super) fn look_by(&self, at: u64) {
        let next = self.next_look.get();
        if at < next.at {
            let connections = self.around.shard.part::<HttpConnections>();
            connections.look_at(self, Look { at, ..next });
        }
    }

    /// Stores the waker for the deadlines.
    pub(super) fn set_waker(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Sends what was written at the end of the turn.
    pub(super) fn write_later(self: &Rc<Self>) {
        self.around.pending_writes.add(self);
        self.around.shard.tell_parts_soon();
    }

    /// Writes to the peer.
    pub(super) fn poll_write(
        self: &Rc<Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = &mut *self.wire.borrow_mut();
        let wrote = wire.poll_write_vectored(cx, &self.around, slices);
        self.queue(wire, wrote)
    }

    /// Queues written bytes, so that they leave at the end of the turn.
    fn queue(
        self: &Rc<Self>,
        wire: &mut Wire,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if wrote.is_ready()
            && !wire.write_buffer.is_empty()
            && !std::mem::replace(&mut wire.write_buffer.queued, true)
        {
            self.write_later();
        }
        wrote
    }

    /// Calls `act` with the waker of the connection's task; before the task has begun there is none.
    pub(super) fn with_waker(&self, act: impl FnOnce(&Waker)) {
        if let Some(waker) = &*self.waker.borrow() {
            act(waker);
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Closes it if it waits for a request. `Err`: the caller has to drop it, because it is not open yet.
    fn stop(&self) -> Result<(), ()> {
        if let Some(session) = &*self.session.borrow() {
            let now = self.around.shard.now();
            session.leave(now);
            self.look_by(now + h2::PACE);
            self.wake();
            return Ok(());
        }
        let mut wire = self.wire.borrow_mut();
        if !wire.is_open() {
            return Err(());
        }
        if wire.is_idle() {
            wire.ended = true;
            self.wake();
        }
        Ok(())
    }

    /// Checks its deadlines. `Err`: the caller has to drop it.
    fn look(&self, now: u64) -> Result<u64, ()> {
        if let Some(session) = &*self.session.borrow() {
            let at = session.look(now);
            if session.is_leaving() {
                self.wake();
            }
            return at;
        }
        let mut wire = self.wire.borrow_mut();
        let (timeouts, write) = (
            &self.around.service.timeouts,
            self.around.shard.write_timeout(),
        );
        match wire.clock.due(now, timeouts, write) {
            Due::Later(at) => return Ok(wire.clock.next_look(now, at, timeouts, write)),
            Due::Undecided => {
                wire.clock.end_decision();
                self.wake();
                return Ok(now);
            }
            Due::End => wire.ended = true,
            Due::Refuse(refusal) => wire.refuse(refusal),
            Due::Cut => return Err(()),
        }
        self.wake();
        Ok(wire.clock.next_look(now, u64::MAX, timeouts, write))
    }
}

impl Timed for Look {
    fn is_due(&self, tick: u64) -> bool {
        self.at / TICK_MS <= tick
    }
}

impl HttpConnections {
    pub(super) fn enter(connection: &Rc<HttpConnection>) -> Registration {
        let Around {
            shard, listener, ..
        } = &connection.around;
        let connections = shard.part::<Self>();
        let mut list = connections.list.borrow_mut();
        list.entered += 1;
        let number = list.entered;
        let key = list.all.insert(Entry {
            number,
            listener: listener.id,
            connection: Rc::clone(connection),
            task: None,
        });
        drop(list);
        shard.stops.came(listener.id);
        let at = shard.now();
        connections.look_at(connection, Look { at, key, number });
        Registration {
            shard: Rc::clone(shard),
            connections,
            key,
        }
    }

    /// Sets the next check of a connection.
    fn look_at(&self, connection: &HttpConnection, look: Look) {
        connection.next_look.set(look);
        self.wheel.borrow_mut().insert(look, look.at);
    }

    /// Removes a connection from the list.
    fn leave(&self, key: usize) -> Option<Entry> {
        self.list.borrow_mut().all.try_remove(key)
    }
}

impl Part for HttpConnections {
    fn new(env: &Env) -> Self {
        Self {
            list: RefCell::new(List {
                all: Slab::new(),
                entered: 0,
            }),
            wheel: RefCell::new(Wheel::new(env.now())),
            due: RefCell::default(),
        }
    }

    fn look(&self, shard: &Shard) -> bool {
        let now = shard.now();
        let mut due = self.due.borrow_mut();
        self.wheel.borrow_mut().advance(now, &mut due);
        let list = self.list.borrow();
        for look in due.drain(..) {
            let Some(entry) = list.known(look) else {
                continue;
            };
            let at = entry.connection.look(now).unwrap_or_else(|()| {
                entry.drop_task();
                now
            });
            self.look_at(&entry.connection, Look { at, ..look });
        }
        !list.all.is_empty()
    }

    /// Closes connections that wait for a request. The others close after their current request, which is answered.
    fn stop(&self, listeners: &[u32], cuts: bool) -> usize {
        let list = self.list.borrow();
        let stopped = list.of(listeners).map(|entry| {
            if cuts || entry.connection.stop().is_err() {
                entry.drop_task();
            }
        });
        stopped.count()
    }
}

impl List {
    /// The connection of this check, unless the check was replaced by an earlier one.
    fn known(&self, look: Look) -> Option<&Entry> {
        let entry = self.all.get(look.key)?;
        let is_next = entry.number == look.number && entry.connection.next_look.get() == look;
        is_next.then_some(entry)
    }

    fn of(&self, listeners: &[u32]) -> impl Iterator<Item = &Entry> {
        let entries = self.all.iter().map(|(_, entry)| entry);
        entries.filter(|entry| listeners.contains(&entry.listener))
    }
}

impl Entry {
    fn drop_task(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Registration {
    /// A place that can name the connection's task and moves into it.
    pub(super) fn place(&self) -> Place {
        Place {
            connections: Rc::clone(&self.connections),
            key: self.key,
        }
    }
}

impl Place {
    /// Sets the task that serves the connection.
    pub(super) fn set_task(&self, task: AbortHandle) {
        if let Some(entry) = self.connections.list.borrow_mut().all.get_mut(self.key) {
            entry.task = Some(task);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shard.count_bug();
        let left = self.connections.leave(self.key);
        if let Some(left) = left {
            self.shard.stops.left(left.listener);
        }
    }
}
