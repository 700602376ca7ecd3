//! A node whose thread is not scheduled for a while: what has come meanwhile is read before anything counts as late.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::{Census, Destination, Local, Outlet, Topic, Trouble};
use millrace_core::Kind;

use super::{QUEUE, TIMEOUT, run_with, with_server};

/// What has happened between a node and a server.
#[derive(Default)]
struct Stages {
    pings: AtomicUsize,
    published: AtomicUsize,
    is_stalled: AtomicBool,
    is_answered: AtomicBool,
    /// Publishers that have waited for the answer may go on.
    is_relieved: AtomicBool,
}

/// A node whose thread does nothing from a stage on until the server has answered and something counts as late.
struct Stalling {
    stages: Arc<Stages>,
    outlet: Arc<Outlet>,
    begins: fn(&Stages, &Outlet) -> bool,
    /// In the turn before it could begin, too.
    begins_next: AtomicBool,
    time: Duration,
}

impl Local for Stalling {
    fn deliver(&mut self, _: Destination<'_>, _: (Kind, &[u8]), _: Option<(u64, u64)>) {}
    fn flush(&mut self) {}
    fn topics(&self, _: &mut dyn FnMut(Topic)) {}
    fn census(&self) -> Census {
        Census::default()
    }
    fn subscribers(&self, _: &[u8]) -> u64 {
        0
    }
    /// It is asked in each turn of the task.
    fn is_congested(&self) -> bool {
        let stages = &self.stages;
        let begins = (self.begins)(stages, &self.outlet);
        // the task has seen in a turn before that publishers wait
        let begins = self.begins_next.swap(begins, Ordering::SeqCst) && begins;
        if !begins || stages.is_stalled.swap(true, Ordering::SeqCst) {
            return false;
        }
        let due = Instant::now() + self.time;
        while !stages.is_answered.load(Ordering::SeqCst) {
            assert!(Instant::now() < due + TIMEOUT, "the server answers");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // the task goes on before its runtime asks the system what has come
        self.outlet.ring();
        false
    }
    fn relieved(&self) {
        if !self.stages.is_stalled.load(Ordering::SeqCst) {
            return;
        }
        // there is room for these if messages were sent, but not if publishers were let go
        for _ in 0..QUEUE * 77 / 100 {
            publish(&self.outlet);
        }
        let is_answered = self.stages.is_answered.load(Ordering::SeqCst);
        self.stages
            .is_relieved
            .fetch_or(is_answered, Ordering::SeqCst);
    }
    fn report(&self, _: Trouble, _: &str) {}
    fn is_ready(&self) {}
}

fn publish(outlet: &Outlet) {
    outlet.publish(false, b"room", Kind::Text, Bytes::new());
}

/// Answers until the connection ends; from the first ping on only when the node's thread does nothing.
fn answers_pings_late(mut out: TcpStream, stages: &Stages, outlet: &Outlet) -> Option<()> {
    let mut input = BufReader::new(out.try_clone().ok()?);
    loop {
        let words = command(&mut input)?;
        let is_ping = words.first()? == b"PING";
        if is_ping && stages.pings.fetch_add(1, Ordering::SeqCst) == 0 {
            while !stages.is_stalled.load(Ordering::SeqCst) {
                outlet.ring();
                thread::sleep(Duration::from_millis(1));
            }
        }
        answer(&mut out, &words)?;
        stages.is_answered.fetch_or(is_ping, Ordering::SeqCst);
    }
}

/// Answers until the connection ends; publications only once the node's thread does nothing.
fn confirms_late(mut out: TcpStream, stages: &Stages, _: &Outlet) -> Option<()> {
    let mut input = BufReader::new(out.try_clone().ok()?);
    loop {
        let words = command(&mut input)?;
        if words.first()? != b"PUBLISH" {
            answer(&mut out, &words)?;
            continue;
        }
        if stages.published.fetch_add(1, Ordering::SeqCst) + 1 < IN_FLIGHT {
            continue;
        }
        while !stages.is_stalled.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        let is_first = !stages.is_answered.load(Ordering::SeqCst);
        let count = if is_first { IN_FLIGHT } else { 1 };
        out.write_all(&b":1\r\n".repeat(count)).ok()?;
        stages.is_answered.store(true, Ordering::SeqCst);
    }
}

fn answer(out: &mut TcpStream, words: &[Vec<u8>]) -> Option<()> {
    match words {
        [verb, ..] if verb == b"HELLO" => out.write_all(b"%0\r\n"),
        [verb, name] if verb == b"SUBSCRIBE" => {
            let front = format!(">3\r\n$9\r\nsubscribe\r\n${}\r\n", name.len());
            out.write_all(&[front.as_bytes(), name, b"\r\n:1\r\n"].concat())
        }
        _ => out.write_all(b"+PONG\r\n"),
    }
    .ok()
}

/// Reads a command; `None` at the end.
fn command(input: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    let count = number(input)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = number(input)?;
        let mut word = vec![0; length + 2];
        input.read_exact(&mut word).ok()?;
        word.truncate(length);
        words.push(word);
    }
    Some(words)
}

/// The number in a line after its first character.
fn number(input: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}

/// Runs a node that stalls, until `goes_on` says that it has gone on or its link is lost. Returns how many messages were dropped
/// and how many links were lost; `None` if messages were dropped before it stalled, because the machine was busy.
fn stall(
    serve: fn(TcpStream, &Stages, &Outlet) -> Option<()>,
    (begins, time): (fn(&Stages, &Outlet) -> bool, Duration),
    goes_on: impl Fn(&Stages, &Outlet) -> bool,
) -> Option<(u64, u64)> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (backplane, task) = with_server(listener.local_addr().expect("it is bound").port());
    let stages = Arc::<Stages>::default();
    let outlet = backplane.outlet();
    let node = Stalling {
        stages: Arc::clone(&stages),
        outlet: Arc::clone(outlet),
        begins,
        begins_next: AtomicBool::new(false),
        time,
    };
    let (told, rung) = (Arc::clone(&stages), Arc::clone(outlet));
    // it ends with the process
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ended = serve(stream, &told, &rung);
        }
    });
    let ended = run_with(task, node);
    let deadline = Instant::now() + TIMEOUT;
    let is_early = || !stages.is_stalled.load(Ordering::SeqCst) && backplane.stats().dropped > 0;
    while !goes_on(&stages, outlet) && backplane.stats().losses == 0 && !is_early() {
        assert!(Instant::now() < deadline, "the node goes on");
        thread::sleep(Duration::from_millis(1));
    }
    let was_early = is_early();
    let stats = backplane.stats();
    backplane.end(Instant::now());
    ended.recv_timeout(TIMEOUT).expect("the task ends");
    if was_early {
        return None;
    }
    assert!(stages.is_answered.load(Ordering::SeqCst));
    Some((stats.dropped, stats.losses))
}

