//! What the streams of one HTTP/2 connection share: the peer, the list of streams, and when the connection has been
//! idle or harmful for too long.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::rt::Executor;
use millrace_protocol::http::{InspectorConfig, Refusal};
use slab::Slab;
use tokio::task::AbortHandle;

use super::inflow::Inflow;
use crate::http::{Body, BodyError, Client, OVER_LIMIT};
use crate::permits::Permit;
use crate::shard::Shard;

/// See the module.
pub(in crate::http) struct Session {
    shard: Rc<Shard>,
    /// The client of the connection itself, with its own permit.
    peer: Client,
    streams: RefCell<Slab<Entry>>,
    sockets: Cell<u32>,
    /// When the last stream ended, or the connection began.
    idle_since: Cell<u64>,
    /// Whether there was a stream.
    used: Cell<bool>,
    /// Since when it accepts no new streams.
    leaving: Cell<Option<u64>>,
    /// The stream whose task hyper is about to start.
    newest: Cell<Option<usize>>,
    /// Since when the peer accepts no bytes at all.
    blocked: Cell<Option<u64>>,
    /// Requests that the peer cancelled before they were answered, less what it earned since: how many, and as of when.
    taken_back: Cell<(u64, u64)>,
    /// Whether the peer cancels too many.
    floods: Cell<bool>,
}

#[derive(Default)]
struct Entry {
    task: Option<AbortHandle>,
    /// Since when output waits for the peer and the peer accepts none.
    blocked: Option<u64>,
    /// The body of the request, if it has one.
    inflow: Option<Rc<Inflow>>,
}

/// A stream of the session; dropping it ends the stream.
pub(super) struct StreamGuard {
    session: Rc<Session>,
    key: usize,
    place: Place,
    /// Whether it has an answer.
    answered: Cell<bool>,
}

/// Where a stream that becomes a socket takes its permit from.
#[derive(Clone)]
pub(crate) struct Place {
    session: Rc<Session>,
    taken: Rc<Cell<bool>>,
}

impl Place {
    pub(in crate::http) fn take_permit(&self) -> Result<Permit, (StatusCode, &'static str)> {
        if self.taken.get() {
            return Err((StatusCode::BAD_REQUEST, "Already upgraded"));
        }
        let permit = self.session.take_permit()?;
        self.taken.set(true);
        Ok(permit)
    }
}

impl Session {
    pub(super) fn new(shard: Rc<Shard>, peer: Client) -> Rc<Self> {
        Rc::new(Self {
            idle_since: Cell::new(shard.now()),
            shard,
            peer,
            streams: RefCell::default(),
            sockets: Cell::new(0),
            used: Cell::new(false),
            leaving: Cell::new(None),
            newest: Cell::new(None),
            blocked: Cell::new(None),
            taken_back: Cell::default(),
            floods: Cell::new(false),
        })
    }

    pub(super) fn inspector(&self) -> &InspectorConfig {
        &self.peer.service.inspector
    }

    /// The rules for requests at this time.
    pub(super) fn rules(&self) -> &InspectorConfig {
        self.peer.service.rules(self.shard.hub())
    }

    pub(in crate::http) fn is_leaving(&self) -> bool {
        self.leaving.get().is_some()
    }

    /// Accepts no more streams; the connection ends with the last one.
    pub(in crate::http) fn leave(&self, now: u64) {
        if !self.is_leaving() {
            self.leaving.set(Some(now));
        }
    }

    /// Begins a stream, whose task follows.
    pub(super) fn enter(self: &Rc<Self>) -> StreamGuard {
        let key = self.streams.borrow_mut().insert(Entry::default());
        self.used.set(true);
        self.newest.set(Some(key));
        StreamGuard {
            session: Rc::clone(self),
            key,
            place: Place {
                session: Rc::clone(self),
                taken: Rc::default(),
            },
            answered: Cell::new(false),
        }
    }

