//! The whole server: everything that runs for a message from the first byte read to the last byte written, with tokio,
//! hyper and the client's own reads and writes, but without the kernel. These cases use WebSockets; `carriers` has the
//! other transports. The client on the main thread only reads and writes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use millrace_core::{Kind, ShardSet, SocketId, Target};
use millrace_gateway::{Gateway, ListenerConfig};
use millrace_protocol::websocket::{Opcode, append_close, append_frame, append_part};

use crate::application::{CHANNEL, Handle, Server};
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/echo-text-64", 500, |count| echo(count, 64, 1)),
    case("server/echo-text-64-pipelined-16", 100, |count| {
        echo(count, 64, 16);
    }),
    case("server/echo-text-16-kib", 100, |count| {
        echo(count, 16_384, 1);
    }),
    case("server/answer-and-publish-to-10", 200, room),
    case("server/publish-to-200", 50, publish),
    case("server/connect-subscribe-and-close", 300, connect),
];

pub(crate) fn answer(gateway: &Gateway, socket: SocketId, text: &[u8], dirty: &mut ShardSet) {
    gateway.send(&[Target::Socket(socket)], Kind::Text, text, &[], dirty);
}

pub(crate) fn broadcast(gateway: &Gateway, _: SocketId, text: &[u8], dirty: &mut ShardSet) {
    gateway.send(&[Target::Channel(CHANNEL)], Kind::Text, text, &[], dirty);
}

fn answer_and_broadcast(gateway: &Gateway, id: SocketId, text: &[u8], dirty: &mut ShardSet) {
    answer(gateway, id, text, dirty);
    broadcast(gateway, id, text, dirty);
}

fn echo(count: u64, length: usize, pipeline: usize) {
    let mut client = connected(start(answer));
    let payload = vec![b'p'; length];
    let request = masked(&payload).repeat(pipeline);
    let expected = plain(&payload).repeat(pipeline);
    let mut reply = expected.clone();
    for _ in 0..count {
        client.write_all(&request).expect("the server reads");
        client.read_exact(&mut reply).expect("the server answers");
    }
    assert!(reply == expected);
}

/// One socket of ten sends; it gets an answer, and all ten get a publication.
fn room(count: u64) {
    let address = start(answer_and_broadcast);
    let mut clients: Vec<_> = (0..10).map(|_| connected(address)).collect();
    let (request, mut frame) = (masked(&[b'p'; 64]), plain(&[b'p'; 64]));
    for turn in 0..count {
        let sender = usize::try_from(turn % 10).expect("below 10");
        clients[sender]
            .write_all(&request)
            .expect("the server reads");
        clients[sender].read_exact(&mut frame).expect("an answer");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

fn publish(count: u64) {
    let address = start(broadcast);
    let mut clients: Vec<_> = (0..200).map(|_| connected(address)).collect();
    let (request, mut frame) = (masked(&[b'p'; 64]), plain(&[b'p'; 64]));
    for _ in 0..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

fn connect(count: u64) {
    let address = start(answer);
    let mut goodbye = Vec::new();
    let code = 1000_u16.to_be_bytes();
    append_part(&mut goodbye, Opcode::Close, true, Some(KEY), &code);
    let mut expected = Vec::new();
    append_close(&mut expected, 1000, "");
    let mut answer = Vec::new();
    for _ in 0..count {
        let mut client = connected(address);
        client.write_all(&goodbye).expect("the server reads");
        answer.clear();
        client.read_to_end(&mut answer).expect("the server closes");
    }
    assert!(answer == expected);
}

/// A WebSocket server. It runs until the process ends.
fn start(handle: Handle) -> SocketAddr {
    Server::start(handle).listen(ListenerConfig::default())
}

/// A client after its handshake.
pub(crate) fn connected(address: SocketAddr) -> TcpStream {
    connected_with(address, "")
}

/// A client after its handshake, whose request has these lines, too.
pub(crate) fn connected_with(address: SocketAddr, lines: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("TCP has it");
    let request = [REQUEST, lines.as_bytes(), b"\r\n"].concat();
    stream.write_all(&request).expect("the server reads");
    let (mut answer, mut length) = ([0; 1024], 0);
    while !answer[..length].ends_with(b"\r\n\r\n") {
        length += stream.read(&mut answer[length..]).expect("an answer");
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
}

pub(crate) fn masked(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    append_part(&mut frame, Opcode::Text, true, Some(KEY), payload);
    frame
}

pub(crate) fn plain(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    append_frame(&mut frame, Opcode::Text, payload);
    frame
}

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

pub(crate) const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
