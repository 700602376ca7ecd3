//! Tests that rounds of many busy connections give the runtime its turn, and that each connection runs once in a round.

use std::cell::Cell;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::rc::Weak;

use bytes::Bytes;
use tokio::runtime::Runtime;

use super::pace::CONNECTIONS;
use super::*;
use crate::close::CloseReason;
use crate::event::Handlers;
use crate::frame::Encodings;
use crate::net::raw::RawStream;
use crate::shard::stage::Stage;
use crate::socket::{Context as SessionContext, Goodbye, Liveness, Session, Taken, Traits};

/// More is not read at once, so that a connection that reads so much has more to read.
const READ_BYTES: usize = 65 * 1024;

/// How often the session is called when its connection runs and has more to read.
const CALLS: u64 = 4;

/// How long a session takes for its input, whatever it is: as long as the runtime waits for its turn.
const CALL_MS: u64 = 1;

#[derive(Debug)]
struct Slow {
    shard: Weak<Shard>,
    calls: Rc<Cell<u64>>,
    /// Sends more input whenever there was some.
    echo: Option<UnixStream>,
}

impl Session for Slow {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Kernel,
            goodbye: Goodbye::None,
            feeds_worker: false,
            half_close: false,
            encoding: Encodings::LEAD,
        }
    }

    fn input(
        &mut self,
        bytes: &mut [u8],
        _cx: &mut SessionContext<'_>,
    ) -> Result<Taken, CloseReason> {
        let shard = self.shard.upgrade().unwrap();
        shard.set_clock(shard.now() + CALL_MS);
        self.calls.set(self.calls.get() + 1);
        if let Some(peer) = &mut self.echo {
            peer.write_all(&vec![0; READ_BYTES]).unwrap();
        }
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }
}

struct Client {
    peer: UnixStream,
    calls: Rc<Cell<u64>>,
}

/// A shard with a readiness loop, which the test runs step by step.
struct Loop {
    stage: Stage,
    busy: u32,
    /// When the runtime had its turn, in milliseconds.
    since: u64,
    /// The longest time without the runtime.
    longest: u64,
    _runtime: Runtime,
}

impl Loop {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let readiness = {
            let _within = runtime.enter();
            Readiness::new().unwrap()
        };
        let stage = Stage::watching(readiness, Handlers::NONE, |_| {});
        Self {
            since: stage.shard.now(),
            stage,
            busy: 0,
            longest: 0,
            _runtime: runtime,
        }
    }

    /// Opens connections; those that are `endless` have more input whenever they are read.
    fn open(&mut self, count: usize, endless: bool) -> Vec<Client> {
        let clients = (0..count).map(|_| self.open_one(endless)).collect();
        self.run();
        clients
    }

    fn open_one(&self, endless: bool) -> Client {
        let shard = &self.stage.shard;
        let (own, peer) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let calls = Rc::<Cell<u64>>::default();
        let session = Slow {
            shard: Rc::downgrade(shard),
            calls: Rc::clone(&calls),
            echo: endless.then(|| peer.try_clone().unwrap()),
        };
        let place = (None, self.stage.hub.permits().take(None).0);
        let listener = &self.stage.listener;
        let connection = shard.open_without_worker(listener, place, |_| Box::new(session));
        let stream = shard.readiness.stream(RawStream::Unix(own)).unwrap();
        shard.connected(&connection, stream, &Bytes::new());
        Client { peer, calls }
    }

    /// Runs one round, from the events that wait now. False: nothing was to do.
    fn step(&mut self) -> bool {
        let shard = &self.stage.shard;
        let now = shard.now();
        let before = shard.before_round(&mut self.busy);
        if before == Before::News {
            shard.readiness.expect_more();
        }
        if before != Before::Others {
            self.since = now;
        }
        let was_idle = before == Before::News && shard.runnable.borrow().is_empty();
        shard.round();
        self.longest = self.longest.max(shard.now() - self.since);
        !was_idle || shard.now() > now
    }

    fn run(&mut self) {
        while self.step() {}
    }
}

fn send(clients: &[Client], bytes: &[u8]) {
    for client in clients {
        (&client.peer).write_all(bytes).unwrap();
    }
}

fn calls(clients: &[Client]) -> impl Iterator<Item = u64> {
    clients.iter().map(|client| client.calls.get())
}

#[test]
fn a_round_of_slow_connections_gives_the_runtime_its_turn() {
    let mut all = Loop::new();
    let clients = all.open(200, false);
    send(&clients, b"x");
    all.run();
    assert!(calls(&clients).all(|count| count == 1));
    let most = 2 * u64::from(CONNECTIONS) * CALL_MS;
    assert!(all.longest <= most, "{} ms", all.longest);
}

#[test]
fn a_round_with_much_input_gives_the_runtime_its_turn_earlier() {
    let mut all = Loop::new();
    let clients = all.open(20, false);
    send(&clients, &vec![0; 64 * 1024]);
    all.run();
    assert!(calls(&clients).all(|count| count >= 1));
    // the clock is read behind two of them
    assert!(all.longest <= 4 * CALL_MS, "{} ms", all.longest);
}

#[test]
fn connections_with_endless_input_take_turns_and_let_others_in() {
    let mut all = Loop::new();
    let endless = all.open(100, true);
    let others = all.open(50, false);
    send(&endless, &vec![0; READ_BYTES]);
    for _ in 0..1_000 {
        assert!(all.step());
        let (least, most) = (calls(&endless).min(), calls(&endless).max());
        let (least, most) = least.zip(most).unwrap();
        assert!(most - least <= CALLS, "{least} and {most} calls");
    }
    assert!(all.longest <= 2 * CALLS * CALL_MS, "{} ms", all.longest);
    let before = calls(&endless).max().unwrap();
    send(&others, b"x");
    for _ in 0..1_000 {
        if calls(&others).all(|count| count == 1) {
            break;
        }
        assert!(all.step());
    }
    let waited = calls(&endless).max().unwrap() - before;
    assert!(calls(&others).all(|count| count == 1));
    // the rest of one round, and the next one
    assert!(waited <= 2 * CALLS, "{waited} calls of each");
}

#[test]
fn a_connection_that_closes_while_a_round_waits_is_left_out() {
    let mut all = Loop::new();
    let clients = all.open(100, false);
    send(&clients, b"x");
    assert!(all.step());
    assert!(calls(&clients).any(|count| count == 0), "all ran at once");
    let shard = Rc::clone(&all.stage.shard);
    let open: Vec<_> = shard.connections.borrow().iter().cloned().collect();
    for connection in &open {
        shard.close(
            connection,
            &mut connection.io.borrow_mut(),
            &CloseReason::ABNORMAL,
        );
    }
    let before: Vec<_> = calls(&clients).collect();
    all.run();
    assert!(calls(&clients).eq(before));
    assert!(shard.connections.borrow().is_empty());
    assert!(shard.rounds.rest.borrow().is_empty());
}
