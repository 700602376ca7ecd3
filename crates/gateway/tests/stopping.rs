//! Stopping listeners, ending the whole gateway, and starting it again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::time::Duration;

use millrace_gateway::{GatewayConfig, ListenerConfig, Notice, SpreadTerms, StartError, StopTerms};
use millrace_protocol::websocket::{self, Opcode};
use support::client::{Client, Received, frame};
use support::manual::{eventually, manual};
use support::{ALL, Bell, Event, Server, echo, serve};

fn server(io_threads: usize) -> Server {
    let mut config = GatewayConfig {
        io_threads,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    serve(config, ListenerConfig::default())
}

#[test]
fn a_stop_without_a_drain_still_closes_with_1001() {
    let server = server(2);
    let worker = echo(&server.gateway, ALL);
    let mut clients: Vec<_> = (0..4)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    worker.opened(4);
    // all connections are open once each client has an answer
    for client in &mut clients {
        client.text("here?");
        assert_eq!(client.next(), Received::Text("here?".into()));
    }
    let ticket = server
        .gateway
        .stop_listeners(&[server.listener], Duration::ZERO);
    for client in &mut clients {
        assert_eq!(client.next(), Received::Close(Some(1001), String::new()));
    }
    let notice = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(notice, Notice::ListenersStopped { ticket, cut: 4 });
    let closes = |events: &[Event]| {
        let is_1001 = |event: &&Event| matches!(event, Event::Close { code: 1001, .. });
        events.iter().filter(is_1001).count()
    };
    worker.until(|events| closes(events) == 4);
}

#[test]
fn a_drain_may_have_any_length() {
    let server = server(1);
    let ticket = server
        .gateway
        .stop_listeners(&[server.listener], Duration::MAX);
    let notice = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(notice, Notice::ListenersStopped { ticket, cut: 0 });
}

/// A stop is reported even if the whole gateway ends first.
#[test]
fn a_stop_that_the_end_overtakes_is_reported() {
    let server = server(2);
    let worker = manual(&server.gateway, ALL);
    let client = Client::connect_pending(&server.address);
    worker.opened();
    let timeout = Duration::from_secs(3600);
    let ticket = server.gateway.stop_listeners(&[server.listener], timeout);
    server.gateway.shutdown();
    // a second call has no further effect
    server.gateway.shutdown();
    let mut seen = Vec::new();
    assert!(eventually(|| {
        seen.extend(server.gateway.take_notices());
        seen.contains(&Notice::Stopped)
    }));
    let stopped = |notice: &&Notice| matches!(notice, Notice::ListenersStopped { ticket: seen, .. } if *seen == ticket);
    assert_eq!(seen.iter().filter(stopped).count(), 1);
    assert_eq!(
        seen.iter().position(|notice| *notice == Notice::Stopped),
        Some(1)
    );
    drop(client);
    // a gateway that has ended may start again at once
    let config = GatewayConfig::default();
    let bell = std::sync::Arc::new(Bell::default());
    server.gateway.start(config, Bell::door(&bell)).unwrap();
    server.gateway.shutdown();
}

#[test]
fn a_gateway_may_start_again_after_its_end() {
    let server = server(2);
    let worker = echo(&server.gateway, ALL);
    for round in 0..3 {
        let address = if round == 0 {
            server.address.clone()
        } else {
            let config = GatewayConfig {
                io_threads: 1 + round,
                ..GatewayConfig::default()
            };
            let door = Bell::door(&server.notices);
            server.gateway.start(config.clone(), door).unwrap();
            let door = Bell::door(&server.notices);
            let other = GatewayConfig {
                io_threads: 9,
                ..config
            };
            assert!(matches!(
                server.gateway.start(other, door),
                Err(StartError::AlreadyStarted { .. })
            ));
            let listening = server.gateway.listen(ListenerConfig {
                address: "127.0.0.1:0".into(),
                ..ListenerConfig::default()
            });
            listening.unwrap().address
        };
        let mut client = Client::connect(&address, b"");
        client.text("hello");
        assert_eq!(client.next(), Received::Text("hello".into()));
        server.gateway.shutdown();
        server.notice(|notice| *notice == Notice::Stopped);
        assert_eq!(client.next(), Received::End);
        let stats = server.gateway.stats();
        assert_eq!((stats.connections, stats.sockets), (0, 0));
        assert_eq!(stats.traffic.opened, u64::try_from(round + 1).unwrap());
        assert_eq!(stats.traffic.closed, stats.traffic.opened);
        assert!(eventually(
            || server.gateway.stats().workers[0].connections == 0
        ));
        let wanted = round + 1;
        worker.until(|events| {
            let is_close = |event: &&Event| matches!(event, Event::Close { .. });
            events.iter().filter(is_close).count() == wanted
        });
    }
}

/// A connection that waits for `handleOpen` when the gateway ends was never open: no close is reported, and its permit
/// is free again.
#[test]
fn a_pending_connection_ends_with_the_gateway() {
    let server = server(1);
    let worker = manual(&server.gateway, ALL);
    let client = Client::connect_pending(&server.address);
    let socket = worker.opened();
    server.gateway.shutdown();
    server.notice(|notice| *notice == Notice::Stopped);
    worker.accept(socket);
    assert!(worker.take().is_empty());
    let stats = server.gateway.stats();
    assert_eq!((stats.sockets, stats.workers[0].connections), (0, 0));
    drop(client);
}

/// The peer's close is read behind messages that will not be handled any more.
#[test]
fn a_close_behind_unread_messages_is_read() {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.unhandled_events = 1;
    config.limits.close_timeout = Duration::from_secs(3600);
    let server = serve(config, ListenerConfig::default());
    let worker = manual(&server.gateway, ALL);
    let stream = Client::connect_pending(&server.address);
    let socket = worker.opened();
    worker.accept(socket);
    let mut client = Client::upgraded(stream);
    // if the input were cut in the middle of a frame, the rest would look like a frame of 33,534 bytes
    let hostile: Vec<u8> = [0x82u8 ^ 1, 0xfe ^ 2, 0x82 ^ 3, 0xfe ^ 4].repeat(50_000);
    let mut bytes = frame(Opcode::Text, b"one");
    bytes.extend(frame(Opcode::Binary, &hostile));
    client.send(&bytes);
    assert!(eventually(
        || server.gateway.stats().traffic.messages_in == 1
    ));
    let mut dirty = millrace_gateway::ShardSet::default();
    server.gateway.close(socket, 4000, "", &mut dirty);
    server.gateway.wake(&mut dirty);
    assert_eq!(client.next(), Received::Close(Some(4000), String::new()));
    let mut goodbye = Vec::new();
    websocket::append_masked_close(&mut goodbye, 4000, "", [1, 2, 3, 4]);
    client.send(&goodbye);
    assert_eq!(client.next(), Received::End);
}

fn has_stopped(server: &Server) -> bool {
    let stopped = |notice: &Notice| matches!(notice, Notice::ListenersStopped { .. });
    server.gateway.take_notices().iter().any(stopped)
}

/// They are told like those that were open before, and the stop waits for them.
#[test]
fn sockets_that_open_during_a_stop_are_not_forgotten() {
    let server = server(1);
    let worker = manual(&server.gateway, ALL);
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let client = Client::connect_pending(&server.address);
            (client, worker.opened())
        })
        .collect();
    // in one turn, so that the answers to the handshakes are written after the stop has begun
    let mut dirty = millrace_gateway::ShardSet::default();
    for (_, socket) in &clients {
        let acceptance = millrace_gateway::Acceptance::default();
        worker.worker.accept_open(*socket, acceptance, &mut dirty);
    }
    let drain = Duration::from_secs(3600);
    let ticket = server.gateway.stop_listeners(&[server.listener], drain);
    server.gateway.wake(&mut dirty);
    let mut goodbye = Vec::new();
    websocket::append_masked_close(&mut goodbye, 1001, "", [1, 2, 3, 4]);
    for (stream, _) in clients {
        let mut client = Client::upgraded(stream);
        assert_eq!(client.next(), Received::Close(Some(1001), String::new()));
        assert!(!has_stopped(&server), "some connections are still open");
        client.send(&goodbye);
        assert_eq!(client.next(), Received::End);
    }
    let notice = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(notice, Notice::ListenersStopped { ticket, cut: 0 });
}

