//! Byte streams to a server, encrypted or not. Owns how they are opened.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::config::Server;
use crate::link_error::LinkError;
use crate::tls::Encryption;

/// A connected stream.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection for T {}

/// Connects to a server without encryption.
pub(crate) async fn connect(server: &Server) -> Result<TcpStream, LinkError> {
    let tcp = TcpStream::connect((&*server.host, server.port)).await;
    let tcp = tcp.map_err(|source| LinkError::io(server, source))?;
    tcp.set_nodelay(true)
        .map_err(|source| LinkError::io(server, source))?;
    Ok(tcp)
}

/// Encrypts a connection, if there is a configuration for it.
pub(crate) async fn secured(
    tcp: TcpStream,
    server: &Server,
    encryption: Option<&Encryption>,
) -> Result<Box<dyn Connection>, LinkError> {
    let Some(encryption) = encryption else {
        return Ok(Box::new(tcp));
    };
    let Some(name) = encryption.name_of(server) else {
        return Err(LinkError::NoName(server.clone()));
    };
    let connecting = encryption.connector().connect(name, tcp);
    let stream = connecting.await;
    Ok(Box::new(
        stream.map_err(|source| LinkError::io(server, source))?,
    ))
}
