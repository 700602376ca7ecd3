//! A listener, its peers, and the state of a stop in progress. Accepts nothing itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::config::ListenerConfig;
use crate::net::address::Bound;
use crate::net::connect::DialTarget;
use crate::net::raw::RawStream;
use crate::net::tls::{Connector, Terms};
use crate::notice::{Notice, Notices};
use crate::permits::Permit;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// A listener, shared by all its connections.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) id: u32,
    pub(crate) config: ListenerConfig,
    /// `Some` if the listener itself handles TLS.
    pub(crate) tls: Option<Terms>,
    /// Whether its connections are encrypted.
    pub(crate) is_encrypted: bool,
    pub(crate) owner: Owner,
    /// [`OPEN`], [`LEAVING`] or [`STOPPED`].
    state: AtomicUsize,
    /// Calls back when the last user drops the listener.
    _left: Left,
}

/// It accepts connections.
const OPEN: usize = 0;

/// It accepts connections, and closes each as soon as that disturbs nobody: its stop is spread over a time.
const LEAVING: usize = 1;

/// It accepts nothing more.
const STOPPED: usize = 2;

/// The owner of a listener or of a dialled connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    /// Where the owner's notices go.
    pub(crate) notices: Arc<Notices>,
    /// The id of the only worker that gets its connections; `None`: workers take turns.
    pub(crate) worker: Option<u32>,
}

/// Calls its function when it is dropped.
struct Left(Option<Box<dyn FnOnce() + Send + Sync>>);

/// A listening socket on its way to the shard that accepts on it.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) bound: Bound,
    pub(crate) state: Arc<ListenerState>,
    /// What the log says of it.
    pub(crate) caution: Option<&'static str>,
}

/// A peer, before and during its handshake.
#[derive(Debug)]
pub(crate) struct Peer {
    /// `None` on a unix socket.
    pub(crate) address: Option<IpAddr>,
    /// 0 on a unix socket.
    pub(crate) port: u16,
    pub(crate) listener: Arc<ListenerState>,
    /// The local address, if the protocol asks for it; `None` on a unix socket.
    pub(crate) local: Option<SocketAddr>,
    /// Moves to the socket that the peer becomes.
    pub(crate) permit: Option<Permit>,
    /// Whether its address already has too many connections.
    pub(crate) over_limit: bool,
    /// Its verified TLS certificate in DER.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

impl Peer {
    /// The fields of an event that describes a connection to JavaScript code of its protocol: the id of its listener or
    /// of its dial, the peer's port (0 on a unix socket), whether it is encrypted (4 bytes each, little-endian), and
    /// the peer's address (empty on a unix socket).
    pub(crate) fn fields(&self) -> Box<[u8]> {
        let numbers = [
            self.listener.id,
            u32::from(self.port),
            u32::from(self.listener.is_encrypted),
        ];
        let mut fields: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        if let Some(address) = self.address {
            fields.extend_from_slice(address.to_string().as_bytes());
        }
        fields.into()
    }
}

/// An accepted connection on its way to another shard.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) stream: RawStream,
    pub(crate) peer: Peer,
    /// Bytes that were read from the connection before.
    pub(crate) early: Vec<u8>,
    /// Whether its address has too many connections, or makes them too fast, and that is not counted yet.
    pub(crate) refused_by_address: bool,
}

/// A connection to be dialled, on its way to the shard that dials it.
#[derive(Debug)]
pub(crate) struct Dialling {
    pub(crate) target: DialTarget,
    /// `Some` if it uses TLS.
    pub(crate) tls: Option<Connector>,
    pub(crate) state: Arc<ListenerState>,
}

/// A stop of some listeners, in progress on every shard.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) notices: Arc<Notices>,
    /// `None`: the owning thread leaves the gateway.
    pub(crate) ticket: Option<u32>,
    pub(crate) listeners: Vec<u32>,
    /// `Some` if its connections are closed one after the other.
    pub(crate) spread: Option<Spread>,
    /// A later stop may make these earlier.
    pub(crate) times: watch::Sender<StopTimes>,
    pub(crate) cut: AtomicU64,
    /// The number of stops in progress, including this one.
    pub(crate) in_progress: Arc<AtomicUsize>,
}

/// How connections are closed one after the other.
#[derive(Debug)]
pub(crate) struct Spread {
    /// The listeners, which accept connections until the last one has had its turn.
    pub(crate) leaving: Vec<Arc<ListenerState>>,
    pub(crate) began: Instant,
    /// The time that was asked for.
    pub(crate) time: Duration,
    /// The close code.
    pub(crate) code: u16,
}

/// When the steps of a stop happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopTimes {
    /// The listeners accept nothing more, and every connection is closing.
    pub(crate) closed: Instant,
    /// The time that outboxes have to be written.
    pub(crate) drain: Duration,
    /// Connections that are left are cut.
    pub(crate) deadline: Instant,
}

