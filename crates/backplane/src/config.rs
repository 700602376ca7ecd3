//! What a backplane is made of: plain values, checked by whoever builds them.

use std::fmt;

/// How to reach the server, and how much may wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What the server speaks.
    pub protocol: Protocol,
    /// Where it is; of several, one after the other is tried.
    pub servers: Vec<Server>,
    /// What stands in front of every name on the server.
    pub prefix: String,
    /// Who we are there.
    pub credentials: Credentials,
    /// Encryption; `None` is plain.
    pub tls: Option<Tls>,
    /// Bounds.
    pub bounds: Bounds,
}

/// What the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Redis 6, Valkey and whatever else speaks RESP3.
    Redis,
    /// The same, as a cluster whose nodes share the channels.
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

/// Who we are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user; without one, the server's default.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// A token, for NATS.
    pub token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Encryption.
#[derive(Clone, PartialEq, Eq)]
pub struct Tls {
    /// The authorities that the server's certificate may come from, in PEM.
    pub authorities: Vec<u8>,
    /// Our own certificate and its key, in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the server's certificate; `None`: the host.
    pub server_name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// How much may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Messages not yet sent; the oldest is dropped.
    pub queue_messages: usize,
    /// Bytes of these, each charged its length and 64.
    pub queue_bytes: usize,
    /// Bytes of one message in either direction.
    pub message_bytes: usize,
    /// What becomes of publishers while much waits.
    pub full: BackplaneFull,
}

/// What becomes of publishers while much waits to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackplaneFull {
    /// Those that can wait do, for a while.
    #[default]
    Wait,
    /// Nobody waits: what is too much is dropped.
    Drop,
}
