//! Reaching a target: the allowlist, its addresses, TLS and the opening handshake. Returns the failure; reports it to
//! no one.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use millrace_protocol::splice::{Allowlist, GivenHeaders, Host, Problem, Subprotocols, Target};
use millrace_protocol::websocket::deflate::{ClientWindow, Offer};
use millrace_protocol::websocket::handshake::{
    ClientRequest, append_request, judge_answer, request_key,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use super::limits::FixedSpliceLimits;
use crate::contract::{
    ClientTls, Connector, DialTarget, ListenError, Stream, connect, is_special, random,
};

/// What reaches the targets of a listener.
#[derive(Debug)]
pub(super) struct Dialler {
    allowlist: Allowlist,
    /// Whether every host is allowed while the allowlist is empty.
    any: bool,
    /// Whether special-purpose addresses are allowed like others.
    private: bool,
    /// Verifies the certificates of `wss:` targets; `None`: there are no trusted authorities.
    connector: Option<Connector>,
    /// Whether targets outside of the gateway may compress their messages.
    compression: bool,
    timeout: Duration,
    limits: FixedSpliceLimits,
    lookups: Arc<Semaphore>,
}

/// A target, and the contents of its handshake.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) way: Way,
    pub(super) headers: GivenHeaders,
    pub(super) subprotocols: Subprotocols,
    /// The timeout in milliseconds.
    pub(super) timeout: Option<u64>,
}

/// Where a target is.
#[derive(Debug)]
pub(super) enum Way {
    Outside(Target),
    /// In this gateway: path and query, and the stream.
    Inside {
        target: String,
        stream: Stream,
    },
}

impl Way {
    /// The host under which it is counted.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Outside(target) => target.host().to_string(),
            Self::Inside { .. } => INSIDE.to_owned(),
        }
    }

    /// Whether it counts as a connection here: targets within the gateway are counted at their other end.
    pub(super) fn counts(&self) -> bool {
        matches!(self, Self::Outside(_))
    }
}

/// What targets are offered. They compress each message on its own, so that no connection keeps any text; messages to
/// them are not compressed.
const OFFER: Offer = Offer {
    server_no_context_takeover: true,
    client_no_context_takeover: true,
    server_max_window_bits: None,
    client_max_window_bits: ClientWindow::Fixed,
};

/// The host name of targets within the gateway.
const INSIDE: &str = "millrace";

/// A target after its opening handshake.
#[derive(Debug)]
pub(super) struct Switched {
    pub(super) stream: Stream,
    /// The bytes that it sent behind the handshake.
    pub(super) early: Bytes,
    /// The subprotocol that it selected.
    pub(super) protocol: Option<String>,
    /// Whether it may compress its messages.
    pub(super) is_compressed: bool,
}

/// Why a target was not reached.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: Problem,
    pub(super) text: String,
}

impl Dialler {
    pub(super) fn new(
        allowlist: Allowlist,
        (any, private): (bool, bool),
        tls: Option<&ClientTls>,
        compression: bool,
        timeout: Duration,
    ) -> Result<Self, ListenError> {
        let limits = FixedSpliceLimits::default();
        Ok(Self {
            allowlist,
            any,
            private,
            connector: tls.map(Connector::new).transpose()?,
            compression,
            timeout,
            lookups: Arc::new(Semaphore::new(limits.lookups)),
            limits,
        })
    }

    /// Whether a host may be reached: it is in the allowlist, or the list is empty and the worker `judged` it. Its
    /// addresses are checked when it is reached.
    pub(super) fn may_reach(&self, host: &Host, judged: bool) -> bool {
        if self.allowlist.is_empty() {
            return self.any || judged;
        }
        self.allowlist.lists(host)
    }

    /// Reaches an allowed target within its timeout.
    pub(super) async fn reach(&self, order: Order) -> Result<Switched, Failure> {
        let own = order.timeout.map(Duration::from_millis);
        let timeout = own.map_or(self.timeout, |own| own.min(self.timeout));
        let reached = tokio::time::timeout(timeout, self.reach_whenever(order)).await;
        reached.unwrap_or_else(|_| Err(failed("client timeout")))
    }

    async fn reach_whenever(&self, order: Order) -> Result<Switched, Failure> {
        let Order {
            way,
            headers,
            subprotocols,
            ..
        } = order;
        let (stream, target, host, compression) = match way {
            // within one process it would only cost
            Way::Inside { target, stream } => (stream, target, INSIDE.to_owned(), None),
            Way::Outside(target) => {
                let stream = self.connect(&target).await?;
                let compression = self.compression.then_some(OFFER);
                let (path, host) = (target.path().to_owned(), target.authority());
                (stream, path, host, compression)
            }
        };
        let protocols: Vec<_> = subprotocols.iter().collect();
        let headers: Vec<_> = headers.iter().collect();
        let request = ClientRequest {
            target: &target,
            host: &host,
            key: "",
            protocols: &protocols,
            compression,
            headers: &headers,
        };
        self.shake_hands(stream, request).await
    }

    /// Connects to a target over TCP, and over TLS if its URL says so.
    async fn connect(&self, target: &Target) -> Result<Stream, Failure> {
        let at = DialTarget::Tcp {
            addresses: self.addresses(target).await?,
            local: None,
        };
        let reached = connect::connect(&at).await;
        let stream = reached.map_err(|unreached| failed(unreached.error))?.stream;
        if !target.is_secure() {
            return Ok(stream);
        }
        let name = target.host().to_string();
        let connector = self.connector.as_ref();
        let connector = connector.ok_or_else(|| failed("there are no authorities for TLS"))?;
        let connector = connector
            .named(name.trim_matches(['[', ']']))
            .map_err(failed)?;
        connector.connect(stream).await.map_err(failed)
    }