#[test]
fn an_answer_that_lies_unread_in_the_socket_keeps_the_link() {
    let was_pinged = |stages: &Stages, _: &Outlet| stages.pings.load(Ordering::SeqCst) > 0;
    let goes_on = |stages: &Stages, _: &Outlet| stages.pings.load(Ordering::SeqCst) > 1;
    let lost = stall(answers_pings_late, (was_pinged, PINGS), goes_on);
    assert_eq!(lost, Some((0, 0)));
}

#[test]
fn publishers_are_not_let_go_while_answers_lie_unread_in_the_socket() {
    let is_full = |stages: &Stages, outlet: &Outlet| {
        stages.published.load(Ordering::SeqCst) >= IN_FLIGHT && outlet.is_awaited()
    };
    let goes_on = |stages: &Stages, outlet: &Outlet| {
        for _ in 0..QUEUE {
            if outlet.is_awaited() || stages.is_stalled.load(Ordering::SeqCst) {
                break;
            }
            publish(outlet);
            outlet.ring();
        }
        // with each turn it asks whether it is congested
        outlet.ring();
        stages.is_relieved.load(Ordering::SeqCst)
    };
    let mut scenes = (0..5).map(|_| stall(confirms_late, (is_full, PUBLISHERS_WAIT), goes_on));
    let lost = scenes.find_map(|lost| lost);
    assert_eq!(lost, Some((0, 0)));
}

/// How many publications wait for their answer at most.
const IN_FLIGHT: usize = 8192;

/// How long publishers wait.
const PUBLISHERS_WAIT: Duration = Duration::from_secs(1);

/// How often a node pings a server; at least so long has it to answer.
const PINGS: Duration = Duration::from_secs(5);
