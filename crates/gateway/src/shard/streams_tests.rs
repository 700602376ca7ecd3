//! Tests streams that become sockets, with a protocol that echoes its input.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_core::{ShardSet, SocketId};

use super::open::Refusal;
use super::protocol::{Needs, Protocol, Service, Streams};
use crate::close::CloseReason;
use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::{Acceptance, Handlers, Rejection, Transport};
use crate::frame::Encodings;
use crate::gateway::Gateway;
use crate::hub::Worker;
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::notice::Notice;
use crate::options::Options;
use crate::socket::{Context, Goodbye, Liveness, Session, Taken, Traits};
use crate::sync::Mutex;

/// Only bounds a hang.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Keeps a weak reference to its last service, so that a test can see when that ends.
#[derive(Debug, Default)]
struct EchoProtocol(Arc<Mutex<Weak<Echo>>>);

#[derive(Debug)]
struct Echo {
    told: bool,
}

struct EchoSession;

impl Protocol for EchoProtocol {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn needs(&self, _config: &ListenerConfig) -> Needs {
        Needs::default()
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        let options = config.options.reader();
        let told = options.flag("told")?.unwrap_or_default();
        options.finish()?;
        let echo = Arc::new(Echo { told });
        *self.0.lock() = Arc::downgrade(&echo);
        Ok(echo)
    }
}

impl Streams for Echo {
    fn transport(&self) -> Option<Transport> {
        self.told.then_some(Transport::WebSocket)
    }

    fn session(&self, _socket: SocketId, _peer: &Peer) -> Box<dyn Session> {
        Box::new(EchoSession)
    }

