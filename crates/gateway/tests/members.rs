//! Threads that share a gateway: each has its own listeners, connections and worker, which end with it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test file uses its part of the support")]
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use millrace_gateway::{
    DialConfig, DialTarget, Gateway, GatewayConfig, ListenerConfig, Member, Notice, Options,
    StartError,
};
use support::manual::{Manual, eventually};
use support::tcp::{QUIET, framing};
use support::{Bell, Event, SOON};

fn config() -> GatewayConfig {
    let mut config = GatewayConfig {
        io_threads: 2,
        ..GatewayConfig::default()
    };
    config.limits.worker_timeout = Duration::ZERO;
    config
}

fn terms(options: Options) -> ListenerConfig {
    ListenerConfig {
        address: "127.0.0.1:0".to_owned(),
        protocol: "tcp".to_owned(),
        options,
        ..ListenerConfig::default()
    }
}

/// A member, its worker and its listener.
struct Party {
    member: Member,
    worker: Manual,
    listener: u32,
    address: SocketAddr,
}

fn party(gateway: &Arc<Gateway>) -> Party {
    let bell = Arc::new(Bell::default());
    let member = gateway.share(config(), Bell::door(&bell)).unwrap();
    let worker = Manual {
        gateway: Arc::clone(gateway),
        worker: member.add_worker(QUIET, Bell::door(&bell)),
        bell,
    };
    worker.worker.activate();
    let listening = member.listen(terms(framing("line"))).unwrap();
    Party {
        member,
        worker,
        listener: listening.id,
        address: listening.address.parse().unwrap(),
    }
}

fn connect(party: &Party) -> TcpStream {
    let stream = TcpStream::connect(party.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

fn to(address: SocketAddr) -> DialConfig {
    DialConfig {
        target: DialTarget::Tcp {
            addresses: vec![address],
            local: None,
        },
        tls: None,
        terms: terms(framing("line")),
    }
}

fn opens(worker: &Manual, count: usize) {
    let events = worker.expect(count);
    assert!(
        events
            .iter()
            .all(|event| matches!(event, Event::Open { .. })),
        "{events:?}"
    );
    assert_eq!(events.len(), count);
}

#[test]
fn a_connection_belongs_to_the_member_that_listens_or_dials() {
    let gateway = Gateway::shared();
    let (one, other) = (party(&gateway), party(&gateway));
    let _clients: Vec<_> = (0..5).map(|_| connect(&one)).collect();
    opens(&one.worker, 5);
    // one end of each connection belongs to the listening member, the other to the dialling one
    for _ in 0..3 {
        one.member.dial(to(other.address)).unwrap();
    }
    opens(&one.worker, 3);
    opens(&other.worker, 3);
    assert_eq!(one.worker.take(), []);
}

#[test]
fn notices_go_to_the_member_that_they_concern() {
    let gateway = Gateway::shared();
    let (one, other) = (party(&gateway), party(&gateway));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap();
    drop(free);
    let dial = other.member.dial(to(nobody)).unwrap();
    let ticket = other
        .member
        .stop_listeners(&[other.listener], Duration::ZERO);
    let mut told = Vec::new();
    assert!(eventually(|| {
        told.extend(other.member.take_notices());
        told.len() == 2
    }));
    let is_failure =
        |notice: &Notice| matches!(notice, Notice::DialFailed { dial: of, .. } if *of == dial);
    let is_stop = |notice: &Notice| matches!(notice, Notice::ListenersStopped { ticket: of, .. } if *of == ticket);
    assert!(
        told.iter().any(is_failure) && told.iter().any(is_stop),
        "{told:?}"
    );
    assert_eq!(one.member.take_notices(), []);
    // the other member still listens
    let _client = connect(&one);
    opens(&one.worker, 1);
}

#[test]
fn a_member_that_leaves_ends_what_it_owns_and_nothing_else() {
    let gateway = Gateway::shared();
    // the member that has started the gateway leaves first
    let (first, second) = (party(&gateway), party(&gateway));
    let (mut of_first, mut of_second) = (connect(&first), connect(&second));
    opens(&first.worker, 1);
    opens(&second.worker, 1);
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    first.member.dial(to(peer.local_addr().unwrap())).unwrap();
    let (mut dialled, _) = peer.accept().unwrap();
    dialled.set_read_timeout(Some(SOON)).unwrap();
    opens(&first.worker, 1);

    first.member.leave();
    assert!(first.member.join(SOON));
    let mut rest = Vec::new();
    of_first.read_to_end(&mut rest).unwrap();
    dialled.read_to_end(&mut rest).unwrap();
    // another test may have its port for a moment
    assert!(eventually(|| TcpStream::connect(first.address).is_err()));
    assert!(first.worker.worker.is_retired());
    let error = first.member.listen(terms(framing("line"))).unwrap_err();
    assert_eq!(error.code(), "ERR_MILLRACE_NOT_RUNNING");

    assert!(gateway.is_running());
    of_second.write_all(b"still\n").unwrap();
    let events = second.worker.expect(1);
    assert!(
        matches!(&events[..], [Event::Text { text, .. }] if text == "still"),
        "{events:?}"
    );
    // no other worker inherits its closes
    assert_eq!(second.worker.take(), []);

    second.member.leave();
    assert!(!gateway.is_running());
    assert!(second.member.join(SOON));
    of_second.read_to_end(&mut rest).unwrap();
}

#[test]
fn a_gateway_runs_again_after_its_last_member_has_left() {
    let gateway = Gateway::shared();
    for _ in 0..3 {
        let party = party(&gateway);
        let _client = connect(&party);
        opens(&party.worker, 1);
        party.member.leave();
        assert!(party.member.join(SOON));
        assert!(!gateway.is_running());
    }
}

#[test]
fn a_gateway_may_end_and_start_on_many_threads_at_once() {
    let gateway = Gateway::shared();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            thread::spawn(move || {
                for _ in 0..50 {
                    let mut member = None;
                    assert!(eventually(|| {
                        let bell = Arc::new(Bell::default());
                        member = match gateway.share(config(), Bell::door(&bell)) {
                            Ok(member) => Some(member),
                            Err(StartError::ShuttingDown) => None,
                            Err(error) => panic!("{error}"),
                        };
                        member.is_some()
                    }));
                    let member = member.unwrap();
                    let bell = Arc::new(Bell::default());
                    member.add_worker(QUIET, Bell::door(&bell)).activate();
                    let listening = member.listen(terms(framing("line"))).unwrap();
                    let address: SocketAddr = listening.address.parse().unwrap();
                    TcpStream::connect(address).unwrap();
                    member.leave();
                    assert!(member.join(SOON));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(!gateway.is_running());
    assert_eq!(gateway.stats().connections, 0);
}
