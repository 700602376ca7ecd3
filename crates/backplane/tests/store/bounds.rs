//! What is kept, for how long, and how much may wait.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use bytes::Bytes;
use millrace_backplane::Config;
use millrace_backplane::store::{
    Append, Entry, Feed, History, Range, Store, StoreError, StoreTask, StoredPast,
};
use millrace_core::HistoryTerms;

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::server::{Server, config};

fn offsets(past: &StoredPast) -> Vec<u64> {
    past.entries.iter().map(|entry| entry.offset).collect()
}

#[test]
fn the_last_messages_are_kept_and_read_in_both_directions() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    let terms = HistoryTerms {
        messages: 5,
        ..MANY
    };
    let empty = node.read(terms, ALL).unwrap();
    assert_eq!((empty.position.offset, empty.entries.len()), (0, 0));
    for number in 1..=12 {
        let message = Append {
            terms,
            ..message(&number.to_string())
        };
        let position = node.append(message).unwrap().position;
        assert_eq!(
            (position.offset, position.epoch),
            (number, empty.position.epoch)
        );
    }
    let read = |after, most, is_reverse| {
        let range = Range {
            after,
            most,
            is_reverse,
            ..ALL
        };
        let past = node.read(terms, range).unwrap();
        assert_eq!(past.position.offset, 12);
        offsets(&past)
    };
    assert_eq!(read(0, 100, false), [8, 9, 10, 11, 12]);
    assert_eq!(read(0, 2, false), [8, 9]);
    assert_eq!(read(10, 100, false), [11, 12]);
    assert_eq!(read(12, 100, false), [0; 0]);
    assert_eq!(read(u64::MAX, 100, false), [0; 0]);
    assert_eq!(read(0, 100, true), [12, 11, 10, 9, 8]);
    assert_eq!(read(0, 2, true), [12, 11]);
    assert_eq!(read(10, 100, true), [12, 11]);
    assert_eq!(read(12, 100, true), [0; 0]);
    assert_eq!(read(0, 0, true), [0; 0]);
    node.follow(ROOM, terms);
    assert_eq!(node.await_room(12).entries.len(), 5);
}

#[test]
fn old_messages_go_and_numbers_go_on() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    let terms = HistoryTerms {
        age_ms: 500,
        ..MANY
    };
    let keyed = |key: &str| Append {
        key: Some(key.as_bytes().into()),
        terms,
        ..message(key)
    };
    let first = node.append(keyed("a")).unwrap().position;
    let read = || node.read(terms, ALL).unwrap();
    until("the message to go", || read().entries.is_empty());
    assert_eq!(read().position, first);
    let again = node.append(keyed("a")).unwrap();
    assert_eq!((again.is_repeated, again.position.offset), (false, 2));
    assert_eq!(again.position.epoch, first.epoch);
    // longer terms see no more: the server has dropped it, or the age is that of the reader
    until("the stream to go", || {
        let count: usize = server.ask(&["EXISTS", "app!h{room:%7B1%7D}"]);
        count == 0
    });
    let left: i64 = server.ask(&["PTTL", "app!m{room:%7B1%7D}"]);
    assert!(left > 6 * 24 * 60 * 60 * 1000, "{left}");
    // a follower that has seen it goes on without a gap
    node.follow(ROOM, terms);
    node.await_room(2);
    server.cut();
    until("the link to be back", || {
        let stats = node.stats();
        stats.losses > 0 && stats.is_connected
    });
    node.append(keyed("b")).unwrap();
    assert_eq!(node.await_room(3).fills, 1);
}

#[test]
fn long_histories_are_read_in_pages() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    let body = "x".repeat(4000);
    let answers: Vec<_> = (0..2000)
        .map(|number| nodes[0].send(message(&format!("{number} {body}"))))
        .collect();
    for answer in answers {
        answer.recv().unwrap().unwrap();
    }
    nodes[1].follow(ROOM, MANY);
    let view = nodes[1].await_room(2000);
    assert_eq!((view.fills, view.entries.len()), (1, 2000));
    let past = nodes[1].read(MANY, ALL).unwrap();
    assert_eq!(past.entries, view.entries);
    let range = Range {
        is_reverse: true,
        ..ALL
    };
    let mut reversed = nodes[1].read(MANY, range).unwrap().entries;
    reversed.reverse();
    assert_eq!(reversed, view.entries);
    let range = Range { most: 1500, ..ALL };
    assert_eq!(
        nodes[1].read(MANY, range).unwrap().entries,
        view.entries[..1500]
    );
    // once there are so many bytes, the page is the last one
    let few = |most_bytes| {
        let range = Range { most_bytes, ..ALL };
        nodes[1].read(MANY, range).unwrap().entries
    };
    let (one, half) = (few(1), few(view.entries[0].payload.len() * 1000));
    assert_eq!(one, view.entries[..one.len()]);
    assert_eq!(half, view.entries[..half.len()]);
    assert!(!one.is_empty() && one.len() <= 512);
    assert!(half.len() < 2000, "{}", half.len());
}

