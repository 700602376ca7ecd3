//! The configuration of a backplane: plain values, which the code that builds them has checked.

use std::fmt;

use millrace_core::HistoryTerms;

use crate::signer::Signer;

/// How to reach the server, and how much may wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The protocol of the server.
    pub protocol: Protocol,
    /// Its address. If there are several, they are tried in turn.
    pub servers: Vec<Server>,
    /// The prefix of every name on the server.
    pub prefix: String,
    /// The servers are Sentinels, which know the master; `None`: they are the servers themselves.
    pub sentinel: Option<Sentinel>,
    /// How we authenticate.
    pub credentials: Credentials,
    /// TLS; `None` is unencrypted.
    pub tls: Option<Tls>,
    /// The limits.
    pub bounds: Bounds,
    /// The channels with history, of which a NATS server keeps a stream for each of these; the first that matches counts.
    pub histories: Vec<KeptChannels>,
}

/// Channels of which something is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChannels {
    /// The pattern of their names.
    pub pattern: Box<[u8]>,
    /// How much is kept of each.
    pub terms: HistoryTerms,
}

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Redis 6, Valkey and other servers with RESP3.
    Redis,
    /// A Redis cluster, whose nodes share the channels.
    RedisCluster,
    /// NATS.
    Nats,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Server {
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How Sentinels are asked for the master of a Redis or Valkey.
#[derive(Clone, PartialEq, Eq)]
pub struct Sentinel {
    /// The name under which they watch the master.
    pub master: String,
    /// The user for the Sentinels; `None` is their default user.
    pub user: Option<String>,
    /// The user's password; `None`: the Sentinels ask for none.
    pub password: Option<String>,
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel")
            .field("master", &self.master)
            .finish_non_exhaustive()
    }
}

/// How we authenticate.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user; `None` is the server's default user.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// A token, for NATS.
    pub token: Option<String>,
    /// The user's key, for NATS.
    pub signer: Option<Signer>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// TLS options.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate authorities that we trust, in PEM.
    pub authorities: Vec<u8>,
    /// Our own certificate and its key, in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the server's certificate; `None` means the host.
    pub server_name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// The limits of a backplane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most messages in the send queue. Above it the oldest is dropped.
    pub queue_messages: usize,
    /// The most bytes in the send queue. Each message counts as its length plus 64.
    pub queue_bytes: usize,
    /// The most bytes of one message in either direction.
    pub message_bytes: usize,
    /// What publishers do while the send queue is long.
    pub full: BackplaneFull,
}

/// What publishers do while the send queue is long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackplaneFull {
    /// Publishers that can wait do so, for a limited time.
    #[default]
    Wait,
    /// Publishers never wait; messages over the limits are dropped.
    Drop,
}
