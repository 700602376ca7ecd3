//! The task as a whole: that it ends when it is told to, whatever waits, and how often it tries.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::{
    Backplane, BackplaneFull, Bounds, Census, Config, Credentials, Destination, Local, Outlet,
    Protocol, Server, Task, Topic, Trouble,
};
use millrace_core::Kind;

/// A node with nobody on it.
struct NoNode;

impl Local for NoNode {
    fn deliver(&mut self, _: Destination<'_>, _: Kind, _: &[u8]) {}
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

/// One whose server is nowhere.
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
        credentials: Credentials::default(),
        tls: None,
        bounds: Bounds {
            queue_messages: 100,
            queue_bytes: 100_000,
            message_bytes: 1000,
            full: BackplaneFull::default(),
        },
    };
    let outlet = Arc::new(Outlet::new());
    outlet.open();
    Backplane::new(config, &outlet).expect("it works here")
}

/// Runs a task on a thread of its own; told when it has ended.
fn run(task: Task) -> mpsc::Receiver<()> {
    let (ended, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("it works here");
        runtime.block_on(task.run(Box::new(NoNode)));
        ended.send(()).expect("it works here");
    });
    told
}

/// Lets everybody in and throws them out again; how often it did.
fn inhospitable() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it works here");
    let port = listener.local_addr().expect("it works here").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it works here");
            let read = stream.read(&mut [0; 1000]).expect("it works here");
            assert!(read > 0, "a hello");
            stream.write_all(b"%0\r\n").expect("it works here");
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, connections)
}

/// It only bounds a hang: a busy machine may leave a thread alone for seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn more_questions_than_it_looks_at_do_not_hide_the_end() {
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
    run(task).recv_timeout(TIMEOUT).expect("it works here");
    assert!(answers.load(Ordering::SeqCst) >= 1976, "at once, or later");
}

#[test]
fn what_waits_without_a_server_is_dropped_at_the_deadline_and_counted() {
    let (backplane, task) = lonely();
    let ended = run(task);
    for _ in 0..50 {
        let body = Bytes::from_static(b"hello");
        backplane.outlet().publish(false, b"room", Kind::Text, body);
    }
    backplane.end(Instant::now() + Duration::from_millis(200));
    ended.recv_timeout(TIMEOUT).expect("it works here");
    let stats = backplane.stats();
    assert_eq!((stats.dropped, stats.queued, stats.in_flight), (50, 0, 0));
}

#[test]
fn nothing_waits_where_nobody_is_left() {
    let (backplane, task) = lonely();
    let ended = run(task);
    drop(backplane);
    ended.recv_timeout(TIMEOUT).expect("it works here");
}

#[test]
fn a_server_that_throws_us_out_is_not_asked_all_the_time() {
    let (port, connections) = inhospitable();
    let (backplane, task) = with_server(port);
    let ended = run(task);
    let deadline = Instant::now() + TIMEOUT;
    while connections.load(Ordering::SeqCst) < 3 {
        assert!(Instant::now() < deadline, "it comes again");
        std::thread::sleep(Duration::from_millis(5));
    }
    let (before, since) = (connections.load(Ordering::SeqCst), Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let often = connections.load(Ordering::SeqCst) - before;
    let took = since.elapsed();
    let most = usize::try_from(took.as_millis() / 100).expect("it works here");
    assert!(often < most, "{often} times in {took:?}");
    assert!(backplane.stats().losses > 0);
    backplane.end(Instant::now());
    ended.recv_timeout(TIMEOUT).expect("it works here");
}