#[test]
fn longer_messages_than_a_node_may_send_are_refused_but_received() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut small = server.config();
    small.bounds.message_bytes = 10;
    let nodes = [Node::start(&server.config(), 1), Node::start(&small, 2)];
    nodes[1].follow(ROOM, MANY);
    nodes[1].await_room(0);
    let refused = nodes[1].append(message("longer than ten"));
    assert_eq!(refused, Err(StoreError::Refused));
    nodes[0].publish(&"y".repeat(1024 * 1024));
    assert_eq!(nodes[1].await_room(1).entries[0].payload.len(), 1024 * 1024);
}

/// A node without channels.
struct NoFeed;

impl Feed for NoFeed {
    fn filled(&self, _: &[u8], _: StoredPast) {}
    fn next(&self, _: &[u8], _: Entry) {}
    fn failed(&self, _: &[u8], _: StoreError) {}
    fn flush(&self) {}
    fn report(&self, _: &str) {}
}

/// A store whose task does not run.
fn waiting(config: &Config) -> (Arc<Store>, StoreTask) {
    Store::new(config, 1, Arc::new(NoFeed)).expect("it is supported")
}

/// How many of so many messages are refused at once.
fn refused(store: &Store, messages: usize, bytes: usize) -> usize {
    let (answer, answered) = mpsc::channel();
    for _ in 0..messages {
        let answer = answer.clone();
        let message = Append {
            payload: Bytes::from(vec![b'x'; bytes]),
            ..message("")
        };
        let done = Box::new(move |result| {
            let _nobody_waits = answer.send(result);
        });
        store.append(message, done);
    }
    let results: Vec<_> = answered.try_iter().collect();
    assert!(
        results
            .iter()
            .all(|result| *result == Err(StoreError::Full))
    );
    results.len()
}

#[test]
fn what_waits_is_bounded_in_messages_and_bytes() {
    let mut config = config(1);
    config.bounds.queue_messages = 10;
    let (store, _task) = waiting(&config);
    assert_eq!(refused(&store, 15, 0), 5);
    config.bounds.queue_messages = 1000;
    config.bounds.queue_bytes = 10_000;
    let (store, _task) = waiting(&config);
    // each is charged with its channel's name and 128 bytes
    assert_eq!(refused(&store, 15, 1000 - 128 - ROOM.len()), 5);
    assert_eq!(store.stats().waiting_bytes, 10_000);
}

#[test]
fn what_waits_is_answered_when_the_task_is_gone() {
    let (store, task) = waiting(&config(1));
    let (answer, answered) = mpsc::channel();
    let ask = || {
        let answer = answer.clone();
        store.append(
            message(""),
            Box::new(move |result| answer.send(result).unwrap()),
        );
    };
    ask();
    drop(task);
    assert_eq!(answered.recv(), Ok(Err(StoreError::Unknown)));
    ask();
    assert_eq!(answered.recv(), Ok(Err(StoreError::Away)));
    assert_eq!(store.stats().waiting_bytes, 0);
}

#[test]
fn a_node_that_ends_publishes_what_waits() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut node = Node::start(&server.config(), 1);
    let answers: Vec<_> = (0..500)
        .map(|number| node.send(message(&number.to_string())))
        .collect();
    node.end(Instant::now() + crate::server::TIMEOUT);
    node.join();
    for answer in answers {
        assert!(answer.recv().unwrap().is_ok());
    }
    assert_eq!(node.append(message("late")), Err(StoreError::Away));
    let other = Node::start(&server.config(), 2);
    let past = other.read(MANY, ALL).unwrap();
    assert_eq!(texts(&past.entries).len(), 500);
}
