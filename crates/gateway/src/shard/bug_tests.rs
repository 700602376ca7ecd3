//! Tests that no task ends silently: a bug in a connection's task closes and counts the connection, and a bug in a
//! vital task ends the gateway with an error.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::Handlers;
use crate::fault::Fault;
use crate::gateway::Gateway;
use crate::hub::Worker;
use crate::notice::Notice;

/// Only bounds a hang: on a busy machine a thread may not run for seconds.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Bell(Mutex<bool>, Condvar);

impl Doorbell for Bell {
    fn ring(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

struct Server {
    gateway: Arc<Gateway>,
    bell: Arc<Bell>,
    address: String,
    listener: u32,
}

fn serve() -> Server {
    serve_with(ListenerConfig::default(), Duration::ZERO)
}

/// `worker_timeout`: how long workers may take, which answer nothing here; zero: for ever.
fn serve_with(mut listener: ListenerConfig, worker_timeout: Duration) -> Server {
    let (gateway, bell) = (Gateway::new(), Arc::new(Bell::default()));
    let mut config = GatewayConfig {
        io_threads: 1,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = worker_timeout;
    let door: Arc<dyn Doorbell> = Arc::<Bell>::clone(&bell);
    gateway.start(config, door).unwrap();
    "127.0.0.1:0".clone_into(&mut listener.address);
    if listener.protocol == "http" {
        let timeout = TIMEOUT.as_millis().try_into().unwrap();
        listener
            .set_limit("firstRequestTimeoutMs", timeout)
            .unwrap();
    }
    let listening = gateway.listen(listener).unwrap();
    Server {
        gateway,
        bell,
        address: listening.address,
        listener: listening.id,
    }
}

impl Server {
    fn send(&self, bytes: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream
    }

    /// Waits until the gateway has ended; returns whether it reported a failed shard before.
    fn ended(&self) -> bool {
        let mut failed = false;
        loop {
            for notice in self.gateway.take_notices() {
                match notice {
                    Notice::Error { code, .. } => failed |= code == "ERR_MILLRACE_SHARD_FAILED",
                    Notice::Stopped => return failed,
                    _ => {}
                }
            }
            let (mut rung, late) = self
                .bell
                .1
                .wait_timeout_while(self.bell.0.lock().unwrap(), TIMEOUT, |rung| !*rung)
                .unwrap();
            assert!(!late.timed_out(), "no notice of the end");
            *rung = false;
        }
    }

    /// A worker that takes requests and answers none.
    fn worker(&self) -> Arc<Worker> {
        let worker = self
            .gateway
            .add_worker(Handlers::REQUEST, Arc::<Bell>::default());
        worker.activate();
        worker
    }

    fn panics(&self) -> u64 {
        self.gateway.stats().traffic.panics
    }

    fn end(&self) {
        self.gateway.shutdown();
        assert!(!self.ended(), "nothing else failed");
    }
}

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

fn rest(mut stream: TcpStream) -> String {
    let mut seen = Vec::new();
    // only that the connection ends matters here, not how
    let _reset = stream.read_to_end(&mut seen);
    String::from_utf8_lossy(&seen).into_owned()
}

fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

#[test]
fn a_panic_in_a_vital_task_ends_the_gateway_with_an_error() {
    for fault in [Fault::Turn, Fault::Timers, Fault::Accept, Fault::Liveness] {
        let server = serve_with(ListenerConfig::default(), Duration::from_millis(160));
        server.gateway.faults().ask(fault);
        // wakes each of the tasks except the last one, which runs by itself
        let _client = TcpStream::connect(&server.address)
            .and_then(|mut stream| stream.write_all(GET.as_bytes()));
        assert!(server.ended(), "{fault:?}");
    }
}

#[test]
fn a_panic_while_a_listener_stops_ends_the_gateway_with_an_error() {
    let server = serve();
    server.gateway.faults().ask(Fault::Stop);
    server.gateway.stop_listeners(&[server.listener], TIMEOUT);
    assert!(server.ended());
}

#[test]
fn a_panic_in_the_check_for_late_requests_ends_the_gateway_with_an_error() {
    let server = serve();
    let worker = server
        .gateway
        .add_worker(Handlers::REQUEST, Arc::<Bell>::default());
    worker.activate();
    server.gateway.faults().ask(Fault::Requests);
    let _client = server.send(GET);
    assert!(server.ended());
}

#[test]
fn a_panic_in_the_task_of_an_http_connection_closes_it_and_is_counted() {
    let server = serve();
    server.gateway.faults().ask(Fault::HttpConnection);
    assert_eq!(rest(server.send(GET)), "");
    assert!(eventually(|| server.panics() == 1), "{}", server.panics());
    assert!(eventually(|| server.gateway.stats().connections == 0));
    let witness = rest(server.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    assert!(witness.starts_with("HTTP/1.1 426 "), "{witness}");
    server.end();
}

#[test]
fn a_panic_in_the_task_of_a_socket_closes_it_with_1011_and_is_counted() {
    let server = serve();
    let worker = server
        .gateway
        .add_worker(Handlers::TEXT | Handlers::CLOSE, Arc::<Bell>::default());
    worker.activate();
    let mut stream = server.send(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let text = [0x81, 0x80, 0, 0, 0, 0];
    stream.write_all(&text).unwrap();
    assert!(eventually(|| worker.queue().backlog().0 == 2));
    server.gateway.faults().ask(Fault::Connection);
    stream.write_all(&text).unwrap();
    let mut seen = Vec::new();
    let _reset = stream.read_to_end(&mut seen);
    assert!(
        matches!(seen[..], [0x88, _, 0x03, 0xf3, ..]),
        "no close with 1011: {seen:?}"
    );
    assert!(eventually(|| server.panics() == 1), "{}", server.panics());
    assert!(eventually(|| server.gateway.stats().connections == 0));
    assert!(
        eventually(|| worker.queue().backlog().0 == 3),
        "handleClose"
    );
    server.end();
}

#[test]
fn a_panic_before_the_first_byte_of_another_protocol_closes_the_connection_and_is_counted() {
    let listener = ListenerConfig {
        protocol: "resp".to_owned(),
        proxy_protocol: true,
        ..ListenerConfig::default()
    };
    let server = serve_with(listener, Duration::ZERO);
    server.gateway.faults().ask(Fault::Preamble);
    assert_eq!(rest(server.send("PING\r\n")), "");
    assert!(eventually(|| server.panics() == 1), "{}", server.panics());
    assert!(eventually(|| server.gateway.stats().connections == 0));
    server.end();
}

#[test]
fn a_panic_in_the_upload_of_a_body_is_counted_and_the_worker_is_told() {
    let server = serve();
    let worker = server.worker();
    server.gateway.faults().ask(Fault::Upload);
    let post = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    let _client = server.send(post);
    assert!(eventually(|| server.panics() == 1), "{}", server.panics());
    // the request, and the event that its body broke off
    assert!(eventually(|| worker.queue().backlog().0 == 2));
    server.end();
}
