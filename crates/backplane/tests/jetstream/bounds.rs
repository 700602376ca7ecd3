//! What is kept, and for how long.

use std::time::Instant;

use millrace_backplane::store::{Append, Range, StoreError, StoredPast};
use millrace_core::HistoryTerms;

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::server::Server;

fn offsets(past: &StoredPast) -> Vec<u64> {
    past.entries.iter().map(|entry| entry.offset).collect()
}

#[test]
fn the_last_messages_are_kept_and_read_in_both_directions() {
    let Some(server) = Server::start() else {
        return;
    };
    let terms = HistoryTerms {
        messages: 5,
        ..MANY
    };
    let mut config = server.config();
    config.histories[0].terms = terms;
    let node = Node::start(&config, 1);
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
    // the server has one more, which could say where the numbers are
    let info = server.ask(&format!("$JS.API.STREAM.INFO.{}", server.stream()), "");
    assert!(info.contains("\"messages\":6,"), "{info}");
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
    // another node begins where the numbers are
    let other = Node::start(&server.config(), 2);
    assert_eq!(other.append(keyed("c")).unwrap().position.offset, 4);
}

#[test]
fn long_histories_are_read_back() {
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
fn longer_messages_than_a_node_or_the_server_takes_are_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    let (mut small, mut large) = (server.config(), server.config());
    small.bounds.message_bytes = 10;
    large.bounds.message_bytes = 16 * 1024 * 1024;
    let nodes = [Node::start(&large, 1), Node::start(&small, 2)];
    nodes[1].follow(ROOM, MANY);
    nodes[1].await_room(0);
    let refused = nodes[1].append(message("longer than ten"));
    assert_eq!(refused, Err(StoreError::Refused));
    nodes[0].publish(&"y".repeat(1024 * 1024));
    assert_eq!(nodes[1].await_room(1).entries[0].payload.len(), 1024 * 1024);
    assert_eq!(nodes[1].read(MANY, ALL).unwrap().entries.len(), 1);
    // the server takes 8 MiB, with what is put in front of it
    let refused = nodes[0].append(message(&"z".repeat(8 * 1024 * 1024 - 100)));
    assert_eq!(refused, Err(StoreError::Refused));
    assert!(nodes[0].reports()[0].contains("longer"));
    assert_eq!(nodes[0].publish("short").offset, 2);
}

#[test]
fn other_terms_change_the_stream_and_keep_its_messages() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut config = server.config();
    let node = Node::start(&config, 1);
    let first = node.publish("1");
    let info = format!("$JS.API.STREAM.INFO.{}", server.stream());
    // what an operator has changed beside them stays
    let found = server.ask(&info, "");
    let start = found.find("\"config\":").unwrap() + "\"config\":".len();
    let end = found.find(",\"created\"").unwrap();
    let changed = found[start..end].replace("\"max_bytes\":-1", "\"max_bytes\":1000000");
    let update = format!("$JS.API.STREAM.UPDATE.{}", server.stream());
    assert!(server.ask(&update, &changed).contains("1000000"));
    config.histories[0].terms = HistoryTerms {
        messages: 7,
        age_ms: 1000,
    };
    let other = Node::start(&config, 2);
    assert_eq!(other.publish("2").epoch, first.epoch);
    let found = server.ask(&info, "");
    for part in [
        "\"max_msgs_per_subject\":8,",
        "\"max_age\":604801000000000,",
        "\"duplicate_window\":1000000000,",
        "\"max_bytes\":1000000,",
    ] {
        assert!(found.contains(part), "{found}");
    }
    assert_eq!(texts(&other.read(MANY, ALL).unwrap().entries), ["1", "2"]);
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