    pub(super) fn log_refusal(&self, refusal: Refusal) {
        self.peer.log_refusal(refusal);
    }

    pub(super) fn count_read(&self, bytes: usize) {
        self.shard.count_read(bytes);
    }

    /// Records that the peer accepted this many bytes, or without `progress` none although some were waiting.
    pub(super) fn wrote(&self, progress: bool, bytes: usize) {
        self.shard.count_written(bytes);
        let since = self.blocked.get().unwrap_or_else(|| self.shard.now());
        self.blocked.set((!progress).then_some(since));
    }

    /// Whether the peer cancels too many requests: each may have caused work without an answer.
    pub(super) fn is_flooded(&self) -> bool {
        self.floods.get()
    }

    fn count_taken_back(&self) {
        let limits = &self.peer.service.limits;
        let (count, since) = self.taken_back.get();
        let now = self.shard.now();
        let per_second = u64::from(limits.control_frames_per_second);
        let earned = now.saturating_sub(since).saturating_mul(per_second) / 1000;
        let count = count.saturating_sub(earned) + 1;
        let since = if earned == 0 { since } else { now };
        self.taken_back.set((count, since));
        if count > u64::from(limits.control_frames_burst) {
            self.floods.set(true);
        }
    }

    /// The peer as the endpoint of one stream sees it.
    pub(super) fn client(self: &Rc<Self>, guard: &StreamGuard) -> Rc<Client> {
        let peer = &self.peer;
        Rc::new(Client {
            address: peer.address,
            address_text: std::cell::OnceCell::new(),
            port: peer.port,
            local: peer.local,
            listener: Arc::clone(&peer.listener),
            service: Arc::clone(&peer.service),
            over_limit: peer.over_limit,
            certificate: peer.certificate.clone(),
            permit: RefCell::default(),
            place: Some(guard.place.clone()),
            upgrade: RefCell::default(),
            half_closed: crate::http::Signal::default(),
        })
    }

    /// Takes a permit for one more socket. The connection itself counts for its address only while it has no socket.
    fn take_permit(&self) -> Result<Permit, (StatusCode, &'static str)> {
        self.sockets.set(self.sockets.get() + 1);
        if let (1, Some(permit)) = (self.sockets.get(), &mut *self.peer.permit.borrow_mut()) {
            permit.forget_address();
        }
        match self.shard.hub().permits().take_one_more(self.counted()) {
            Some((permit, false)) => return Ok(permit),
            Some((_, true)) => {
                self.shard.stats.refused_by_address.add(1);
                self.return_permit();
            }
            None => self.return_permit(),
        }
        Err((StatusCode::SERVICE_UNAVAILABLE, OVER_LIMIT))
    }

    /// A socket has closed, or did not open.
    fn return_permit(&self) {
        self.sockets.set(self.sockets.get() - 1);
        if let (0, Some(address)) = (self.sockets.get(), self.counted())
            && let Some(permit) = &mut *self.peer.permit.borrow_mut()
        {
            permit.count_again_for(address);
        }
    }

    /// The address that is counted; the address of a proxy is not.
    fn counted(&self) -> Option<IpAddr> {
        let address = self.peer.address;
        address.filter(|_| !self.peer.listener.config.trusted.has(address))
    }