#[test]
fn a_spread_of_any_length_is_ended_by_a_shorter_one() {
    let server = server(2);
    let worker = echo(&server.gateway, ALL);
    let mut clients: Vec<_> = (0..4)
        .map(|_| Client::connect(&server.address, b""))
        .collect();
    worker.opened(4);
    let spread = Some(SpreadTerms {
        time: Duration::MAX,
        code: 1012,
    });
    let drain = Duration::MAX;
    let ticket = server
        .gateway
        .stop_listeners(&[server.listener], StopTerms { drain, spread });
    // connections are still accepted and served
    clients.push(Client::connect(&server.address, b""));
    for client in &mut clients {
        client.text("here?");
        assert_eq!(client.next(), Received::Text("here?".into()));
    }
    // longer times, none, and another ticket change nothing
    server.gateway.hasten_stop(ticket, Some(drain), Some(drain));
    server.gateway.hasten_stop(ticket, None, None);
    let none = Some(Duration::ZERO);
    server.gateway.hasten_stop(ticket + 1, none, none);
    assert!(!has_stopped(&server));
    server.gateway.hasten_stop(ticket, none, None);
    let mut goodbye = Vec::new();
    websocket::append_masked_close(&mut goodbye, 1012, "", [1, 2, 3, 4]);
    for client in &mut clients {
        let Received::Close(Some(1012), reason) = client.next() else {
            panic!("no close with 1012");
        };
        let ms: u64 = reason.strip_prefix("retry=").unwrap().parse().unwrap();
        assert!(ms >= 1000);
        client.send(&goodbye);
        assert_eq!(client.next(), Received::End);
    }
    let notice = server.notice(|notice| matches!(notice, Notice::ListenersStopped { .. }));
    assert_eq!(notice, Notice::ListenersStopped { ticket, cut: 0 });
    // it is over
    server.gateway.hasten_stop(ticket, none, none);
}
