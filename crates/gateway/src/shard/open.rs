//! How a connection becomes a socket of a worker, in any protocol: a worker is chosen, told, and has to answer in time.
//! Owns the connection until its stream is open.

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use millrace_core::SocketId;
use millrace_protocol::certificate::subject;
use tokio::sync::oneshot;

use super::Shard;
use crate::event::{Acceptance, Handlers, Opening, Rejection, Transport};
use crate::hub::Worker;
use crate::listener::ListenerState;
use crate::net::address_text::text_of;
use crate::net::stream::Stream;
use crate::permits::Permit;
use crate::socket::Session;
use crate::socket::connection::{Admission, Shared};
use crate::socket::env::millis;

/// An accepted connection whose stream is not open yet. Dropping it tells the shard that the stream never opened.
pub(crate) struct Opened {
    shard: Rc<Shard>,
    connection: Option<Shared>,
}

/// Why a peer is refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// No worker takes connections, or none has room in its queue.
    NoWorker,
    /// Its address has too many connections.
    OverLimit,
    /// `handleOpen` did not answer in time.
    Late,
    /// `handleOpen` rejected the connection.
    Rejected(Box<Rejection>),
}

/// A connection that asks to be opened.
pub(crate) struct Candidate<'a> {
    pub(crate) worker: Arc<Worker>,
    pub(crate) listener: &'a Arc<ListenerState>,
    pub(crate) transport: Transport,
    /// The peer's address, or that of the client that a trusted proxy names; `None` on a unix socket.
    pub(crate) address: Option<IpAddr>,
    /// 0 on a unix socket, and for a client that a proxy names in its requests.
    pub(crate) port: u16,
    /// The client's verified TLS certificate in DER.
    pub(crate) certificate: Option<&'a [u8]>,
    pub(crate) permit: Permit,
}

/// What the client has sent about itself, for `handleOpen`.
pub(crate) struct Shown<'a> {
    /// Path and query as sent; empty for transports without a path.
    pub(crate) target: Cow<'a, str>,
    /// `name\0value\0…`, visible ASCII; empty for transports without headers.
    pub(crate) headers: Vec<u8>,
}

impl Shard {
    /// The next worker in turn for a connection, or the only one that gets this listener's connections.
    pub(crate) fn pick_worker(&self, listener: &ListenerState) -> Result<Arc<Worker>, Refusal> {
        let limits = &self.limits;
        let (events, bytes) = (limits.worker_queue_events, limits.worker_queue_bytes);
        let workers = self.hub.workers();
        let picked = match listener.owner.worker {
            Some(id) => workers.pick_own(id, events, bytes),
            None => workers.pick(events, bytes),
        };
        picked.ok_or_else(|| {
            tracing::warn!(target: "millrace::connection", "refused: no worker has room in its queue");
            Refusal::NoWorker
        })
    }

    /// Lets the worker decide; `show` is called if the worker has `handleOpen`.
    pub(crate) async fn open<'a>(
        self: &Rc<Self>,
        candidate: Candidate<'a>,
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
        show: impl FnOnce() -> Shown<'a>,
    ) -> Result<(Opened, Box<Acceptance>), Refusal> {
        self.ask(candidate, session, show)?.in_time().await
    }

    /// Tells the worker, which decides later; `show` is called if the worker has `handleOpen`.
    pub(crate) fn ask<'a>(
        self: &Rc<Self>,
        candidate: Candidate<'a>,
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
        show: impl FnOnce() -> Shown<'a>,
    ) -> Result<Undecided, Refusal> {
        let Candidate {
            worker,
            listener,
            permit,
            address,
            ..
        } = candidate;
        let (connection, admission) = self.reserve(worker, listener, (address, permit), session);
        let asking = Asking {
            transport: candidate.transport,
            address,
            port: candidate.port,
            certificate: candidate.certificate,
        };
        if !asking.announce(self, &connection, show) {
            return Err(Refusal::NoWorker);
        }
        Ok(Undecided {
            shard: Rc::clone(self),
            connection: Some(connection),
            admission,
            late_at: self.now() + millis(answer_timeout(listener)),
        })
    }
}

/// A connection whose worker has not decided. Dropped when the client leaves or the worker is late, it tells the shard, or
/// the connection would stay.
pub(crate) struct Undecided {
    shard: Rc<Shard>,
    connection: Option<Shared>,
    admission: oneshot::Receiver<Admission>,
    late_at: u64,
}

impl Undecided {
    /// Waits no longer than `handleOpen` may take.
    pub(crate) async fn in_time(self) -> Result<(Opened, Box<Acceptance>), Refusal> {
        let timeout = Duration::from_millis(self.late_at.saturating_sub(self.shard.now()));
        let outcome = tokio::time::timeout(timeout, self).await;
        outcome.unwrap_or(Err(Refusal::Late))
    }

