//! Links that break, servers that stop, are restarted, lose data or do not answer.

use std::time::{Duration, Instant};

use millrace_backplane::Sentinel;
use millrace_backplane::store::{Append, StoreError};
use millrace_core::HistoryTerms;

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::server::Server;

#[test]
fn nothing_is_missing_after_links_that_break() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    let mut cuts = 0;
    for number in 0..300_u64 {
        if number % 30 == 7 {
            server.cut();
            cuts += 1;
        }
        let keyed = || Append {
            key: Some(number.to_le_bytes().into()),
            ..message(&number.to_string())
        };
        until("the message to be accepted", || {
            nodes[0].append(keyed()).is_ok()
        });
    }
    let expected: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    for node in &nodes {
        let view = node.await_room(300);
        assert_eq!(view.texts(), expected);
        assert_eq!(view.fills, 1);
        assert_eq!(node.stats().renewed, 0);
        until("all losses to be counted", || node.stats().losses >= 1);
        assert!(node.stats().losses <= cuts, "{:?}", node.stats());
    }
}

#[test]
fn what_a_node_has_missed_and_is_not_kept_is_a_gap() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    let terms = HistoryTerms {
        messages: 5,
        ..MANY
    };
    nodes[1].follow(ROOM, terms);
    let epoch = nodes[1].await_room(0).position.epoch;
    // only the second node has subscribed to anything; it may be back in time
    until("a gap", || {
        let _killed: i64 = server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        let answers: Vec<_> = (0..=5)
            .map(|number: usize| {
                nodes[0].send(Append {
                    terms,
                    ..message(&number.to_string())
                })
            })
            .collect();
        let newest = answers
            .into_iter()
            .map(|answer| answer.recv().unwrap().unwrap());
        let newest = newest.last().unwrap().position;
        let view = nodes[1].await_room(newest.offset);
        assert_eq!((view.position, newest.epoch), (newest, epoch));
        view.fills > 1
    });
    assert_eq!(nodes[1].room().texts(), ["1", "2", "3", "4", "5"]);
    assert_eq!(nodes[1].stats().renewed, 0);
}

#[test]
fn numbers_go_on_after_a_restart_of_the_server() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(ROOM, MANY);
    for number in 0..10 {
        node.publish(&number.to_string());
    }
    let before = node.await_room(10).position;
    server.stop();
    node.await_connected(false);
    assert_eq!(node.append(message("away")), Err(StoreError::Away));
    server.start_again();
    node.await_connected(true);
    let after = node.publish("10");
    assert_eq!((after.epoch, after.offset), (before.epoch, 11));
    let view = node.await_room(11);
    assert_eq!((view.fills, view.entries.len()), (1, 11));
    // a node that starts now sees the same
    let other = Node::start(&server.config(), 2);
    other.follow(ROOM, MANY);
    assert_eq!(other.await_room(11).entries, view.entries);
    assert_eq!(other.room().position, view.position);
}

#[test]
fn lost_data_begins_a_new_epoch() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    for number in 0..10 {
        nodes[0].publish(&number.to_string());
    }
    let before = nodes[1].await_room(10).position;
    let _flushed: String = server.ask(&["FLUSHALL"]);
    let after = nodes[0].publish("again");
    assert_eq!(after.offset, 1);
    assert_ne!(after.epoch, before.epoch);
    for node in &nodes {
        let view = node.await_room(1);
        assert_eq!(view.position, after);
        assert_eq!((view.fills, view.texts()), (2, vec!["again".to_owned()]));
        assert_eq!(node.stats().renewed, 0);
    }
}

#[test]
fn without_a_server_everything_is_refused_at_once() {
    let Some(mut server) = Server::start() else {
        return;
    };
    server.stop();
    let node = Node::start(&server.config(), 1);
    // the first attempt is awaited
    assert_eq!(node.append(message("x")), Err(StoreError::Away));
    assert_eq!(node.read(MANY, ALL), Err(StoreError::Away));
    node.follow(ROOM, MANY);
    until("the node to be told", || !node.failures().is_empty());
    assert_eq!(node.failures(), [(ROOM.to_vec(), StoreError::Away)]);
    let since = Instant::now();
    for _ in 0..100 {
        assert_eq!(node.append(message("x")), Err(StoreError::Away));
    }
    assert!(since.elapsed() < Duration::from_secs(20));
    server.start_again();
    assert_eq!(node.await_room(0).fills, 1);
    assert_eq!(node.failures().len(), 1);
    assert_eq!(node.publish("there").offset, 1);
    assert_eq!(node.reports().len(), 1, "{:?}", node.reports());
}

#[test]
fn a_message_without_an_answer_is_unknown() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(ROOM, MANY);
    node.await_room(0);
    let _paused: String = server.ask(&["CLIENT", "PAUSE", "7000", "ALL"]);
    let since = Instant::now();
    assert_eq!(node.append(message("x")), Err(StoreError::Unknown));
    let waited = since.elapsed();
    assert!(waited >= Duration::from_millis(4900), "{waited:?}");
    // it may have been published all the same, and the room knows; later ones follow
    until("the store to answer again", || {
        node.append(message("y")).is_ok()
    });
    until("the room to be complete", || {
        let past = node.read(MANY, ALL);
        past.is_ok_and(|past| texts(&past.entries) == node.room().texts())
    });
    assert_eq!(node.room().fills, 1);
}

#[test]
fn a_node_connects_to_the_server_that_is_a_master() {
    let (Some(master), Some(replica)) = (Server::start(), Server::start()) else {
        return;
    };
    let follow = |replica: &Server, master: &Server| {
        let [port, _] = master.ports();
        let _follows: String = replica.ask(&["REPLICAOF", "127.0.0.1", &port]);
    };
    let stored = |server: &Server| server.ask::<u64>(&["XLEN", "app!h{room:%7B1%7D}"]);
    follow(&replica, &master);
    let mut both = replica.plain_config();
    both.servers.extend(master.plain_config().servers);
    let node = Node::start(&both, 1);
    node.follow(ROOM, MANY);
    until("the room to be filled", || node.view(ROOM).is_some());
    node.publish("x");
    until("the replica to have it", || stored(&replica) == 1);
    let epoch = node.await_room(1).position.epoch;
    // they change places
    let _promoted: String = replica.ask(&["REPLICAOF", "NO", "ONE"]);
    follow(&master, &replica);
    let mut newest = None;
    until("a message to be accepted there", || {
        newest = node.append(message("y")).ok();
        newest.is_some()
    });
    let newest = newest.unwrap().position;
    let view = node.await_room(newest.offset);
    assert_eq!((view.fills, view.position.epoch), (1, epoch));
    assert_eq!(stored(&replica), newest.offset);
}

#[test]
fn a_sentinel_is_asked_for_the_master() {
    let Some(server) = Server::start() else {
        return;
    };
    let sentinel = Server::start_sentinel(&server).expect("there is a program");
    let mut config = sentinel.config();
    config.sentinel = Some(Sentinel {
        master: "mymaster".to_owned(),
        user: None,
        password: None,
    });
    let node = Node::start(&config, 1);
    assert_eq!(node.publish("x").offset, 1);
    let direct = Node::start(&server.config(), 2);
    assert_eq!(texts(&direct.read(MANY, ALL).unwrap().entries), ["x"]);
}
