//! The study counts every planned request, whatever the server does: runs against a real server that
//! violates one guarantee at a time.

mod server;

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millrace_load::io::Io;
use millrace_load::process::Tree;
use millrace_load::scenario::study::{self, Outcome, Plan};
use millrace_load::scenario::study_failure::{self, Fault};
use millrace_load::scenario::study_lane::Tally;
use millrace_load::window::Deadline;
use server::{ACCEPT, Peer, serve};

/// Two connections with ten requests each, one outstanding.
fn plan() -> Plan {
    Plan {
        connections: 2,
        total: 20,
        size: 32,
        depth: Some(1),
        timeout: Duration::from_secs(60),
        limit: Duration::from_secs(60),
        deadline: Deadline::within(120),
    }
}

/// A plan that detects a lost reply but tolerates a slow machine.
fn impatient() -> Plan {
    Plan {
        timeout: Duration::from_secs(5),
        ..plan()
    }
}

fn run(target: SocketAddr, plan: Plan) -> Outcome {
    let mut io = Io::new(target).expect("an epoll instance");
    let mut server = Tree::of(std::process::id()).expect("this process");
    study::run(&mut io, &mut server, plan, |_, _| Ok(())).expect("a run")
}

/// Runs against a server that handles messages with `handle`.
fn against(handle: impl Fn(&mut Peer, &[u8]) + Clone + Send + 'static) -> Outcome {
    run(serve(ACCEPT, handle), plan())
}

fn twenty(success: u64) -> Tally {
    Tally {
        success,
        ..Tally::default()
    }
}

#[test]
fn right_replies_are_successes() {
    for depth in [Some(1), Some(4), None] {
        let target = serve(ACCEPT, Peer::answer);
        let outcome = run(target, Plan { depth, ..plan() });
        assert_eq!(outcome.tally, twenty(20));
        assert!(outcome.endings.is_empty());
        let [responses, connects] = [outcome.responses.figures(), outcome.connects.figures()];
        assert!(responses.max >= responses.mean && responses.mean > 0.0);
        assert!(connects.max >= connects.mean && connects.mean > 0.0);
        assert!(outcome.seconds > 0.0);
    }
}

#[test]
fn requests_that_do_not_divide_evenly_are_all_sent() {
    let target = serve(ACCEPT, Peer::answer);
    let outcome = run(
        target,
        Plan {
            connections: 3,
            total: 20,
            ..plan()
        },
    );
    assert_eq!(outcome.tally, twenty(20));
}

#[test]
fn a_wrong_hash_is_a_wrong_reply() {
    let outcome = against(|peer, request| {
        if peer.count == 3 {
            peer.answer(b"something else");
        } else {
            peer.answer(request);
        }
    });
    let expected = Tally {
        wrong_reply: 2,
        ..twenty(18)
    };
    assert_eq!(outcome.tally, expected);
}

#[test]
fn another_text_is_a_wrong_reply() {
    let outcome = against(|peer, _| peer.send(b"{}"));
    let expected = Tally {
        wrong_reply: 20,
        ..twenty(0)
    };
    assert_eq!(outcome.tally, expected);
    assert!(outcome.responses.figures().mean.is_nan());
}

#[test]
fn a_reply_that_never_comes_is_a_timeout() {
    let target = serve(ACCEPT, |peer: &mut Peer, request: &[u8]| {
        if peer.count != 3 {
            peer.answer(request);
        }
    });
    let expected = Tally {
        timeout: 2,
        ..twenty(18)
    };
    assert_eq!(run(target, impatient()).tally, expected);
}

#[test]
fn a_reply_overtaken_by_the_next_is_a_wrong_reply() {
    let target = serve(ACCEPT, |peer: &mut Peer, request: &[u8]| {
        if peer.count != 3 {
            peer.answer(request);
        }
    });
    let depth = Some(4);
    let expected = Tally {
        wrong_reply: 2,
        ..twenty(18)
    };
    assert_eq!(run(target, Plan { depth, ..plan() }).tally, expected);
}

#[test]
fn a_late_reply_is_a_timeout_and_shifts_nothing() {
    let held = Arc::new(Mutex::new(vec![Vec::new(); 2]));
    let target = serve(ACCEPT, move |peer: &mut Peer, request: &[u8]| {
        let mut held = held.lock().expect("no panic while it is held");
        let held = &mut held[peer.index];
        if peer.count == 3 {
            request.clone_into(held);
            return;
        }
        if peer.count == 4 {
            peer.answer(held);
        }
        peer.answer(request);
    });
    let expected = Tally {
        timeout: 2,
        late: 2,
        ..twenty(18)
    };
    assert_eq!(run(target, impatient()).tally, expected);
}

