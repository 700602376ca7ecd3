//! Bind addresses: parses what the user wrote, and opens the listening socket. Accepts nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::limits::LimitError;
use crate::net::tls::TlsError;

/// A parsed bind address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// One or more socket addresses to try together (`localhost` has two, of which one must work).
    Tcp(Vec<SocketAddr>),
    /// A unix socket's path.
    Unix(PathBuf),
}

/// Why a listener cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address has none of the accepted forms.
    #[error(
        "invalid bind address '{0}': expected 'ip:port', '[ipv6]:port', 'localhost:port', ':port' or 'unix:/path'"
    )]
    InvalidAddress(String),
    /// Another socket already listens on the address.
    #[error("failed to bind to {address}: address already in use")]
    InUse {
        /// As the user wrote it.
        address: String,
    },
    /// The system refused.
    #[error("failed to bind to {address}: {source}")]
    Bind {
        /// As the user wrote it.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The gateway has not been started, or has been shut down.
    #[error("the gateway is not running")]
    NotRunning,
    /// The TLS configuration is invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The protocol has no such option, or its value is invalid.
    #[error("{option} {problem}")]
    Option {
        /// The option's name, or several names.
        option: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The value of an option is valid, but cannot be used.
    #[error("{option}: {problem}")]
    Unusable {
        /// The option's name.
        option: &'static str,
        /// What cannot be used, and why.
        problem: String,
    },
    /// The protocol has no such limit, or its value is out of range.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// There is no protocol of this name.
    #[error("protocol: there is no '{0}'")]
    Protocol(String),
}

impl ListenError {
    /// The stable code for JavaScript.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidAddress(_) => "ERR_MILLRACE_INVALID_ADDRESS",
            Self::InUse { .. } => "ERR_MILLRACE_ADDRESS_IN_USE",
            Self::Bind { .. } => "ERR_MILLRACE_BIND_FAILED",
            Self::Option { .. } | Self::Unusable { .. } | Self::Limit(_) | Self::Protocol(_) => {
                "ERR_MILLRACE_INVALID_OPTION"
            }
            Self::NotRunning => "ERR_MILLRACE_NOT_RUNNING",
            Self::Tls(error) => error.code(),
        }
    }
}

impl BindAddress {
    /// Parses `ip:port`, `[ipv6]:port`, `localhost:port`, `:port` (every interface) or `unix:/path`.
    pub fn parse(text: &str) -> Result<Self, ListenError> {
        let invalid = || ListenError::InvalidAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() || path.contains('\0') {
                Err(invalid())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Tcp(vec![address]));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let port = port.parse::<u16>().map_err(|_| invalid())?;
        match host {
            "" => Ok(Self::Tcp(vec![
                SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
                SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
            ])),
            "localhost" => Ok(Self::Tcp(vec![
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
                SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port),
            ])),
            _ => Err(invalid()),
        }
    }
}

/// A listening socket that is not yet registered with an event loop.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(Vec<std::net::TcpListener>),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener, PathBuf),
}

/// Opens the listening sockets and returns the bound address. With `reuse_port` other sockets may listen on the same
/// port, too; `backlog` is the most TCP connections that wait to be accepted.
pub(crate) fn bind(
    text: &str,
    reuse_port: bool,
    backlog: u32,
) -> Result<(Bound, String), ListenError> {
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    let failed = |source: io::Error| {
        if source.kind() == io::ErrorKind::AddrInUse {
            ListenError::InUse {
                address: text.to_owned(),
            }
        } else {
            ListenError::Bind {
                address: text.to_owned(),
                source,
            }
        }
    };
    match BindAddress::parse(text)? {
        BindAddress::Tcp(addresses) => {
            bind_tcp(text, &addresses, (reuse_port, backlog)).map_err(failed)
        }
        #[cfg(unix)]
        BindAddress::Unix(path) => {
            let listener = bind_unix(&path).map_err(failed)?;
            let shown = format!("unix:{}", path.display());
            Ok((Bound::Unix(listener, path), shown))
        }
        #[cfg(not(unix))]
        BindAddress::Unix(_) => Err(failed(io::Error::from(io::ErrorKind::Unsupported))),
    }
}

