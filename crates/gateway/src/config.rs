//! The configuration of a gateway and its listeners: plain values, built whole at the boundary,
//! immutable while running.

use std::path::PathBuf;

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
#[derive(Clone, Debug, PartialEq)]
pub struct ListenerConfig {
    /// `ip:port`, `[ipv6]:port`, `localhost:port`, `:port` or `unix:/path`; port 0 picks a free one.
    pub address: String,
    /// Which origins may connect.
    pub origins: Origins,
    /// The path of event streams (Server-Sent Events); `None`: there are none.
    pub events: Option<String>,
    /// Where the gateway's state can be read.
    pub status: StatusPaths,
    /// Directories whose files it serves; the first one that has a file answers.
    pub files: Vec<StaticConfig>,
    /// Paths on which WebSockets open; `None`: any.
    pub websocket_paths: Option<Vec<String>>,
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
    /// Whether CONNECT and TRACE of HTTP/1.1, and TRACE of HTTP/2, reach endpoints instead of being refused.
    pub raw_methods: bool,
    /// What is spoken there: the name of a protocol. Default `http`: WebSockets, event streams, files and requests.
    pub protocol: String,
    /// The protocol's options.
    pub options: Options,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            address: String::new(),
            origins: Origins::default(),
            events: None,
            status: StatusPaths::default(),
            files: Vec::new(),
            websocket_paths: None,
            limits: ListenerLimits::default(),
            reuse_port: false,
            tls: None,
            trusted: Trusted::default(),
            proxy_protocol: false,
            raw_methods: false,
            protocol: "http".to_owned(),
            options: Options::default(),
        }
    }
}

/// Paths at which a listener shows the gateway's state; `None`: nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusPaths {
    /// As JSON.
    pub stats: Option<String>,
    /// As Prometheus reads it.
    pub metrics: Option<String>,
}

/// The files of one directory, served at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticConfig {
    /// Where: `/`, or such as `/assets`.
    pub path: String,
    /// The directory.
    pub directory: PathBuf,
    /// A file of the directory that stands for every page that is not there (a program that routes in the browser).
    pub fallback: Option<String>,
    /// A file of the directory that is sent with 404.
    pub not_found: Option<String>,
    /// Whether names with a dot in front are served. `.well-known` always is.
    pub dotfiles: bool,
    /// Whether `name.br`, `name.zst` and `name.gz` are sent for `name` to clients that accept it.
    pub precompressed: bool,
    /// `Cache-Control` of files that may change; `None`: no such header.
    pub cache_control: Option<String>,
    /// Which files never change.
    pub immutable: Immutable,
    /// More headers of every answer with a file.
    pub headers: Vec<(String, String)>,
}

impl StaticConfig {
    /// A directory at `/`, with the defaults.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            path: "/".to_owned(),
            directory: directory.into(),
            fallback: None,
            not_found: None,
            dotfiles: false,
            precompressed: true,
            cache_control: Some("no-cache".to_owned()),
            immutable: Immutable::default(),
            headers: Vec::new(),
        }
    }
}

/// Which files never change under their name, so that browsers keep them without asking again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Immutable {
    /// None.
    Never,
    /// Those with a hash of their content in the name, such as `app.3f9a2c1b.js`.
    #[default]
    HashedNames,
    /// Those whose path in the directory starts with one of these (`/assets/`).
    Below(Vec<String>),
}