    /// Checks its deadlines and returns when to check again. `Err`: the caller has to drop it.
    pub(in crate::http) fn look(&self, now: u64) -> Result<u64, ()> {
        let service = &self.peer.service;
        let write = millis(self.shard.write_timeout());
        let late = |since: u64| now >= since.saturating_add(write);
        if self.blocked.get().is_some_and(late) {
            return Err(());
        }
        for (_, entry) in &*self.streams.borrow() {
            if let Some(inflow) = &entry.inflow {
                inflow.look(now, service.timeouts.body);
            }
            if entry.blocked.is_some_and(late)
                && let Some(task) = &entry.task
            {
                // ends the stream, but not the others
                task.abort();
            }
        }
        if !self.streams.borrow().is_empty() {
            return Ok(now + PACE);
        }
        if let Some(since) = self.leaving.get() {
            return if now < since + GRACE {
                Ok(now + PACE)
            } else {
                Err(())
            };
        }
        let timeout = if self.peer.over_limit {
            OVER_LIMIT_IDLE
        } else if self.used.get() {
            service.limits.http2_idle_timeout
        } else {
            self.peer.listener.config.limits.handshake_timeout
        };
        let at = self.idle_since.get().saturating_add(millis(timeout));
        if now >= at {
            self.leave(now);
            return Ok(now);
        }
        // there may be output that the peer stops accepting now
        Ok(at.min(now.saturating_add(write)))
    }

    fn entry(&self, key: usize, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.streams.borrow_mut().get_mut(key) {
            change(entry);
        }
    }
}

/// The time between two checks of a connection that has streams, or that is ending.
pub(in crate::http) const PACE: u64 = 1000;

/// Time for the peer to close after everything was sent.
const GRACE: u64 = 2000;

/// Timeout for a peer whose address has too many connections.
const OVER_LIMIT_IDLE: Duration = Duration::from_secs(1);

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl StreamGuard {
    pub(super) fn shard(&self) -> &Rc<Shard> {
        &self.session.shard
    }

    /// Watches the request's body, which may have `most` bytes.
    pub(super) fn watch(&self, most: u64) -> Option<Rc<Inflow>> {
        let mut streams = self.session.streams.borrow_mut();
        let entry = streams.get_mut(self.key)?;
        let inflow = Inflow::new(Rc::clone(self.shard()), most, entry.task.clone()?);
        entry.inflow = Some(Rc::clone(&inflow));
        Some(inflow)
    }

    /// Records that there is an answer.
    pub(super) fn answered(&self) {
        self.answered.set(true);
        self.shard().count_request();
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let session = &self.session;
        session.shard.count_bug();
        session.streams.borrow_mut().try_remove(self.key);
        session.idle_since.set(session.shard.now());
        if !self.answered.get() {
            session.count_taken_back();
        }
        if self.place.taken.get() {
            session.return_permit();
        }
    }
}

impl fmt::Debug for StreamGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamGuard").finish_non_exhaustive()
    }
}

/// Spawns hyper's tasks on this shard, and tells each stream its task.
#[derive(Clone)]
pub(super) struct Tasks(pub(super) Rc<Session>);

impl<F: Future<Output = ()> + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let task = tokio::task::spawn_local(task);
        if let Some(key) = self.0.newest.take() {
            self.0
                .entry(key, |entry| entry.task = Some(task.abort_handle()));
        }
    }
}

/// An answer's body that tells its session for how long the peer accepts nothing of it. hyper asks for the next piece
/// once there is room for it.
pub(super) struct Paced {
    body: Body,
    guard: Option<StreamGuard>,
}

impl Paced {
    pub(super) fn new(body: Body, guard: StreamGuard) -> Self {
        guard.answered();
        Self {
            body,
            guard: Some(guard),
        }
    }

    /// The empty body of an answer whose stream continues as a tunnel.
    pub(super) fn empty(body: Body) -> Self {
        Self { body, guard: None }
    }
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let piece = match &mut self.body {
            // h2 buffers what it is given until the peer accepts it: a whole answer would wait there without a deadline
            Body::Full(Some(bytes)) if bytes.len() > PIECE => {
                Poll::Ready(Some(Ok(Frame::data(bytes.split_to(PIECE)))))
            }
            body => Pin::new(body).poll_frame(cx),
        };
        if let Some(StreamGuard { session, key, .. }) = &self.guard {
            let blocked = piece.is_ready().then(|| session.shard.now());
            session.entry(*key, |entry| entry.blocked = blocked);
        }
        piece
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Bytes of an answer that are passed on at once: a frame of the usual size.
const PIECE: usize = 16 * 1024;