    /// Whether the time for the answer is over.
    pub(crate) fn is_late(&self) -> bool {
        self.shard.now() >= self.late_at
    }
}

/// The time that `handleOpen` has for its answer.
pub(crate) fn answer_timeout(listener: &ListenerState) -> Duration {
    let limits = &listener.config.limits;
    limits.handshake_timeout.mul_f32(ANSWER_PART)
}

impl Future for Undecided {
    type Output = Result<(Opened, Box<Acceptance>), Refusal>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(answer) = ready!(Pin::new(&mut self.admission).poll(cx)) else {
            return Poll::Ready(Err(Refusal::NoWorker));
        };
        let connection = self.connection.take();
        Poll::Ready(match answer {
            Ok(acceptance) => {
                let shard = Rc::clone(&self.shard);
                Ok((Opened { shard, connection }, acceptance))
            }
            Err(rejection) => Err(Refusal::Rejected(rejection)),
        })
    }
}

impl Drop for Undecided {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.abandoned(&connection);
        }
    }
}

impl Shard {
    /// Opens a connection without asking a worker.
    pub(crate) fn open_unasked(
        self: &Rc<Self>,
        listener: &Arc<ListenerState>,
        place: (Option<IpAddr>, Permit),
        session: impl FnOnce(SocketId) -> Box<dyn Session>,
    ) -> Opened {
        // the clock may be old, because no turn may have run for long
        self.tick();
        Opened {
            shard: Rc::clone(self),
            connection: Some(self.open_without_worker(listener, place, session)),
        }
    }
}

/// The data about a connection that a worker gets.
struct Asking<'a> {
    transport: Transport,
    address: Option<IpAddr>,
    port: u16,
    certificate: Option<&'a [u8]>,
}

impl Asking<'_> {
    /// Tells the worker of the connection; `handleOpen`, if there is one, gets more data.
    fn announce<'s>(
        &self,
        shard: &Shard,
        connection: &Shared,
        show: impl FnOnce() -> Shown<'s>,
    ) -> bool {
        let socket = connection.socket;
        if !connection.worker.handlers().contains(Handlers::OPEN) {
            return shard.announce(connection, &Opening::unseen(socket));
        }
        let shown = show();
        let address = self.address.map(text_of);
        let opening = Opening {
            socket,
            answer: true,
            transport: self.transport,
            encrypted: connection.listener.is_encrypted,
            address: address.as_deref().unwrap_or_default(),
            port: self.port,
            target: &shown.target,
            headers: &shown.headers,
            subject: &self.certificate.map(subject_block).unwrap_or_default(),
            certificate: self.certificate.unwrap_or_default(),
        };
        shard.announce(connection, &opening)
    }
}

/// A certificate's subject in the form of headers.
fn subject_block(certificate: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    // rustls has parsed the certificate already
    for (name, value) in subject(certificate).unwrap_or_default() {
        for text in [name, value] {
            block.extend_from_slice(text.as_bytes());
            block.push(0);
        }
    }
    block
}

impl Opened {
    /// The stream is open: messages may flow. `early` was received before the session existed.
    pub(crate) fn connected(mut self, stream: Stream, early: &Bytes) {
        if let Some(connection) = self.connection.take() {
            self.shard.connected(&connection, stream, early);
        }
    }

    /// The socket that it has become.
    pub(crate) fn socket(&self) -> Option<SocketId> {
        self.connection.as_ref().map(|connection| connection.socket)
    }

    /// Tells the session whether the subprotocol is its own; see [`Session::agree`].
    pub(crate) fn agree(&self, is_own: bool) {
        if let Some(connection) = &self.connection {
            self.shard.agree(connection, is_own);
        }
    }

    /// Has nothing more compressed for it; see [`Session::stop_compressing`].
    pub(crate) fn stop_compressing(&self) {
        if let Some(connection) = &self.connection {
            connection.stop_compressing();
        }
    }

    /// Has these bytes sent before all other output. False: the socket has output already.
    pub(crate) fn takes_first(&self, bytes: &[u8]) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| self.shard.send_first(connection, bytes))
    }

    /// Reports that `handleOpen` accepted with a value that cannot be sent.
    pub(crate) fn report_invalid(self, problem: &str) {
        self.shard
            .hub
            .report("ERR_MILLRACE_INVALID_ACCEPTANCE", problem);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shard.lost(&connection);
        }
    }
}

/// The part of the handshake timeout that `handleOpen` gets; the rest is for sending the answer.
const ANSWER_PART: f32 = 0.9;
