//! The task as a whole: that it ends when it must, whatever waits, how often it tries to connect, and what it does after its
//! thread was not scheduled.

mod stalled;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::{
    Backplane, BackplaneFull, Bounds, Census, Config, Credentials, Destination, Local, Outlet,
    Protocol, Server, Task, Topic, Trouble,
};
use millrace_core::Kind;

/// A node without subscribers.
struct NoNode;

impl Local for NoNode {
    fn deliver(&mut self, _: Destination<'_>, _: (Kind, &[u8]), _: Option<(u64, u64)>) {}
    fn flush(&mut self) {}
    fn topics(&self, _: &mut dyn FnMut(Topic)) {}
    fn census(&self) -> Census {
        Census::default()
    }
    fn subscribers(&self, _: &[u8]) -> u64 {
        7
    }
    fn is_congested(&self) -> bool {
        false
    }
    fn relieved(&self) {}
    fn report(&self, _: Trouble, _: &str) {}
    fn is_ready(&self) {}
}

/// A backplane whose server does not exist.
fn lonely() -> (Backplane, Task) {
    with_server(1)
}

fn with_server(port: u16) -> (Backplane, Task) {
    let config = Config {
        protocol: Protocol::Redis,
        servers: vec![Server {
            host: "127.0.0.1".to_owned(),
            port,
        }],
        prefix: "app".to_owned(),
        sentinel: None,
        credentials: Credentials::default(),
        tls: None,
        bounds: Bounds {
            queue_messages: QUEUE,
            queue_bytes: 100_000,
            message_bytes: 1000,
            full: BackplaneFull::default(),
        },
        histories: Vec::new(),
    };
    let outlet = Arc::new(Outlet::new());
    outlet.open();
    Backplane::new(config, &outlet).expect("the configuration is valid")
}

/// Runs a task on a thread of its own. The channel receives a message when the task has ended.
fn run(task: Task) -> mpsc::Receiver<()> {
    run_with(task, NoNode)
}

fn run_with(task: Task, node: impl Local + 'static) -> mpsc::Receiver<()> {
    let (ended, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.block_on(task.run(Box::new(node)));
        ended.send(()).expect("the test waits");
    });
    told
}

/// A server that accepts clients and closes them at once. Returns its port and a counter of
/// connections.
fn inhospitable() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("the listener is bound").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("the client connects");
            let read = stream.read(&mut [0; 1000]).expect("the client sends");
            assert!(read > 0, "the client sends a hello");
            stream.write_all(b"%0\r\n").expect("the client reads");
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, connections)
}

/// Only bounds a hang: a busy machine may not schedule a thread for seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How many messages are queued at most.
const QUEUE: usize = 100;

#[test]
fn too_many_queries_do_not_delay_the_end() {
    let (backplane, task) = lonely();
    let answers = Arc::new(AtomicUsize::new(0));
    for _ in 0..3000 {
        let answers = Arc::clone(&answers);
        let reply = Box::new(move |_| {
            answers.fetch_add(1, Ordering::SeqCst);
        });
        backplane.ask(vec![], reply);
    }
    backplane.end(Instant::now());
    run(task).recv_timeout(TIMEOUT).expect("the task ends");
    assert!(
        answers.load(Ordering::SeqCst) >= 1976,
        "refused queries are answered at once, others later"
    );
}

#[test]
fn messages_without_a_server_are_dropped_at_the_deadline_and_counted() {
    let (backplane, task) = lonely();
    let ended = run(task);
    for _ in 0..50 {
        let body = Bytes::from_static(b"hello");
        backplane.outlet().publish(false, b"room", Kind::Text, body);
    }
    backplane.end(Instant::now() + Duration::from_millis(200));
    ended.recv_timeout(TIMEOUT).expect("the task ends");
    let stats = backplane.stats();
    assert_eq!((stats.dropped, stats.queued, stats.in_flight), (50, 0, 0));
}

#[test]
fn the_task_ends_when_its_handle_is_dropped() {
    let (backplane, task) = lonely();
    let ended = run(task);
    drop(backplane);
    ended.recv_timeout(TIMEOUT).expect("the task ends");
}

#[test]
fn a_server_that_closes_connections_at_once_is_asked_rarely() {
    let (port, connections) = inhospitable();
    let (backplane, task) = with_server(port);
    let ended = run(task);
    let deadline = Instant::now() + TIMEOUT;
    while connections.load(Ordering::SeqCst) < 3 {
        assert!(Instant::now() < deadline, "the task connects again");
        thread::sleep(Duration::from_millis(5));
    }
    let (before, since) = (connections.load(Ordering::SeqCst), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        thread::sleep(Duration::from_millis(50));
    }
    let often = connections.load(Ordering::SeqCst) - before;
    let took = since.elapsed();
    let most = usize::try_from(took.as_millis() / 100).expect("the time is short");
    assert!(often < most, "{often} times in {took:?}");
    assert!(backplane.stats().losses > 0);
    backplane.end(Instant::now());
    ended.recv_timeout(TIMEOUT).expect("the task ends");
}
