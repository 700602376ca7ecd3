//! Byte streams to a server, encrypted or not. Owns how they are opened, and how one is given up.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::config::Server;
use crate::link_error::LinkError;
use crate::tls::Encryption;

/// A connected stream.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Unpin + Send {
    /// What the system has not sent when the connection is closed is dropped. Otherwise the system goes on sending it, and it
    /// may come after what is sent on the next connection.
    fn drop_unsent(&self);
}

impl Connection for TcpStream {
    fn drop_unsent(&self) {
        let _is_closed_already = self.set_zero_linger();
    }
}

impl Connection for TlsStream<TcpStream> {
    fn drop_unsent(&self) {
        self.get_ref().0.drop_unsent();
    }
}

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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read;
    use std::net::TcpListener;
    use std::pin::Pin;
    use std::task::Poll;

    use tokio::task::yield_now;

    use super::*;

    /// Writes until the system takes no more, and closes. Returns how much was written, and how much of it has arrived.
    fn written_and_read(drops_unsent: bool) -> (usize, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server {
            host: "127.0.0.1".to_owned(),
            port: listener.local_addr().unwrap().port(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let (written, mut peer) = runtime.block_on(async {
            let tcp = connect(&server).await.unwrap();
            let mut stream = secured(tcp, &server, None).await.unwrap();
            let peer = listener.accept().unwrap().0;
            let (bytes, mut written, mut refused) = (vec![b'x'; 1024 * 1024], 0, 0);
            while refused < 10 {
                let write = poll_fn(|cx| Poll::Ready(Pin::new(&mut stream).poll_write(cx, &bytes)));
                match write.await {
                    Poll::Ready(count) => {
                        written += count.unwrap();
                        refused = 0;
                    }
                    Poll::Pending => refused += 1,
                }
                yield_now().await;
            }
            if drops_unsent {
                stream.drop_unsent();
            }
            (written, peer)
        });
        let (mut buffer, mut read) = (vec![0; 64 * 1024], 0);
        while let Ok(count @ 1..) = peer.read(&mut buffer) {
            read += count;
        }
        (written, read)
    }

    #[test]
    fn what_a_lost_connection_has_not_sent_does_not_arrive_later() {
        let (written, read) = written_and_read(false);
        assert_eq!(written, read, "the system goes on sending");
        let (written, read) = written_and_read(true);
        assert!(read < written, "{read} of {written}");
    }
}
