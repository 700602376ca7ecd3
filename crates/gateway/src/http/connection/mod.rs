//! One HTTP connection as its task, hyper and the shard share it, and the shard's list of all of them.
//!
//! [`wire`] holds its bytes, [`hyper_io`] is how hyper sees them, [`write_buffer`] what was written, [`pending_writes`] what
//! leaves at the end of a turn.

mod hyper_io;
mod pending_writes;
mod wire;
mod write_buffer;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use slab::Slab;
use tokio::task::AbortHandle;

use super::HttpService;
use super::clock::Due;
use super::h2::Session;
use crate::listener::ListenerState;
use crate::shard::{Part, Shard};
use crate::socket::env::Env;
use crate::socket::wheel::{Timed, Wheel};
pub(super) use hyper_io::HyperIo;
use pending_writes::PendingWrites;
use wire::Wire;

/// Where a connection lives.
pub(super) struct Around {
    pub(super) shard: Rc<Shard>,
    pub(super) listener: Arc<ListenerState>,
    pub(super) pending_writes: Rc<PendingWrites>,
    pub(super) service: Arc<HttpService>,
}

/// See the module.
pub(crate) struct HttpConnection {
    pub(super) around: Around,
    pub(super) wire: RefCell<Wire>,
    /// Requests that were begun to be answered.
    pub(super) asked: Cell<u64>,
    /// What an endpoint left of a body.
    pub(super) left: Cell<Option<hyper::body::Incoming>>,
    /// An answer said that it is the last.
    pub(super) closing: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// Where it speaks HTTP/2.
    session: RefCell<Option<Rc<Session>>>,
}

/// The connections of a shard that speak HTTP.
pub(super) struct HttpConnections(RefCell<List>);

struct List {
    all: Slab<Entry>,
    /// When each is looked at next.
    wheel: Wheel<Look>,
    /// Those that are due, for a moment.
    due: Vec<Look>,
    /// How many there have been.
    entered: u64,
}

/// A look at a connection's deadlines.
#[derive(Clone, Copy)]
struct Look {
    at: u64,
    key: usize,
    /// Which of those that have had this key.
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

/// … that is left when this is dropped.
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
                service,
            },
            asked: Cell::new(0),
            left: Cell::new(None),
            closing: Cell::new(false),
            waker: RefCell::new(None),
            session: RefCell::new(None),
        })
    }

    /// From here on it speaks HTTP/2.
    pub(super) fn set_session(&self, session: &Rc<Session>) {
        *self.session.borrow_mut() = Some(Rc::clone(session));
    }

    /// Remembers whom to wake when a deadline has come.
    pub(super) fn set_waker(&self, waker: &Waker) {
        *self.waker.borrow_mut() = Some(waker.clone());
    }

    /// Sends what it has written at the end of the turn.
    pub(super) fn write_later(self: &Rc<Self>) {
        self.around.pending_writes.add(self);
        self.around.shard.tell_parts();
        self.around.shard.schedule();
    }

    /// Does something in the name of the connection's task; nothing before that has begun.
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

    /// Ends it if it waits for a request. `Err`: it is to be dropped, for it cannot even speak yet.
    fn stop(&self) -> Result<(), ()> {
        if let Some(session) = &*self.session.borrow() {
            session.leave(self.around.shard.now());
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

    /// Looks at its deadlines. `Err`: it is to be dropped.
    fn look(&self, now: u64) -> Result<u64, ()> {
        if let Some(session) = &*self.session.borrow() {
            let at = session.look(now);
            if session.is_leaving() {
                self.wake();
            }
            return at;
        }
        let mut wire = self.wire.borrow_mut();
        let timeouts = &self.around.service.timeouts;
        match wire
            .clock
            .due(now, timeouts, self.around.shard.write_timeout())
        {
            Due::Later(at) => return Ok(at.min(now + timeouts.pace())),
            Due::End => wire.ended = true,
            Due::Refuse(refusal) => wire.refuse(refusal),
            Due::Cut => return Err(()),
        }
        self.wake();
        Ok(now + timeouts.pace())
    }
}

impl Timed for Look {
    fn at(&self) -> u64 {
        self.at
    }
}

impl HttpConnections {
    pub(super) fn enter(connection: &Rc<HttpConnection>) -> Registration {
        let Around {
            shard, listener, ..
        } = &connection.around;
        let connections = shard.part::<Self>();
        let mut list = connections.0.borrow_mut();
        list.entered += 1;
        let number = list.entered;
        let key = list.all.insert(Entry {
            number,
            listener: listener.id,
            connection: Rc::clone(connection),
            task: None,
        });
        shard.stops.came(listener.id);
        let at = shard.now();
        list.wheel.insert(Look { at, key, number });
        drop(list);
        Registration {
            shard: Rc::clone(shard),
            connections,
            key,
        }
    }

    /// Leaves the list.
    fn leave(&self, key: usize) -> Option<Entry> {
        self.0.borrow_mut().all.try_remove(key)
    }
}

impl Part for HttpConnections {
    fn new(env: &Env) -> Self {
        Self(RefCell::new(List {
            all: Slab::new(),
            wheel: Wheel::new(env.now()),
            due: Vec::new(),
            entered: 0,
        }))
    }

    fn look(&self, shard: &Shard) -> bool {
        let list = &mut *self.0.borrow_mut();
        list.look(shard.now());
        !list.all.is_empty()
    }

    /// Those that wait for a request end, the others once they would wait for one: a request that came is answered.
    fn stop(&self, listeners: &[u32], cuts: bool) -> usize {
        let list = self.0.borrow();
        let stopped = list.of(listeners).map(|entry| {
            if cuts || entry.connection.stop().is_err() {
                entry.drop_task();
            }
        });
        stopped.count()
    }
}

impl List {
    /// Looks at those that are due.
    fn look(&mut self, now: u64) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.advance(now, &mut due);
        for look in due.drain(..) {
            let entry = self.all.get(look.key);
            let Some(entry) = entry.filter(|entry| entry.number == look.number) else {
                continue;
            };
            let at = entry.connection.look(now).unwrap_or_else(|()| {
                entry.drop_task();
                now
            });
            self.wheel.insert(Look { at, ..look });
        }
        self.due = due;
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
    /// To name the task of the connection, which it goes along with.
    pub(super) fn place(&self) -> Place {
        Place {
            connections: Rc::clone(&self.connections),
            key: self.key,
        }
    }
}

impl Place {
    /// Names the task that serves the connection.
    pub(super) fn set_task(&self, task: AbortHandle) {
        if let Some(entry) = self.connections.0.borrow_mut().all.get_mut(self.key) {
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