    fn append_refusal(&self, why: &Refusal, out: &mut Vec<u8>) {
        let text = match why {
            Refusal::NoWorker => "no worker".to_owned(),
            Refusal::OverLimit => "over limit".to_owned(),
            Refusal::Late => "late".to_owned(),
            Refusal::Rejected(rejection) => format!("rejected {}", rejection.status),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

impl Session for EchoSession {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            goodbye: Goodbye::None,
            feeds_worker: false,
            half_close: false,
            encoding: Encodings::LEAD,
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        cx.reply(|out| out.extend_from_slice(bytes));
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }
}

struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

struct Server {
    gateway: Arc<Gateway>,
    address: String,
    listener: u32,
    service: Arc<Mutex<Weak<Echo>>>,
}

impl Server {
    fn start(told: bool, change: impl FnOnce(&mut GatewayConfig, &mut ListenerConfig)) -> Self {
        let protocol = EchoProtocol::default();
        let service = Arc::clone(&protocol.0);
        let gateway = Gateway::with(|_| vec![Box::new(protocol)]);
        let mut config = GatewayConfig {
            io_threads: 2,
            ..GatewayConfig::default()
        };
        config.limits.worker_timeout = Duration::ZERO;
        let mut listener = ListenerConfig {
            address: "127.0.0.1:0".to_owned(),
            protocol: "echo".to_owned(),
            options: Options::new().flag("told", told),
            ..ListenerConfig::default()
        };
        listener.limits.handshake_timeout = TIMEOUT;
        change(&mut config, &mut listener);
        gateway.start(config, Arc::new(Silent)).unwrap();
        let listening = gateway.listen(listener).unwrap();
        Self {
            gateway,
            address: listening.address,
            listener: listening.id,
            service,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    fn worker(&self, open: bool) -> Arc<Worker> {
        let handlers = if open { Handlers::OPEN } else { Handlers::NONE };
        let worker = self.gateway.add_worker(handlers, Arc::new(Silent));
        worker.activate();
        worker
    }

    fn accept(&self, worker: &Worker, acceptance: Acceptance) {
        let mut dirty = ShardSet::default();
        worker.accept_open(opened(worker).0, acceptance, &mut dirty);
        self.gateway.wake(&mut dirty);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.gateway.shutdown();
    }
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "the condition was not met in time"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The socket of the only OPEN record of a worker, and its flags.
fn opened(worker: &Worker) -> (SocketId, u32) {
    let batch = until(|| {
        worker.begin_drain();
        worker.take()
    });
    let word = |at: usize| u32::from_le_bytes(batch.bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0) & 15, 1, "an OPEN");
    let socket = u64::from(word(8)) | u64::from(word(12)) << 32;
    let seen = (SocketId::new(socket).unwrap(), word(16));
    worker.finish(batch);
    seen
}

fn echoes(mut stream: &TcpStream) {
    stream.write_all(b"hello").unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
}

/// Everything that is sent up to the end of the stream, which must not be a reset.
fn rest(mut stream: TcpStream) -> String {
    let mut seen = String::new();
    stream.read_to_string(&mut seen).unwrap();
    seen
}

#[test]
fn a_protocol_without_a_worker_starts_at_once() {
    let server = Server::start(false, |_, _| {});
    let clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    clients.iter().for_each(echoes);
    clients[0].shutdown(Shutdown::Write).unwrap();
    until(|| (server.gateway.stats().connections == 3).then_some(()));
}

#[test]
fn a_worker_without_handle_open_is_told_and_not_asked() {
    let server = Server::start(true, |_, _| {});
    let worker = server.worker(false);
    let client = server.connect();
    echoes(&client);
    let (_, flags) = opened(&worker);
    assert_eq!(flags & 1, 0);
}

#[test]
fn handle_open_sees_the_port_and_accepts() {
    let server = Server::start(true, |_, _| {});
    let worker = server.worker(true);
    let client = server.connect();
    // input before the answer waits for it
    (&client).write_all(b"early ").unwrap();
    let (socket, flags) = opened(&worker);
    let port = client.local_addr().unwrap().port();
    assert_eq!((flags & 1, flags >> 16), (1, u32::from(port)));
    let mut dirty = ShardSet::default();
    worker.accept_open(socket, Acceptance::default(), &mut dirty);
    server.gateway.wake(&mut dirty);
    let mut early = [0; 6];
    (&client).read_exact(&mut early).unwrap();
    assert_eq!(&early, b"early ");
    echoes(&client);
}

#[test]
fn handle_open_rejects_and_the_peer_reads_why() {
    let server = Server::start(true, |_, _| {});
    let worker = server.worker(true);
    let client = server.connect();
    (&client).write_all(b"unread").unwrap();
    let mut dirty = ShardSet::default();
    let rejection = Rejection {
        status: 418,
        headers: Vec::new(),
        body: Bytes::new(),
    };
    worker.refuse_open(opened(&worker).0, rejection, &mut dirty);
    server.gateway.wake(&mut dirty);
    assert_eq!(rest(client), "rejected 418");
}

#[test]
fn an_acceptance_that_cannot_be_sent_is_reported_and_closes() {
    let server = Server::start(true, |_, _| {});
    let worker = server.worker(true);
    let client = server.connect();
    let headers = vec![("x-a".to_owned(), "1".to_owned())];
    let acceptance = Acceptance {
        headers,
        ..Acceptance::default()
    };
    server.accept(&worker, acceptance);
    assert_eq!(rest(client), "");
    let is_it = |notice: &Notice| matches!(notice, Notice::Error { code, .. } if *code == "ERR_MILLRACE_INVALID_ACCEPTANCE");
    until(|| {
        server
            .gateway
            .take_notices()
            .iter()
            .any(is_it)
            .then_some(())
    });
}

#[test]
fn without_any_worker_the_peer_is_told_why_it_is_refused() {
    let server = Server::start(true, |_, _| {});
    assert_eq!(rest(server.connect()), "no worker");
}

#[test]
fn an_answer_that_is_late_is_a_refusal() {
    let server = Server::start(true, |_, listener| {
        listener.limits.handshake_timeout = Duration::from_millis(50);
    });
    let worker = server.worker(true);
    assert_eq!(rest(server.connect()), "late");
    server.accept(&worker, Acceptance::default());
    until(|| (server.gateway.stats().connections == 0).then_some(()));
}

#[test]
fn a_peer_over_the_limit_reads_why_although_it_has_sent_something() {
    let server = Server::start(false, |config, _| config.limits.connections_per_address = 1);
    let first = server.connect();
    echoes(&first);
    let second = server.connect();
    (&second).write_all(b"unread").unwrap();
    assert_eq!(rest(second), "over limit");
    drop(first);
    until(|| (server.gateway.stats().connections == 0).then_some(()));
    echoes(&server.connect());
}

#[test]
fn a_service_ends_with_its_listener() {
    let server = Server::start(false, |_, _| {});
    let client = server.connect();
    echoes(&client);
    assert!(server.service.lock().upgrade().is_some());
    server
        .gateway
        .stop_listeners(&[server.listener], Duration::ZERO);
    until(|| server.service.lock().upgrade().is_none().then_some(()));
    drop(client);
}

#[test]
fn unread_options_and_unknown_protocols_are_named() {
    let server = Server::start(false, |_, _| {});
    let listen = |protocol: &str, options: Options| {
        let listener = ListenerConfig {
            address: "127.0.0.1:0".to_owned(),
            protocol: protocol.to_owned(),
            options,
            ..ListenerConfig::default()
        };
        let error = server.gateway.listen(listener).unwrap_err();
        assert_eq!(error.code(), "ERR_MILLRACE_INVALID_OPTION");
        error.to_string()
    };
    let unread = listen("echo", Options::new().flag("events", true));
    assert_eq!(unread, "events is no option of this protocol");
    let wrong = listen("echo", Options::new().text("told", "yes"));
    assert_eq!(wrong, "told must be true or false");
    let unknown = listen("gopher", Options::new());
    assert_eq!(unknown, "protocol: there is no 'gopher'");
}
