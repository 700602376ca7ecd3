//! The configuration of a gateway and its listeners: plain values, built whole at the boundary,
//! immutable while running.

use crate::limits::{GatewayLimits, ListenerLimits};
use crate::proxy::Trusted;
use crate::tls::TlsConfig;

/// What the first start fixes for the whole gateway.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// I/O shards, 1 to [`MAX_SHARDS`](crate::limits::MAX_SHARDS).
    pub io_threads: usize,
    /// Whether a shard submits the writes to many connections together where the kernel has `io_uring`. Default true.
    pub io_uring: bool,
    /// Bounds.
    pub limits: GatewayLimits,
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
            log: None,
        }
    }
}

/// Which browser origins may open a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Any, and requests without an `Origin`.
    #[default]
    Any,
    /// The origin's host and port must equal the request's `Host`; requests without `Origin` are no browser's and pass.
    SameHost,
    /// One of these (`scheme://host[:port]`, compared without case); requests without `Origin` pass.
    List(Vec<String>),
}

/// One address to listen on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenerConfig {
    /// `ip:port`, `[ipv6]:port`, `localhost:port`, `:port` or `unix:/path`; port 0 picks a free one.
    pub address: String,
    /// Which origins may connect.
    pub origins: Origins,
    /// Where the gateway's state can be read.
    pub status: StatusPaths,
    /// Bounds of its connections.
    pub limits: ListenerLimits,
    /// Encryption; `None` is plain.
    pub tls: Option<TlsConfig>,
    /// Proxies that are believed when they name the client.
    pub trusted: Trusted,
    /// Every connection begins with a header of the PROXY protocol, and comes from a trusted address.
    pub proxy_protocol: bool,
}

/// Paths at which a listener shows the gateway's state; `None`: nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPaths {
    /// As JSON.
    pub stats: Option<String>,
    /// As Prometheus reads it.
    pub metrics: Option<String>,
}
