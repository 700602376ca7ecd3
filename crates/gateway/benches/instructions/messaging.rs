//! Channels with history, and clients of `millrace.v1`: what a number and a kept message add to a publication, and what a
//! recovered message costs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use millrace_core::{HistoryTerms, Pattern};
use millrace_gateway::ListenerConfig;
use millrace_gateway::config::{ChannelTerms, ClientPublishing, ClientTerms};

use crate::application::Server;
use crate::server::{REQUEST, broadcast, connected, masked, plain};
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/publish-to-200-kept", 50, publish_kept),
    case("server/v1-publish-to-200", 50, |count| {
        publish_v1(count, false);
    }),
    case("server/v1-publish-to-200-kept", 50, |count| {
        publish_v1(count, true);
    }),
    case("server/v1-recover-100", 50, recover),
];

/// WebSockets without a subprotocol, which get payloads alone.
fn publish_kept(count: u64) {
    let address = start(true);
    let mut clients: Vec<_> = (0..200).map(|_| connected(address)).collect();
    let (request, mut frame) = (masked(&[b'p'; 64]), plain(&[b'p'; 64]));
    for _ in 0..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            client.read_exact(&mut frame).expect("a publication");
        }
    }
}

/// Clients of `millrace.v1`; one of them publishes without asking for an answer.
fn publish_v1(count: u64, is_kept: bool) {
    let address = start(is_kept);
    let mut frame = Vec::new();
    let mut clients: Vec<_> = (0..200).map(|_| connected_v1(address)).collect();
    for client in &mut clients {
        client.write_all(&enter("")).expect("the server reads");
        read_answer(client, &mut frame);
    }
    let request = publication();
    for _ in 0..count {
        clients[199].write_all(&request).expect("the server reads");
        for client in &mut clients {
            read_frame(client, &mut frame);
        }
    }
    assert_eq!(has(&frame, b"\"o\":"), is_kept);
    assert!(frame.ends_with(&[b'p'; 64]));
}

/// A client subscribes with the last hundred messages, gets them, and leaves again.
fn recover(count: u64) {
    let address = start(true);
    let mut client = connected_v1(address);
    let mut frame = Vec::new();
    for _ in 0..100 {
        client.write_all(&publication()).expect("the server reads");
    }
    let enter = enter(",\"last\":100");
    let leave = masked(b"{\"t\":\"unsub\",\"id\":2,\"c\":\"room:2\"}");
    for _ in 0..count {
        client.write_all(&enter).expect("the server reads");
        read_answer(&mut client, &mut frame);
        for _ in 0..100 {
            read_frame(&mut client, &mut frame);
        }
        assert!(has(&frame, b"\"o\":100,"));
        client.write_all(&leave).expect("the server reads");
        read_answer(&mut client, &mut frame);
    }
}

/// A client's subscription.
fn enter(start: &str) -> Vec<u8> {
    masked(format!("{{\"t\":\"sub\",\"id\":1,\"c\":\"room:2\"{start}}}").as_bytes())
}

/// A client's publication of 64 bytes.
fn publication() -> Vec<u8> {
    let mut message = b"{\"t\":\"pub\",\"c\":\"room:2\"}\n".to_vec();
    message.extend([b'p'; 64]);
    masked(&message)
}

/// Reads up to the answer of a request.
fn read_answer(client: &mut TcpStream, frame: &mut Vec<u8>) {
    loop {
        read_frame(client, frame);
        assert!(!has(frame, b"\"t\":\"err\""), "it is permitted");
        if has(frame, b"\"t\":\"ok\"") {
            return;
        }
    }
}

fn start(is_kept: bool) -> SocketAddr {
    let history = is_kept.then_some(HistoryTerms {
        messages: 100,
        age_ms: 3_600_000,
    });
    let terms = ChannelTerms {
        pattern: Pattern::new(b"room:*").expect("a pattern"),
        text: b"room:*"[..].into(),
        compress: true,
        history,
        presence: false,
        clients: ClientTerms {
            subscribe: true,
            publish: ClientPublishing::Unnamed,
            info: false,
        },
    };
    Server::with(1, vec![terms], broadcast).listen(ListenerConfig::default())
}

/// A client after its handshake. The server's first message may come with its answer, so the answer is read byte by byte.
fn connected_v1(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("TCP has it");
    let request = [REQUEST, V1, b"\r\n"].concat();
    stream.write_all(&request).expect("the server reads");
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    stream
}

/// Reads a frame of up to 64 KiB without a mask; `frame` gets its payload.
fn read_frame(client: &mut TcpStream, frame: &mut Vec<u8>) {
    let mut head = [0; 2];
    client.read_exact(&mut head).expect("a frame");
    let mut length = usize::from(head[1]);
    if length == 126 {
        client.read_exact(&mut head).expect("its length");
        length = usize::from(u16::from_be_bytes(head));
    }
    frame.resize(length, 0);
    client.read_exact(frame).expect("its payload");
}

fn has(frame: &[u8], part: &[u8]) -> bool {
    frame.windows(part.len()).any(|window| window == part)
}

const V1: &[u8] = b"Sec-WebSocket-Protocol: millrace.v1\r\n";
