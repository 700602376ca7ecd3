//! Accepting: a listener's tasks run on one shard and deal connections to all shards in turn.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use socket2::TcpKeepalive;

use super::Shard;
use super::protocol::{Needs, Served};
use super::readiness::Accepting;
use super::rush::Rush;
use crate::fault::Fault;
use crate::inbox::Command;
use crate::listener::{Incoming, ListenerState, Listening, Peer};
use crate::net::accept_errors::AcceptErrors;
use crate::net::address::Bound;
use crate::net::raw::RawStream;
use crate::net::stream::Stream;
use crate::socket::env::millis;

impl Shard {
    /// Starts an accepted connection in the protocol of its listener.
    pub(super) fn adopt(self: &Rc<Self>, stream: Stream, peer: Peer) {
        // the service lives as long as its listener, which the peer refers to
        if let Some(served) = self.services.find(peer.listener.id) {
            self.serve(&served, stream, peer);
        }
    }

    fn serve(self: &Rc<Self>, (service, needs): &Served, stream: Stream, peer: Peer) {
        keep_alive(&stream, needs);
        if needs.delays {
            stream.with_tcp(|socket| {
                // a peer that has left already fails at its first read
                let _gone = socket.set_tcp_nodelay(false);
            });
        }
        Arc::clone(service).accept(self, stream, peer);
    }
}

/// Enables TCP keep-alive probes if the protocol needs them to notice a silent peer that has vanished.
fn keep_alive(stream: &Stream, needs: &Needs) {
    if let Some(silence) = needs.keep_alive {
        let asks = TcpKeepalive::new().with_time(silence);
        stream.with_tcp(|socket| {
            // without them, a peer that vanished is noticed with the next message to it
            let _without = socket.set_tcp_keepalive(&asks);
        });
    }
}

/// Starts accepting on this shard's event loop. The tasks end when they are aborted.
pub(crate) fn listen(shard: &Rc<Shard>, listening: Listening) {
    let Listening {
        bound,
        state,
        caution,
    } = listening;
    // here, because the log is that of the I/O threads
    if let Some(caution) = caution {
        tracing::warn!(target: "millrace::listener", "{caution}");
    }
    let tasks = match bound {
        Bound::Tcp(listeners) => listeners
            .into_iter()
            .map(|listener| {
                let accepting = accept_tcp(Rc::clone(shard), listener, Arc::clone(&state));
                shard.spawn_vital(accepting)
            })
            .collect(),
        #[cfg(unix)]
        Bound::Unix(listener, path) => {
            let file = UnixFile(path);
            let accepting = accept_unix(Rc::clone(shard), listener, file, Arc::clone(&state));
            vec![shard.spawn_vital(accepting)]
        }
    };
    shard.keep_acceptors(state.id, tasks);
}

async fn accept_tcp(shard: Rc<Shard>, listener: std::net::TcpListener, state: Arc<ListenerState>) {
    match shard.readiness.listen_tcp(listener) {
        Ok(listener) => accept(&shard, &listener, &state).await,
        Err(error) => tell(&state, &error),
    }
}

#[cfg(unix)]
async fn accept_unix(
    shard: Rc<Shard>,
    listener: std::os::unix::net::UnixListener,
    _file: UnixFile,
    state: Arc<ListenerState>,
) {
    match shard.readiness.listen_unix(listener) {
        Ok(listener) => accept(&shard, &listener, &state).await,
        Err(error) => tell(&state, &error),
    }
}

/// Accepts connections until the task is aborted.
async fn accept(shard: &Rc<Shard>, listener: &Accepting, state: &Arc<ListenerState>) {
    let Some(served) = shard.services.find(state.id) else {
        return;
    };
    let mut errors = AcceptErrors::default();
    let mut rush = Rush::new(millis(shard.clock()));
    loop {
        shard.hub().permits().room().await;
        let accepted = errors.until_accepted(|| listener.accept(), |error| tell(state, error));
        let accepted = if rush.is_on() {
            tokio::time::timeout(Rush::LULL, accepted).await.ok()
        } else {
            Some(accepted.await)
        };
        let changed = match accepted {
            Some((stream, address)) => {
                deal(shard, stream, address, (state, &served));
                served.1.peer_begins && rush.counts(millis(shard.clock()))
            }
            None => rush.ends(millis(shard.clock())),
        };
        if changed {
            listener.hold_back(rush.is_on());
        }
    }
}

/// Removes the file of a unix socket when its listener ends.
#[cfg(unix)]
struct UnixFile(std::path::PathBuf);

#[cfg(unix)]
impl Drop for UnixFile {
    fn drop(&mut self) {
        // the file may have been removed already
        let _gone = std::fs::remove_file(&self.0);
    }
}

fn tell(listener: &ListenerState, error: &std::io::Error) {
    let notices = &listener.owner.notices;
    notices.report("ERR_MILLRACE_ACCEPT_FAILED", &error.to_string());
}

fn deal(
    shard: &Rc<Shard>,
    stream: RawStream,
    peer: Option<SocketAddr>,
    (listener, served): (&Arc<ListenerState>, &Served),
) {
    let hub = shard.hub();
    hub.faults().hit(Fault::Accept);
    let address = peer.map(|peer| peer.ip().to_canonical());
    // the client behind a proxy is known later, and is counted then
    let counted = address.filter(|_| !listener.config.trusted.has(address));
    let (permit, over_limit) = hub.permits().accepted(counted);
    if over_limit {
        shard.stats.refused_by_address.add(1);
    }
    let peer = Peer {
        address,
        port: peer.map_or(0, |peer| peer.port()),
        listener: Arc::clone(listener),
        local: None,
        permit: Some(permit),
        over_limit,
        certificate: None,
    };
    let target = hub.next_shard();
    if target == shard.index() {
        return match shard.readiness.stream(stream) {
            Ok(stream) => shard.serve(served, stream, peer),
            Err(error) => tell(listener, &error),
        };
    }
    let incoming = Incoming {
        stream,
        peer,
        early: Vec::new(),
        refused_by_address: false,
    };
    hub.inboxes()
        .post(target, Command::Adopt(Box::new(incoming)));
    hub.inboxes().wake_bits(1 << target.get());
}

/// Takes a connection that another shard has dealt to this one, or that another server has accepted.
pub(super) fn adopt(shard: &Rc<Shard>, incoming: Incoming) {
    let Incoming {
        stream,
        peer,
        early,
        refused_by_address,
    } = incoming;
    if refused_by_address {
        shard.stats.refused_by_address.add(1);
    }
    match shard.readiness.stream(stream) {
        Ok(stream) => shard.adopt(stream.with_early(early), peer),
        Err(error) => tell(&peer.listener, &error),
    }
}
