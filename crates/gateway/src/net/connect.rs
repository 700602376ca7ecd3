//! Connects to a peer: over TCP to the first of its addresses that accepts, or to a unix socket. Resolves no names. The
//! only timeout is the one after which the next address is tried.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::net::{TcpSocket, TcpStream};

use crate::net::stream::Stream;

/// The address of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialTarget {
    /// One of these addresses, which are tried one after the other.
    Tcp {
        /// The addresses, the best first.
        addresses: Vec<SocketAddr>,
        /// The local address; `None` lets the system choose.
        local: Option<IpAddr>,
    },
    /// A unix socket.
    Unix(PathBuf),
}

/// A connection that was established.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) stream: Stream,
    /// `None` for a unix socket.
    pub(crate) address: Option<SocketAddr>,
}

/// Why no connection was established: the last address and its error.
#[derive(Debug)]
pub(crate) struct Unreached {
    pub(crate) error: io::Error,
    /// `None` for a unix socket.
    pub(crate) address: Option<SocketAddr>,
}

/// Connects to a peer.
pub(crate) async fn connect(target: &DialTarget) -> Result<Reached, Unreached> {
    match target {
        DialTarget::Tcp { addresses, local } => connect_tcp(addresses, *local).await,
        DialTarget::Unix(path) => connect_unix(path).await.map_err(|error| Unreached {
            error,
            address: None,
        }),
    }
}

async fn connect_tcp(
    addresses: &[SocketAddr],
    local: Option<IpAddr>,
) -> Result<Reached, Unreached> {
    let mut last = Unreached {
        error: io::ErrorKind::AddrNotAvailable.into(),
        address: None,
    };
    for (index, &address) in addresses.iter().enumerate() {
        let connecting = connect_one(address, local);
        let outcome = if index + 1 < addresses.len() {
            let timely = tokio::time::timeout(NEXT_ADDRESS, connecting).await;
            timely.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        } else {
            connecting.await
        };
        match outcome {
            Ok(stream) => {
                return Ok(Reached {
                    stream: stream.into(),
                    address: Some(address),
                });
            }
            Err(error) => {
                last = Unreached {
                    error,
                    address: Some(address),
                };
            }
        }
    }
    Err(last)
}

async fn connect_one(address: SocketAddr, local: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_nodelay(true)?;
    if let Some(local) = local {
        socket.bind(SocketAddr::new(local, 0))?;
    }
    socket.connect(address).await
}

#[cfg(unix)]
async fn connect_unix(path: &std::path::Path) -> io::Result<Reached> {
    let stream = UnixStream::connect(path).await?;
    Ok(Reached {
        stream: stream.into(),
        address: None,
    })
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "on Windows it is asynchronous")]
async fn connect_unix(_path: &std::path::Path) -> io::Result<Reached> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How long one address has before the next is tried; the last one has the system's timeout.
const NEXT_ADDRESS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime starts");
        runtime.block_on(future)
    }

    /// An address without a listener.
    fn free() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    }

    #[test]
    fn the_next_address_is_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = DialTarget::Tcp {
            addresses: vec![free(), address],
            local: Some("127.0.0.1".parse().unwrap()),
        };
        assert_eq!(wait(connect(&target)).unwrap().address, Some(address));
    }

    #[test]
    fn the_error_is_that_of_the_last_address() {
        let address = free();
        let target = DialTarget::Tcp {
            addresses: vec![address],
            local: None,
        };
        let unreached = wait(connect(&target)).unwrap_err();
        assert_eq!(unreached.error.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(unreached.address, Some(address));
    }

    #[test]
    #[cfg(unix)]
    fn a_unix_socket_without_a_file_is_not_found() {
        let unreached = wait(connect(&DialTarget::Unix("/nowhere/at/all".into()))).unwrap_err();
        assert_eq!(unreached.error.kind(), io::ErrorKind::NotFound);
    }
}
