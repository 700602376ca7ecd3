//! A WebSocket server for tests whose behaviour, right or wrong, is an argument. One thread per
//! connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use millrace_load::frame::{CLOSE, TEXT};
use millrace_load::scenario::study_request::reply;

/// One connection, from the server's side.
pub(crate) struct Peer {
    stream: TcpStream,
    /// The connections before it.
    pub(crate) index: usize,
    /// The messages before the one being handled.
    pub(crate) count: usize,
}

impl Peer {
    /// Sends a text message of less than 126 bytes.
    pub(crate) fn send(&mut self, payload: &[u8]) {
        self.frame(TEXT, payload);
    }

    /// Sends the right reply to a request.
    pub(crate) fn answer(&mut self, request: &[u8]) {
        self.send(&reply(request));
    }

    /// Sends a close frame with a code; the connection ends when the client echoes it.
    pub(crate) fn close(&mut self, code: u16) {
        self.frame(CLOSE, &code.to_be_bytes());
    }

    /// Another handle of the stream, to end it from elsewhere.
    pub(crate) fn stream(&self) -> TcpStream {
        self.stream.try_clone().expect("a second handle")
    }

    fn frame(&mut self, opcode: u8, payload: &[u8]) {
        let length = u8::try_from(payload.len()).expect("short");
        let bytes = [&[0x80 | opcode, length], payload].concat();
        // the client may have disconnected
        let _ = self.stream.write_all(&bytes);
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The next message; `None` when the connection is over. Echoes a close frame.
    fn next(&mut self) -> Option<Vec<u8>> {
        let head = self.take(2)?;
        let key = self.take(4)?;
        let masked = self.take(usize::from(head[1] & 0x7f))?;
        let payload: Vec<u8> = masked
            .iter()
            .zip(key.iter().cycle())
            .map(|(a, b)| a ^ b)
            .collect();
        if head[0] & 0x0f == CLOSE {
            self.frame(CLOSE, &payload);
            return None;
        }
        Some(payload)
    }

    fn handshake(&mut self, answer: &str) {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let Some(byte) = self.take(1) else {
                return;
            };
            request.extend(byte);
        }
        let _ = self.stream.write_all(answer.as_bytes());
    }
}

/// Serves until the process ends. Every message is passed to `handle`.
pub(crate) fn serve<H>(answer: &'static str, handle: H) -> SocketAddr
where
    H: Fn(&mut Peer, &[u8]) + Clone + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    thread::spawn(move || {
        for (index, stream) in listener.incoming().flatten().enumerate() {
            let handle = handle.clone();
            thread::spawn(move || {
                let mut peer = Peer {
                    stream,
                    index,
                    count: 0,
                };
                peer.handshake(answer);
                while let Some(message) = peer.next() {
                    handle(&mut peer, &message);
                    peer.count += 1;
                }
                // other handles of the stream must not keep the connection open
                let _ = peer.stream.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// The answer to the generator's handshake, whose key is always the same.
pub(crate) const ACCEPT: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
