//! Listeners: accepting connections, counting them, dealing them to the I/O shards in turn, and
//! the record of a stop in progress.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use millrace_core::ShardIndex;
use millrace_protocol::http::InspectorConfig;
use millrace_protocol::websocket::{DecoderConfig, Role};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use crate::adapter::RespTerms;
use crate::adapter::files::Files;
use crate::config::ListenerConfig;
use crate::gateway::Gateway;
use crate::inbox::Command;
use crate::net::address::Bound;
use crate::net::stream::{RawStream, Stream};
use crate::net::tls::Terms;
use crate::notice::Notice;
use crate::permits::Permit;
use crate::shard::Shard;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// A listener, shared by everything accepted on it.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) id: u32,
    pub(crate) config: ListenerConfig,
    /// The bounds as the WebSocket decoder wants them.
    pub(crate) decoder: Arc<DecoderConfig>,
    /// Where it speaks TLS.
    pub(crate) tls: Option<Terms>,
    /// … and as the inspector of requests does.
    pub(crate) inspector: InspectorConfig,
    /// The value of `Keep-Alive` in its answers.
    pub(crate) keep_alive: HeaderValue,
    /// The directories it serves.
    pub(crate) files: Option<Files>,
    /// Where it speaks RESP.
    pub(crate) resp: Option<Arc<RespTerms>>,
    stopping: AtomicBool,
}

/// A listening socket on its way to the shard that accepts on it.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) bound: Bound,
    pub(crate) state: Arc<ListenerState>,
}

/// A peer, before and during its handshake.
#[derive(Debug)]
pub(crate) struct Peer {
    /// `None` on a unix socket.
    pub(crate) address: Option<IpAddr>,
    /// 0 on a unix socket.
    pub(crate) port: u16,
    pub(crate) listener: Arc<ListenerState>,
    pub(crate) permit: Permit,
    /// Its address has too many connections already.
    pub(crate) over_limit: bool,
    /// Its TLS certificate in DER, checked.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

/// An accepted connection dealt to another shard.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) stream: RawStream,
    pub(crate) peer: Peer,
}

/// A stop of some listeners, in progress on every shard.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) ticket: u32,
    pub(crate) listeners: Vec<u32>,
    pub(crate) deadline: Instant,
    pub(crate) cut: AtomicU64,
}

impl ListenerState {
    pub(crate) fn new(
        id: u32,
        config: ListenerConfig,
        tls: Option<Terms>,
        files: Option<Files>,
        resp: Option<Arc<RespTerms>>,
    ) -> Self {
        let decoder = Arc::new(DecoderConfig {
            message_bytes: config.limits.message_bytes,
            role: Role::Server,
            control_per_second: config.limits.control_frames_per_second,
            control_burst: config.limits.control_frames_burst,
        });
        let limits = &config.limits;
        let inspector = InspectorConfig {
            head_bytes: limits.request_head_bytes,
            headers: usize::try_from(limits.request_headers).unwrap_or(usize::MAX),
            target_bytes: limits.request_target_bytes,
            body_bytes: u64::try_from(limits.body_bytes).unwrap_or(u64::MAX),
        };
        let keep_alive =
            crate::http::keep_alive_terms(limits.keep_alive_timeout, limits.keep_alive_requests);
        Self {
            id,
            config,
            decoder,
            tls,
            inspector,
            keep_alive,
            files,
            resp,
            stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// Every shard is done with it, or has ended without looking at it.
impl Drop for Stopping {
    fn drop(&mut self) {
        self.gateway.notices().post(Notice::ListenersStopped {
            ticket: self.ticket,
            cut: self.cut.load(Ordering::SeqCst),
        });
    }
}

/// Starts accepting on this shard's event loop. The tasks end when they are aborted.
pub(crate) fn listen(shard: &Rc<Shard>, listening: Listening) {
    let Listening { bound, state } = listening;
    let tasks = match bound {
        Bound::Tcp(listeners) => listeners
            .into_iter()
            .map(|listener| {
                let (shard, state) = (Rc::clone(shard), Arc::clone(&state));
                tokio::task::spawn_local(accept_tcp(shard, listener, state)).abort_handle()
            })
            .collect(),
        #[cfg(unix)]
        Bound::Unix(listener, path) => {
            let (shard, state) = (Rc::clone(shard), Arc::clone(&state));
            let file = UnixFile(path);
            vec![tokio::task::spawn_local(accept_unix(shard, listener, file, state)).abort_handle()]
        }
    };
    shard.keep_acceptors(state.id, tasks);
}

async fn accept_tcp(shard: Rc<Shard>, listener: std::net::TcpListener, state: Arc<ListenerState>) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            return shard
                .gateway()
                .report("ERR_MILLRACE_ACCEPT_FAILED", &error.to_string());
        }
    };
    loop {
        shard.gateway().permits().room().await;
        match listener.accept().await {
            Ok((stream, address)) => {
                // a peer that is gone already fails at its first read
                #[cfg(not(target_os = "linux"))]
                let _gone = stream.set_nodelay(true);
                deal(&shard, Stream::Tcp(stream), Some(address), &state);
            }
            Err(error) => accept_failed(&shard, &error).await,
        }
    }
}

#[cfg(unix)]
async fn accept_unix(
    shard: Rc<Shard>,
    listener: std::os::unix::net::UnixListener,
    _file: UnixFile,
    state: Arc<ListenerState>,
) {
    let listener = match UnixListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            return shard
                .gateway()
                .report("ERR_MILLRACE_ACCEPT_FAILED", &error.to_string());
        }
    };
    loop {
        shard.gateway().permits().room().await;
        match listener.accept().await {
            Ok((stream, _)) => deal(&shard, Stream::Unix(stream), None, &state),
            Err(error) => accept_failed(&shard, &error).await,
        }
    }
}

/// Removes a unix socket's file when its listener ends.
#[cfg(unix)]
struct UnixFile(std::path::PathBuf);

#[cfg(unix)]
impl Drop for UnixFile {
    fn drop(&mut self) {
        // somebody may have removed it already
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// Out of descriptors, or a peer that left the backlog: neither may spin.
async fn accept_failed(shard: &Shard, error: &std::io::Error) {
    shard
        .gateway()
        .report("ERR_MILLRACE_ACCEPT_FAILED", &error.to_string());
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

fn deal(
    shard: &Rc<Shard>,
    stream: Stream,
    peer: Option<SocketAddr>,
    listener: &Arc<ListenerState>,
) {
    let gateway = shard.gateway();
    let address = peer.map(|peer| peer.ip().to_canonical());
    // whom a proxy forwards for is known later, and counted then
    let counted = address.filter(|_| !listener.config.trusted.has(address));
    let (permit, over_limit) = gateway.permits().take(counted);
    let peer = Peer {
        address,
        port: peer.map_or(0, |peer| peer.port()),
        listener: Arc::clone(listener),
        permit,
        over_limit,
        certificate: None,
    };
    let target = gateway.next_shard();
    if target == shard.index() {
        return crate::adapter::adopt(shard, stream, peer);
    }
    hand_over(gateway, target, stream, peer);
}

fn hand_over(gateway: &Arc<Gateway>, target: ShardIndex, stream: Stream, peer: Peer) {
    match stream.into_raw() {
        Ok(stream) => {
            gateway
                .inboxes()
                .post(target, Command::Adopt(Box::new(Incoming { stream, peer })));
            gateway.inboxes().wake_bits(1 << target.get());
        }
        Err(error) => gateway.report("ERR_MILLRACE_ACCEPT_FAILED", &error.to_string()),
    }
}
