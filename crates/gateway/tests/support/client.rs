//! A blocking WebSocket client.

use std::io::{Read, Write};
use std::net::TcpStream;

use millrace_protocol::websocket::{self, Decoder, DecoderConfig, Input, Item, Opcode, Role};

use super::SOON;

/// What a client received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    End,
}

/// A blocking client.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    decoder: Decoder,
    pending: Vec<u8>,
}

pub(crate) fn request(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// A client's frame.
pub(crate) fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    websocket::append_part(&mut out, opcode, true, Some([1, 2, 3, 4]), payload);
    out
}

impl Client {
    /// Connects and sends `early` in the same segment as the handshake.
    pub(crate) fn connect(address: &str, early: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut bytes = request("/").into_bytes();
        bytes.extend_from_slice(early);
        stream.write_all(&bytes).unwrap();
        Self::upgraded(stream)
    }

    /// Connects and sends the request, without waiting for its answer.
    pub(crate) fn connect_pending(address: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(request("/").as_bytes()).unwrap();
        stream
    }

    /// Reads the 101 byte by byte, so that what follows it stays in the stream.
    pub(crate) fn upgraded(mut stream: TcpStream) -> Self {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            assert_eq!(
                stream.read(&mut byte).unwrap(),
                1,
                "the stream ended in the head: {}",
                String::from_utf8_lossy(&head)
            );
            head.push(byte[0]);
        }
        assert!(
            head.starts_with(b"HTTP/1.1 101 "),
            "{}",
            String::from_utf8_lossy(&head)
        );
        Self {
            stream,
            decoder: Decoder::new(),
            pending: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.send(&frame(Opcode::Text, text.as_bytes()));
    }

    /// The next item that the client receives.
    pub(crate) fn next(&mut self) -> Received {
        let config = DecoderConfig {
            role: Role::Client,
            control_per_second: 0,
            ..DecoderConfig::default()
        };
        loop {
            if self.pending.is_empty() {
                let mut buffer = vec![0; 64 * 1024];
                let count = self.stream.read(&mut buffer).unwrap_or(0);
                if count == 0 {
                    return Received::End;
                }
                buffer.truncate(count);
                self.pending = buffer;
            }
            let mut bytes = std::mem::take(&mut self.pending);
            let mut input = Input::new(&mut bytes);
            let received = match self.decoder.next(&mut input, &config, 0).unwrap() {
                None => None,
                Some(Item::Message {
                    kind: websocket::Kind::Text,
                    payload,
                    ..
                }) => Some(Received::Text(
                    String::from_utf8(payload.into_vec()).unwrap(),
                )),
                Some(Item::Message { payload, .. }) => Some(Received::Binary(payload.into_vec())),
                Some(Item::Ping(payload)) => Some(Received::Ping(payload.to_vec())),
                Some(Item::Pong(payload)) => Some(Received::Pong(payload.to_vec())),
                Some(Item::Close { code, reason }) => {
                    Some(Received::Close(code, reason.to_owned()))
                }
            };
            self.pending = input.remaining().to_vec();
            if let Some(received) = received {
                return received;
            }
        }
    }
}
