//! The configuration of a gateway and its listeners: plain values, built whole at the boundary,
//! immutable while running.

use millrace_backplane::Config as BackplaneConfig;

use crate::limits::{GatewayLimits, ListenerLimits};
use crate::net::proxy::Trusted;
use crate::net::tls::TlsConfig;
use crate::options::Options;

/// What the first start fixes for the whole gateway.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// I/O shards, 1 to [`MAX_SHARDS`](crate::limits::MAX_SHARDS).
    pub io_threads: usize,
    /// Whether a shard submits the writes to many connections together where the kernel has `io_uring`. Default true.
    pub io_uring: bool,
    /// Bounds.
    pub limits: GatewayLimits,
    /// The link to other nodes; `None`: there are none. Its bounds are those of `limits`.
    pub backplane: Option<BackplaneConfig>,
    /// Where the I/O shards log to; `None` keeps what the process has.
    pub log: Option<tracing::Dispatch>,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        let parallelism = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            io_threads: parallelism.min(crate::limits::MAX_SHARDS),
            io_uring: true,
            limits: GatewayLimits::default(),
            backplane: None,
            log: None,
        }
    }
}

/// One address to listen on.
#[derive(Clone, Debug, PartialEq)]
pub struct ListenerConfig {
    /// `ip:port`, `[ipv6]:port`, `localhost:port`, `:port` or `unix:/path`; port 0 picks a free one.
    pub address: String,
    /// Bounds of its connections.
    pub limits: ListenerLimits,
    /// Whether other processes may listen on the same TCP port, if they ask for it, too.
    pub reuse_port: bool,
    /// Encryption; `None` is plain.
    pub tls: Option<TlsConfig>,
    /// Proxies that are believed when they name the client.
    pub trusted: Trusted,
    /// Every connection begins with a header of the PROXY protocol, and comes from a trusted address.
    pub proxy_protocol: bool,
    /// What is spoken there: the name of a protocol. Default `http`: WebSockets, event streams, files and requests.
    pub protocol: String,
    /// The protocol's options.
    pub options: Options,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            address: String::new(),
            limits: ListenerLimits::default(),
            reuse_port: false,
            tls: None,
            trusted: Trusted::default(),
            proxy_protocol: false,
            protocol: "http".to_owned(),
            options: Options::default(),
        }
    }
}