fn bind_tcp(text: &str, addresses: &[SocketAddr], how: (bool, i32)) -> io::Result<(Bound, String)> {
    let dual_stack = text.starts_with(':');
    let mut listeners: Vec<std::net::TcpListener> = Vec::new();
    let mut failure = None;
    for &address in addresses {
        // all addresses of a listener share the port of the first one
        let port = listeners
            .first()
            .and_then(|first| first.local_addr().ok())
            .map_or(address.port(), |bound| bound.port());
        match open_tcp(SocketAddr::new(address.ip(), port), dual_stack, how) {
            Ok(listener) => {
                listeners.push(listener);
                if dual_stack {
                    break;
                }
            }
            // a machine without IPv6 serves the other family; an occupied port is an error
            Err(error) if addresses.len() > 1 && error.kind() != io::ErrorKind::AddrInUse => {
                failure = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    let Some(first) = listeners.first() else {
        return Err(failure.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable)));
    };
    let shown = first.local_addr()?.to_string();
    Ok((Bound::Tcp(listeners), shown))
}

fn open_tcp(
    address: SocketAddr,
    dual_stack: bool,
    (reuse_port, backlog): (bool, i32),
) -> io::Result<std::net::TcpListener> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(!dual_stack)?;
    }
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    if reuse_port {
        share_port(&socket)?;
    }
    // accepted connections inherit this option on Linux
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

#[cfg(unix)]
fn share_port(socket: &socket2::Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

#[cfg(not(unix))]
fn share_port(_socket: &socket2::Socket) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn bind_unix(path: &std::path::Path) -> io::Result<std::os::unix::net::UnixListener> {
    use std::os::unix::net::{UnixListener, UnixStream};
    let listener = match UnixListener::bind(path) {
        // the socket file of a process that has ended refuses connections; only such a file is replaced
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
            Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            _ => return Err(error),
        },
        other => other?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_documented_forms() {
        assert_eq!(
            BindAddress::parse("127.0.0.1:80").unwrap(),
            BindAddress::Tcp(vec!["127.0.0.1:80".parse().unwrap()])
        );
        assert_eq!(
            BindAddress::parse("[::1]:80").unwrap(),
            BindAddress::Tcp(vec!["[::1]:80".parse().unwrap()])
        );
        assert!(
            matches!(BindAddress::parse(":0").unwrap(), BindAddress::Tcp(list) if list.len() == 2)
        );
        assert!(
            matches!(BindAddress::parse("localhost:1").unwrap(), BindAddress::Tcp(list) if list.len() == 2)
        );
        assert_eq!(
            BindAddress::parse("unix:/tmp/x").unwrap(),
            BindAddress::Unix("/tmp/x".into())
        );
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "80",
            "host:80",
            "127.0.0.1",
            "127.0.0.1:",
            ":+1",
            ":65536",
            "unix:",
            "example.org:1",
            ":-1",
        ] {
            assert!(
                matches!(
                    BindAddress::parse(text),
                    Err(ListenError::InvalidAddress(_))
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn an_occupied_port_is_in_use() {
        let (first, shown) = bind("127.0.0.1:0", false, 16).unwrap();
        assert!(matches!(
            bind(&shown, false, 16),
            Err(ListenError::InUse { .. })
        ));
        drop(first);
        assert!(bind(&shown, false, 16).is_ok());
    }

    #[test]
    fn localhost_serves_one_port_in_both_families() {
        let (bound, shown) = bind("localhost:0", false, 16).unwrap();
        #[cfg(unix)]
        let Bound::Tcp(listeners) = bound else {
            panic!("tcp expected")
        };
        #[cfg(not(unix))]
        let Bound::Tcp(listeners) = bound;
        for listener in &listeners {
            assert!(shown.ends_with(&format!(":{}", listener.local_addr().unwrap().port())));
        }
    }
}
