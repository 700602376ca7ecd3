//! One TLS handshake.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;

use super::{Terms, UNSENT};
use crate::net::stream::Stream;

/// A handshake that succeeded.
pub(crate) struct Accepted {
    pub(crate) stream: Stream,
    /// The client's verified certificate in DER, if it sent one.
    pub(crate) certificate: Option<Arc<[u8]>>,
}

/// Runs the handshake with a client. Returns the reason if it fails; the caller sets the deadline.
pub(crate) async fn accept(mut stream: Stream, terms: &Terms) -> io::Result<Accepted> {
    if stream
        .first_byte()
        .await?
        .is_some_and(|first| first != HANDSHAKE)
    {
        explain(stream).await;
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the client does not speak TLS",
        ));
    }
    let limit = |session: &mut rustls::ServerConnection| session.set_buffer_limit(Some(UNSENT));
    let accepting = TlsAcceptor::from(terms.now()).accept_with(stream, limit);
    let stream = accepting.await?;
    let (_, session) = stream.get_ref();
    let certificate = session
        .peer_certificates()
        .and_then(|chain| chain.first())
        .map(|certificate| certificate.as_ref().into());
    Ok(Accepted {
        stream: Stream::Tls(Box::new(stream.into())),
        certificate,
    })
}

/// The first byte of a record that begins a handshake.
const HANDSHAKE: u8 = 22;

/// Answers a client that sent plain text, most likely a browser with an `http:` address.
async fn explain(mut stream: Stream) {
    if stream.write_all(ANSWER).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    // closing with unread bytes would make the system discard the answer
    let mut rest = [0; 1024];
    for _ in 0..TRIES {
        match stream.read(&mut rest).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Reads of what the client sends before the connection is closed.
const TRIES: usize = 16;

const ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 43\r\n\
    Connection: close\r\n\
    \r\n\
    This port speaks TLS: use https: or wss:.\r\n";
