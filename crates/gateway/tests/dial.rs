//! Outgoing connections: to a listener of the same gateway, to an address without a listener, and closed before they
//! are established.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use millrace_gateway::{DialConfig, DialTarget, ListenerConfig, Notice, ShardSet};
use millrace_protocol::sockety::Id;
use support::manual::{eventually, manual};
use support::sockety::{server, tell, told};
use support::tcp::QUIET;
use support::{Event, Server};

fn to(address: SocketAddr) -> DialConfig {
    DialConfig {
        target: DialTarget::Tcp {
            addresses: vec![address],
            local: None,
        },
        tls: None,
        terms: ListenerConfig {
            protocol: "sockety".to_owned(),
            ..ListenerConfig::default()
        },
    }
}

fn address_of(server: &Server) -> SocketAddr {
    server.address.parse().unwrap()
}

#[test]
fn both_ends_are_sockets_of_the_worker() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    server.gateway.dial(to(address_of(&server))).unwrap();
    let sockets: Vec<u64> = worker
        .expect(2)
        .iter()
        .map(|event| match event {
            Event::Open { socket, .. } => *socket,
            other => panic!("the event was {other:?}"),
        })
        .collect();
    let one = millrace_gateway::SocketId::new(sockets[0]).unwrap();
    let fields = [&0_u32.to_le_bytes()[..], &[5; 16], &[0; 16], b"hello"].concat();
    tell(&worker, one, support::sockety::SEND, (&fields, b""));
    let message = told(&worker.expect(1)[0]);
    assert_eq!((&*message.action, message.id), ("hello", Id::new([5; 16])));
    let mut dirty = ShardSet::default();
    assert!(server.gateway.close(one, 1000, "", &mut dirty));
    server.gateway.wake(&mut dirty);
    let mut closed = 0;
    assert!(eventually(|| {
        let events = worker.take();
        closed += events
            .iter()
            .filter(|event| matches!(event, Event::Close { .. }))
            .count();
        closed == 2
    }));
}

/// Waits for the notice that a dial failed.
fn failure(server: &Server) -> (u32, String) {
    let mut found = None;
    assert!(eventually(|| {
        let notices = server.gateway.take_notices();
        found = notices.into_iter().find_map(|notice| match notice {
            Notice::DialFailed { dial, error } => Some((dial, error.message.clone())),
            _ => None,
        });
        found.is_some()
    }));
    found.unwrap()
}

#[test]
fn a_failed_dial_is_reported() {
    let server = server();
    let _worker = manual(&server.gateway, QUIET);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let dial = server.gateway.dial(to(address)).unwrap();
    let (of, message) = failure(&server);
    assert_eq!(of, dial);
    assert!(message.contains("refused"), "{message}");
    let nowhere = DialConfig {
        target: DialTarget::Unix("/nowhere/at/all".into()),
        ..to(address)
    };
    let dial = server.gateway.dial(nowhere).unwrap();
    assert_eq!(failure(&server).0, dial);
}

#[test]
fn stopping_a_dial_closes_its_connection() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let dial = server.gateway.dial(to(peer.local_addr().unwrap())).unwrap();
    let (mut stream, _) = peer.accept().unwrap();
    worker.opened();
    server.gateway.stop_listeners(&[dial], Duration::ZERO);
    // the peer's header, and then its end
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest[0], 0xe3);
    let events = worker.expect(1);
    assert!(matches!(events[..], [Event::Close { .. }]), "{events:?}");
}

#[test]
fn a_gateway_that_does_not_run_dials_nothing() {
    let server = server();
    server.gateway.shutdown();
    let error = server.gateway.dial(to(address_of(&server))).unwrap_err();
    assert_eq!(error.code(), "ERR_MILLRACE_NOT_RUNNING");
}

#[test]
fn a_listener_that_stops_accepting_keeps_its_connections() {
    let server = server();
    let worker = manual(&server.gateway, QUIET);
    let mut client = support::sockety::Client::connect(&server);
    worker.opened();
    server.gateway.stop_accepting(&[server.listener]);
    assert!(eventually(|| {
        std::net::TcpStream::connect(address_of(&server)).is_err()
    }));
    client.send("still", Id::new([1; 16]), b"");
    // connections that were accepted meanwhile open and close
    let mut action = None;
    assert!(eventually(|| {
        let events = worker.take();
        let message = events
            .iter()
            .find(|event| matches!(event, Event::Told { number: 2, .. }));
        action = message.map(|message| told(message).action);
        action.is_some()
    }));
    assert_eq!(action.as_deref(), Some("still"));
}