#[test]
fn a_connection_that_is_closed_loses_what_waits_and_never_sends_the_rest() {
    let target = serve(ACCEPT, |peer: &mut Peer, request: &[u8]| match peer.count {
        0..3 => peer.answer(request),
        3 if peer.index == 0 => peer.close(1011),
        _ if peer.index == 0 => {}
        _ => peer.answer(request),
    });
    let depth = Some(2);
    let outcome = run(target, Plan { depth, ..plan() });
    let expected = Tally {
        connection_lost: 2,
        never_sent: 5,
        ..twenty(13)
    };
    assert_eq!(outcome.tally, expected);
    assert_eq!(outcome.endings.get("closed with 1011"), Some(&1));
}

#[test]
fn a_connection_that_is_cut_is_lost_too() {
    let outcome = against(|peer, _| {
        let _ = peer.stream().shutdown(Shutdown::Both);
    });
    let expected = Tally {
        connection_lost: 2,
        never_sent: 18,
        ..twenty(0)
    };
    assert_eq!(outcome.tally, expected);
    assert_eq!(outcome.endings.get("cut"), Some(&2));
}

#[test]
fn a_refused_handshake_fails_every_request_of_its_connection() {
    let refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let outcome = run(serve(refusal, Peer::answer), plan());
    let expected = Tally {
        connect_failed: 20,
        ..twenty(0)
    };
    assert_eq!(outcome.tally, expected);
}

#[test]
fn an_address_where_nobody_listens_fails_every_request() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = listener.local_addr().unwrap();
    drop(listener);
    let expected = Tally {
        connect_failed: 20,
        ..twenty(0)
    };
    assert_eq!(run(target, plan()).tally, expected);
}

#[test]
fn requests_that_are_not_sent_within_the_limit_count_as_never_sent() {
    let target = serve(ACCEPT, |_: &mut Peer, _: &[u8]| {});
    let limit = Duration::ZERO;
    let outcome = run(
        target,
        Plan {
            limit,
            ..impatient()
        },
    );
    let expected = Tally {
        timeout: 2,
        never_sent: 18,
        ..twenty(0)
    };
    assert_eq!(outcome.tally, expected);
}

/// Connections go to two workers in turn. A worker that is told to exit ends its connections, and
/// new ones then go to a third worker.
#[test]
fn a_failing_worker_is_distinguished_from_the_others() {
    let streams: Arc<Mutex<Vec<(usize, TcpStream)>>> = Arc::default();
    let dead: Arc<Mutex<Option<usize>>> = Arc::default();
    let target = serve(ACCEPT, move |peer: &mut Peer, request: &[u8]| {
        let mut dead = dead.lock().expect("no panic while it is held");
        let worker = match *dead {
            Some(dead) if peer.count == 0 && peer.index % 2 == dead => 2,
            _ => peer.index % 2,
        };
        let mut streams = streams.lock().expect("no panic while it is held");
        match request {
            b"!who" => {
                streams.push((worker, peer.stream()));
                peer.send(format!(r#"{{"worker":"{worker}"}}"#).as_bytes());
            }
            b"!exit" => {
                *dead = Some(worker);
                for (_, stream) in streams.iter().filter(|(owner, _)| *owner == worker) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
            request => peer.answer(request),
        }
    });
    let plan = Plan {
        connections: 4,
        total: 4_000,
        ..plan()
    };
    let mut io = Io::new(target).unwrap();
    let mut server = Tree::of(std::process::id()).unwrap();
    let (outcome, aftermath) = study_failure::run(&mut io, &mut server, plan, Fault::Exit).unwrap();
    assert_eq!((aftermath.victims, aftermath.others), ([2, 2], [2, 0]));
    assert_eq!(outcome.tally.settled(), 4_000);
    assert_eq!(outcome.tally.connection_lost, 2);
    assert!(outcome.tally.success >= 2_000);
    assert!(aftermath.served.is_some() && aftermath.served <= aftermath.replaced);
    assert_eq!(aftermath.probes[1..], [0, 0]);
}
