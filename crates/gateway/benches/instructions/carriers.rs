//! The whole server, as in `server`, with messages that other transports than WebSocket carry: event streams, the Redis
//! protocol and requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use millrace_gateway::{ListenerConfig, Options};

use crate::application::{CHANNEL, Server};
use crate::server::{broadcast, connected, masked, plain};
use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("server/publish-to-200-event-streams", 50, publish_events),
    case("server/resp-publish-to-200", 50, publish_resp),
    case("server/resp-ping-pipelined-16", 200, ping),
    case("server/request-to-worker", 200, |count| {
        request(
            count,
            b"GET /rooms/12345 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        );
    }),
    case("server/request-to-status", 200, |count| {
        request(count, b"GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }),
];

const PAYLOAD: [u8; 64] = [b'p'; 64];

/// One WebSocket sends; it and two hundred event streams receive the publication.
fn publish_events(count: u64) {
    let address = Server::start(broadcast).listen(ListenerConfig {
        options: Options::new().text("events", "/events"),
        ..ListenerConfig::default()
    });
    let mut streams: Vec<_> = (0..200).map(|_| event_stream(address)).collect();
    let mut sender = connected(address);
    let (request, mut frame) = (masked(&PAYLOAD), plain(&PAYLOAD));
    // each event is one chunk of an HTTP body
    let expected = [b"48\r\ndata: ", PAYLOAD.as_slice(), b"\n\n\r\n"].concat();
    let mut event = expected.clone();
    for _ in 0..count {
        sender.write_all(&request).expect("the server reads");
        sender.read_exact(&mut frame).expect("a publication");
        for stream in &mut streams {
            stream.read_exact(&mut event).expect("a publication");
        }
    }
    assert!(event == expected);
}

/// One client publishes to two hundred others.
fn publish_resp(count: u64) {
    let address = resp();
    let (subscribe, confirmed) = (
        command(&[b"SUBSCRIBE", CHANNEL]),
        [command(&[b"subscribe", CHANNEL]), b":1\r\n".to_vec()].concat(),
    );
    // the third element of the confirmation is a number, not a text
    let confirmed = [b"*3", &confirmed[2..]].concat();
    let mut clients: Vec<_> = (0..200).map(|_| open(address)).collect();
    for client in &mut clients {
        client.write_all(&subscribe).expect("the server reads");
        let mut answer = vec![0; confirmed.len()];
        client.read_exact(&mut answer).expect("a confirmation");
        assert!(answer == confirmed);
    }
    let mut sender = open(address);
    let publish = command(&[b"PUBLISH", CHANNEL, &PAYLOAD]);
    let expected = command(&[b"message", CHANNEL, &PAYLOAD]);
    let (mut message, mut answer) = (expected.clone(), *b":200\r\n");
    for _ in 0..count {
        sender.write_all(&publish).expect("the server reads");
        sender.read_exact(&mut answer).expect("an answer");
        for client in &mut clients {
            client.read_exact(&mut message).expect("a publication");
        }
    }
    assert!(message == expected && answer == *b":200\r\n");
}

fn ping(count: u64) {
    let mut client = open(resp());
    let (request, expected) = (command(&[b"PING"]).repeat(16), b"+PONG\r\n".repeat(16));
    let mut answer = expected.clone();
    for _ in 0..count {
        client.write_all(&request).expect("the server reads");
        client.read_exact(&mut answer).expect("the server answers");
    }
    assert!(answer == expected);
}

/// Sends requests on one connection, which serves at most a thousand of them.
fn request(count: u64, request: &[u8]) {
    let address = Server::start(broadcast).listen(ListenerConfig {
        options: Options::new().text("stats", "/stats"),
        ..ListenerConfig::default()
    });
    let mut client = open(address);
    let mut answer = vec![0; 16 * 1024];
    for _ in 0..count {
        client.write_all(request).expect("the server reads");
        let mut length = 0;
        while !is_whole(&answer[..length]) {
            let read = client.read(&mut answer[length..]).expect("an answer");
            assert!(read > 0, "the server keeps the connection");
            length += read;
        }
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
}

/// Whether the answer is complete: both answers are one line of JSON.
fn is_whole(answer: &[u8]) -> bool {
    answer.ends_with(b"}\n")
}

/// A server that speaks the Redis protocol.
fn resp() -> SocketAddr {
    Server::start(broadcast).listen(ListenerConfig {
        protocol: "resp".to_owned(),
        ..ListenerConfig::default()
    })
}

fn command(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn event_stream(address: SocketAddr) -> TcpStream {
    let mut stream = open(address);
    let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    stream.write_all(request).expect("the server reads");
    let (mut answer, mut length) = ([0; 1024], 0);
    while !answer[..length].ends_with(b"\r\n\r\n") {
        length += stream.read(&mut answer[length..]).expect("an answer");
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 "));
    stream
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("TCP has it");
    stream
}
