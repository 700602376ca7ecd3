//! The configuration of a gateway and its listeners: plain values, complete when they are made, and immutable while the
//! gateway runs.

use millrace_backplane::Config as BackplaneConfig;
use millrace_core::{HistoryTerms, Pattern};

use crate::limits::{GatewayLimits, LimitError, LimitValues, ListenerLimits, Table as _};
use crate::net::proxy::Trusted;
use crate::net::tls::TlsConfig;
use crate::options::Options;

/// The configuration that the first start fixes for the whole gateway.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// I/O shards, 1 to [`MAX_SHARDS`](crate::limits::MAX_SHARDS).
    pub io_threads: usize,
    /// Whether a shard submits the writes to many connections together if the kernel has `io_uring`. Default true.
    pub io_uring: bool,
    /// What applies to the messages of channels: the first terms whose pattern matches a channel's name, at most 64.
    pub channels: Vec<ChannelTerms>,
    /// The limits of the gateway.
    pub limits: GatewayLimits,
    /// The link to other nodes; `None`: there is none. Its limits are part of `limits`.
    pub backplane: Option<BackplaneConfig>,
    /// Where the I/O shards log to; `None` keeps the log of the process.
    pub log: Option<tracing::Dispatch>,
}

/// What applies to the messages of the channels that a pattern matches.
#[derive(Clone, Debug)]
pub struct ChannelTerms {
    /// The pattern.
    pub pattern: Pattern,
    /// The pattern as it was given.
    pub text: Box<[u8]>,
    /// Whether messages are compressed for connections with compression. Default true.
    pub compress: bool,
    /// How much of the past is kept; `None`: nothing, and messages have no positions. Default `None`.
    pub history: Option<HistoryTerms>,
    /// Whether members are known, and subscribers are told of their joins and leaves. Default false.
    pub presence: bool,
    /// What clients of `millrace.v1` may do without JavaScript being asked. Default: nothing.
    pub clients: ClientTerms,
}

/// What clients of `millrace.v1` may do in a channel without JavaScript being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTerms {
    /// Whether they may subscribe.
    pub subscribe: bool,
    /// Whether they may publish, and whether the subscribers see who has published.
    pub publish: ClientPublishing,
    /// Whether they may name themselves in presence.
    pub info: bool,
}

/// Whether clients may publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientPublishing {
    /// They may not.
    #[default]
    Denied,
    /// They may, and nobody sees who did.
    Unnamed,
    /// They may, and subscribers see who did.
    Named,
}

impl ClientTerms {
    /// Whether clients may do anything.
    pub fn is_any(self) -> bool {
        self.subscribe || self.publish != ClientPublishing::Denied
    }
}

impl PartialEq for ChannelTerms {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.compress, self.clients) == (&other.text, other.compress, other.clients)
            && (self.history, self.presence) == (other.history, other.presence)
    }
}

impl Eq for ChannelTerms {}

impl Default for GatewayConfig {
    fn default() -> Self {
        let parallelism = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            io_threads: parallelism.min(crate::limits::MAX_SHARDS),
            io_uring: true,
            channels: Vec::new(),
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
    /// Whether it has no address, and gets connections of another server by [`Gateway::adopt`](crate::Gateway::adopt),
    /// each for one request.
    pub attached: bool,
    /// The limits of its connections.
    pub limits: ListenerLimits,
    /// The protocol's own limits, as given to [`Self::set_limit`]. A limit that the protocol does not have is an error.
    pub protocol_limits: LimitValues,
    /// Whether other processes may listen on the same TCP port, if they set this option, too.
    pub reuse_port: bool,
    /// Connections that the kernel holds until they are accepted; the kernel has a limit of its own. Default 4,096.
    pub backlog: u32,
    /// Encryption; `None` is plain.
    pub tls: Option<TlsConfig>,
    /// Proxies whose word about the client's address is trusted.
    pub trusted: Trusted,
    /// Whether every connection has to begin with a header of the PROXY protocol, and to come from a trusted address.
    pub proxy_protocol: bool,
    /// The name of the protocol of this listener. Default `http`: WebSockets, event streams, files and requests.
    pub protocol: String,
    /// The protocol's options.
    pub options: Options,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            address: String::new(),
            attached: false,
            limits: ListenerLimits::default(),
            protocol_limits: LimitValues::default(),
            reuse_port: false,
            backlog: 4096,
            tls: None,
            trusted: Trusted::default(),
            proxy_protocol: false,
            protocol: "http".to_owned(),
            options: Options::default(),
        }
    }
}

impl ListenerConfig {
    /// Sets the limit that an option names: one that every listener has, or otherwise one that its protocol must have.
    /// A duration is in milliseconds.
    pub fn set_limit(&mut self, option: &str, value: u64) -> Result<(), LimitError> {
        match self.limits.set(option, value) {
            Err(LimitError::Unknown(_)) => {
                self.protocol_limits.insert(option, value);
                Ok(())
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_not_every_listener_has_are_left_to_the_protocol() {
        let mut config = ListenerConfig::default();
        config.set_limit("messageBytes", 5).unwrap();
        config.set_limit("keysBytes", 6).unwrap();
        assert_eq!(config.limits.message_bytes, 5);
        let mut left = LimitValues::default();
        left.insert("keysBytes", 6);
        assert_eq!(config.protocol_limits, left);
        let error = config.set_limit("messageBytes", 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "messageBytes must be from 1 to 2147483647, not 0"
        );
        assert_eq!(config.limits.message_bytes, 5);
    }
}