impl StopTimes {
    /// The times of a stop that begins now.
    pub(crate) fn new(now: Instant, spread: Duration, drain: Duration) -> Self {
        let closed = now + spread;
        Self {
            closed,
            drain,
            deadline: closed + drain,
        }
    }

    /// The same with shorter times, counted from now. Longer ones change nothing.
    #[must_use]
    pub(crate) fn hastened(
        self,
        now: Instant,
        spread: Option<Duration>,
        drain: Option<Duration>,
    ) -> Self {
        let closed = spread.map_or(self.closed, |spread| self.closed.min(now + spread));
        let shorter = drain.map_or(self.drain, |drain| self.drain.min(drain));
        Self {
            closed,
            drain: shorter,
            deadline: self.deadline.min(closed.max(now) + shorter),
        }
    }
}

impl Stopping {
    pub(crate) fn times(&self) -> StopTimes {
        *self.times.borrow()
    }

    /// Waits for something, until the deadline at the latest, which a later stop may make earlier.
    pub(crate) async fn until_deadline(&self, what: impl Future<Output = ()>) {
        let mut what = pin!(what);
        let mut changes = self.times.subscribe();
        loop {
            let deadline = changes.borrow_and_update().deadline;
            if Instant::now() >= deadline {
                return;
            }
            tokio::select! {
                () = &mut what => return,
                () = tokio::time::sleep_until(deadline.into()) => return,
                // the sender lives as long as this
                _sent = changes.changed() => {}
            }
        }
    }
}

impl ListenerState {
    /// `left` is called when the last user drops the listener.
    pub(crate) fn new(
        id: u32,
        config: ListenerConfig,
        tls: Option<Terms>,
        left: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        let is_encrypted = tls.is_some();
        Self {
            id,
            config,
            tls,
            is_encrypted,
            owner: Owner::default(),
            state: AtomicUsize::new(OPEN),
            _left: Left(Some(Box::new(left))),
        }
    }

    /// The same listener with this owner.
    pub(crate) fn of(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The listener state of one dialled connection.
    pub(crate) fn dialled(
        id: u32,
        config: ListenerConfig,
        is_encrypted: bool,
        left: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            is_encrypted,
            ..Self::new(id, config, None, left)
        }
    }

    /// Whether these notices are the owner's.
    pub(crate) fn is_of(&self, notices: &Arc<Notices>) -> bool {
        Arc::ptr_eq(&self.owner.notices, notices)
    }

    pub(crate) fn stop(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
    }

    /// It will stop soon, and accepts connections until then.
    pub(crate) fn leave(&self) {
        // nothing else writes before it stops
        self.state.store(LEAVING, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.state.load(Ordering::SeqCst) == STOPPED
    }

    /// Whether it is stopping, or will be soon.
    pub(crate) fn is_leaving(&self) -> bool {
        self.state.load(Ordering::SeqCst) != OPEN
    }

    /// Whether an answer is the last one of its connection: the listener stops, or it is attached to a server that would
    /// have to answer the next request.
    pub(crate) fn ends_connections(&self) -> bool {
        self.config.attached || self.is_leaving()
    }
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left").finish_non_exhaustive()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(left) = self.0.take() {
            left();
        }
    }
}

/// Completes the stop: every shard has finished it, or has ended without doing so.
impl Drop for Stopping {
    fn drop(&mut self) {
        self.in_progress.fetch_sub(1, Ordering::SeqCst);
        let cut = self.cut.load(Ordering::SeqCst);
        self.notices.post(match self.ticket {
            Some(ticket) => Notice::ListenersStopped { ticket, cut },
            None => Notice::Stopped,
        });
    }
}

#[cfg(all(test, not(millrace_loom)))]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_later_stop_makes_the_times_shorter_and_never_longer() {
        let began = Instant::now();
        let times = StopTimes::new(began, ms(60_000), ms(10_000));
        let after = |time: Instant| (time - began).as_millis();
        let of = |times: StopTimes| (after(times.closed), after(times.deadline));
        assert_eq!(of(times), (60_000, 70_000));
        let now = began + ms(20_000);
        let hastened = |spread, drain| of(times.hastened(now, spread, drain));
        assert_eq!(hastened(None, None), (60_000, 70_000));
        assert_eq!(
            hastened(Some(ms(50_000)), Some(ms(50_000))),
            (60_000, 70_000)
        );
        assert_eq!(hastened(Some(ms(5000)), None), (25_000, 35_000));
        assert_eq!(hastened(None, Some(ms(1000))), (60_000, 61_000));
        assert_eq!(hastened(Some(ms(0)), Some(ms(0))), (20_000, 20_000));
        // while outboxes drain
        let now = began + ms(61_000);
        let hastened = |spread, drain| of(times.hastened(now, spread, drain)).1;
        assert_eq!(hastened(Some(ms(0)), None), 70_000);
        assert_eq!(hastened(None, Some(ms(2000))), 63_000);
    }
}
