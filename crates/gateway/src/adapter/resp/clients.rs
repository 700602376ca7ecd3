//! The RESP connections of all shards, as `CLIENT LIST` shows them. Owns what they report about themselves.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use millrace_core::{SocketId, Tally};
use millrace_protocol::resp::Version;

use crate::sync::{AtomicU64, Mutex, Ordering};

/// See the module. Ordered by id; bounded by the number of connections.
#[derive(Debug)]
pub(super) struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
}

/// One connection in the list.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: SocketId,
    pub(super) address: Option<SocketAddr>,
    pub(super) local: Option<SocketAddr>,
    /// When it connected, in milliseconds since the gateway was made.
    since: AtomicU64,
    /// When it last sent a command.
    active: AtomicU64,
    told: Mutex<Told>,
}

/// The part that may change.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) name: Vec<u8>,
    pub(super) library: Vec<u8>,
    pub(super) library_version: Vec<u8>,
    pub(super) user: String,
    pub(super) version: Version,
    /// The name of the last command.
    pub(super) command: &'static str,
}

impl Clients {
    pub(super) fn new() -> Self {
        Self {
            all: Mutex::new(BTreeMap::new()),
        }
    }

    pub(super) fn enter(&self, client: &Arc<Client>) {
        self.all.lock().insert(client.id.get(), Arc::clone(client));
    }

    pub(super) fn leave(&self, id: SocketId) {
        self.all.lock().remove(&id.get());
    }

    /// All clients, or those with one of these ids.
    pub(super) fn list(&self, ids: Option<&[u64]>) -> Vec<Arc<Client>> {
        let all = self.all.lock();
        match ids {
            None => all.values().cloned().collect(),
            Some(ids) => ids.iter().filter_map(|id| all.get(id)).cloned().collect(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.lock().len()
    }
}

impl Client {
    pub(super) fn new(
        id: SocketId,
        (address, local): (Option<SocketAddr>, Option<SocketAddr>),
        user: &str,
    ) -> Self {
        Self {
            id,
            address,
            local,
            since: AtomicU64::new(0),
            active: AtomicU64::new(0),
            told: Mutex::new(Told {
                user: user.to_owned(),
                ..Told::default()
            }),
        }
    }

    /// Records the time at which the connection began. Has to be called before other connections see it.
    pub(super) fn begin(&self, now: u64) {
        self.since.store(now, Ordering::Relaxed);
        self.active.store(now, Ordering::Relaxed);
    }

    /// Records the command that it sends now.
    pub(super) fn asks(&self, command: &'static str, now: u64) {
        self.active.store(now, Ordering::Relaxed);
        self.told.lock().command = command;
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock());
    }

    pub(super) fn told(&self) -> Told {
        self.told.lock().clone()
    }

    /// Its id as an integer of RESP.
    pub(super) fn number(&self) -> i64 {
        i64::try_from(self.id.get()).unwrap_or(i64::MAX)
    }

    /// The peer's address in the notation of Redis.
    pub(super) fn address(&self) -> String {
        written(self.address)
    }

    /// The local address in the same notation.
    pub(super) fn local_address(&self) -> String {
        written(self.local)
    }

    /// Appends its line as Redis formats it, without the line end.
    pub(super) fn append_line(&self, tally: Tally, now: u64, line: &mut String) {
        let told = self.told();
        let seconds = |since: u64| now.saturating_sub(since) / 1000;
        // writing to a string cannot fail
        let _written = write!(
            line,
            "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={} db=0 sub={} psub={} ssub={} multi=-1 qbuf=0 \
             qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user={} \
             redir=-1 resp={} lib-name={} lib-ver={}",
            self.id.get(),
            self.address(),
            self.local_address(),
            String::from_utf8_lossy(&told.name),
            seconds(self.since.load(Ordering::Relaxed)),
            seconds(self.active.load(Ordering::Relaxed)),
            if tally.total() > 0 { "P" } else { "N" },
            tally.channels,
            tally.patterns,
            tally.sharded,
            if told.command.is_empty() {
                "NULL"
            } else {
                told.command
            },
            told.user,
            if told.version == Version::Resp3 { 3 } else { 2 },
            String::from_utf8_lossy(&told.library),
            String::from_utf8_lossy(&told.library_version),
        );
    }
}

fn written(address: Option<SocketAddr>) -> String {
    address.map_or_else(|| "/:0".to_owned(), |address| address.to_string())
}
