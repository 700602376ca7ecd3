//! An accepted socket before an event loop watches it.

/// A stream on its way to the shard that will own it, registered with no event loop.
#[derive(Debug)]
pub(crate) enum RawStream {
    Tcp(std::net::TcpStream),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixStream),
}
