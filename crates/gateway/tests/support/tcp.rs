//! Raw TCP for tests: a listener, clients, and the events of their worker.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use millrace_gateway::limits::{GatewayLimits, ListenerLimits};
use millrace_gateway::{GatewayConfig, Handlers, ListenerConfig, Options, SocketId};

use super::manual::Manual;
use super::{ALL, Event, SOON, Server, serve};

pub(crate) fn framing(name: &str) -> Options {
    Options::new().text("framing", name)
}

pub(crate) fn length(bytes: i32) -> Options {
    framing("length").number("lengthBytes", bytes)
}

pub(crate) fn server_with(
    options: Options,
    gateway: impl FnOnce(&mut GatewayLimits),
    listener: impl FnOnce(&mut ListenerLimits),
) -> Server {
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config.limits.write_timeout = Duration::MAX;
    gateway(&mut config.limits);
    let mut listening = ListenerConfig {
        protocol: "tcp".to_owned(),
        options,
        ..ListenerConfig::default()
    };
    listener(&mut listening.limits);
    serve(config, listening)
}

pub(crate) fn server(options: Options) -> Server {
    server_with(options, |_| {}, |_| {})
}

pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Connects and is accepted, without sending anything.
pub(crate) fn enter(server: &Server, worker: &Manual) -> (TcpStream, SocketId) {
    let stream = connect(server);
    (stream, worker.opened())
}

pub(crate) fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub(crate) fn line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    loop {
        match read(stream, 1)[0] {
            b'\n' => return String::from_utf8(line).unwrap(),
            byte => line.push(byte),
        }
    }
}

pub(crate) fn close_code(worker: &Manual) -> u32 {
    let events = worker.expect(1);
    let [Event::Close { code, .. }] = events[..] else {
        panic!("events were {events:?}")
    };
    code
}

pub(crate) fn is_close(event: Option<&Event>, code: u32) -> bool {
    matches!(event, Some(Event::Close { code: seen, .. }) if *seen == code)
}

/// Without `handleOpen`, so that connecting needs no answer.
pub(crate) const QUIET: Handlers = ALL.without(Handlers::OPEN).without(Handlers::DRAIN);

/// More bytes than the kernel accepts for a client that does not read.
pub(crate) const BEYOND_THE_KERNEL: usize = 10 << 20;