    /// The addresses of a target that may be reached.
    async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Failure> {
        let host = target.host();
        let mut found = match host {
            Host::Name(name) => self.look_up(name.clone(), target.port()).await?,
            Host::V4(address) => vec![SocketAddr::new(IpAddr::V4(*address), target.port())],
            Host::V6(address) => vec![SocketAddr::new(IpAddr::V6(*address), target.port())],
        };
        if found.is_empty() {
            return Err(failed("the name has no address"));
        }
        found.retain(|address| self.may_reach_at(host, address.ip()));
        found.truncate(self.limits.addresses);
        if found.is_empty() {
            return Err(Failure {
                problem: Problem::HostNotAllowed,
                text: Problem::HostNotAllowed.text().to_owned(),
            });
        }
        Ok(found)
    }

    /// Special-purpose addresses are allowed if the allowlist contains them, and loopback addresses if it contains
    /// `localhost`.
    fn may_reach_at(&self, host: &Host, address: IpAddr) -> bool {
        if self.private || !is_special(address) {
            return true;
        }
        self.allowlist.lists(host)
            && match host {
                Host::Name(name) => name == "localhost" && address.is_loopback(),
                Host::V4(_) | Host::V6(_) => true,
            }
    }

    async fn look_up(&self, name: String, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let permit = Arc::clone(&self.lookups).acquire_owned();
        let permit = permit.await.map_err(failed)?;
        let most = self.limits.addresses;
        let looking = tokio::task::spawn_blocking(move || {
            let found = (&*name, port).to_socket_addrs();
            // the caller may have stopped waiting, but the resolver is busy until it is done
            drop(permit);
            found.map(|found| found.take(most).collect())
        });
        looking.await.map_err(failed)?.map_err(failed)
    }

    async fn shake_hands(
        &self,
        mut stream: Stream,
        request: ClientRequest<'_>,
    ) -> Result<Switched, Failure> {
        let mut nonce = [0; 16];
        random(&mut nonce).map_err(failed)?;
        let key = request_key(nonce);
        let request = ClientRequest {
            key: &key,
            ..request
        };
        let mut bytes = Vec::new();
        append_request(&request, &mut bytes);
        stream.write_all(&bytes).await.map_err(failed)?;
        stream.flush().await.map_err(failed)?;
        bytes.clear();
        loop {
            if stream.read_buf(&mut bytes).await.map_err(failed)? == 0 {
                return Err(failed("the target closed the connection"));
            }
            if let Some(switched) = judge_answer(&bytes, &request).map_err(failed)? {
                let early = Bytes::from(bytes.split_off(switched.size));
                return Ok(Switched {
                    stream,
                    early,
                    protocol: switched.protocol,
                    is_compressed: switched.compression.is_some(),
                });
            }
            if bytes.len() > self.limits.answer_head_bytes {
                return Err(failed("the head of the answer is too long"));
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped by it")]
fn failed(why: impl ToString) -> Failure {
    Failure {
        problem: Problem::DialFailed,
        text: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialler(listed: &[&str], any: bool, private: bool) -> Dialler {
        let list = Allowlist::parse(listed.iter().copied()).unwrap();
        Dialler::new(list, (any, private), None, false, Duration::from_secs(1)).unwrap()
    }

    fn may(dialler: &Dialler, host: &str, address: &str) -> bool {
        let host = Host::parse(host).unwrap();
        dialler.may_reach(&host, false) && dialler.may_reach_at(&host, address.parse().unwrap())
    }

    #[test]
    fn without_an_allowlist_the_worker_has_to_accept_a_target() {
        assert!(!may(
            &dialler(&[], false, true),
            "example.com",
            "93.184.216.34"
        ));
        assert!(may(
            &dialler(&[], true, false),
            "example.com",
            "93.184.216.34"
        ));
        assert!(!may(
            &dialler(&["a.example"], true, true),
            "b.example",
            "93.184.216.34"
        ));
    }

    #[test]
    fn special_addresses_are_reached_only_if_they_are_listed() {
        for (listed, host, address, expected) in [
            (&["example.com"][..], "example.com", "10.0.0.1", false),
            (&["example.com"], "example.com", "127.0.0.1", false),
            (&["example.com"], "example.com", "::ffff:127.0.0.1", false),
            (&["localhost"], "localhost", "127.0.0.1", true),
            (&["localhost"], "localhost", "::1", true),
            (&["localhost"], "localhost", "10.0.0.1", false),
            (&["10.0.0.1"], "10.0.0.1", "10.0.0.1", true),
            (&["10.0.0.1"], "0xa.1", "10.0.0.1", true),
            (&["10.0.0.1"], "10.0.0.2", "10.0.0.2", false),
            (&["::1"], "[::1]", "::1", true),
        ] {
            let dialler = dialler(listed, false, false);
            assert_eq!(
                may(&dialler, host, address),
                expected,
                "{host} at {address}"
            );
        }
        let open = dialler(&[], true, true);
        assert!(may(&open, "example.com", "10.0.0.1"));
    }
}
