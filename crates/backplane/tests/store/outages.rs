//! Links that break, servers that stop, are restarted, lose data or do not answer.

use std::collections::HashSet;
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

/// What another server has received of the room.
struct Replicated([(&'static str, Vec<u8>); 2]);

impl Replicated {
    fn of(server: &Server) -> Self {
        Self(["app!h{room:%7B1%7D}", "app!m{room:%7B1%7D}"].map(|key| {
            let value: Vec<u8> = server.ask(&["DUMP", key]);
            (key, value)
        }))
    }

    /// Does what a failover to it does, before the links are lost.
    fn is_all(&self, server: &Server) {
        for (key, value) in &self.0 {
            let words: [&[u8]; 5] = [b"RESTORE", key.as_bytes(), b"0", value, b"REPLACE"];
            let _restored: String = server.ask_bytes(&words);
        }
    }

    /// Does what a failover to it does.
    fn take_over(&self, server: &Server) {
        self.is_all(server);
        server.cut();
    }
}

/// What a failover does whose new master has not received the last messages.
#[test]
fn other_messages_under_known_numbers_end_the_epoch_on_all_nodes() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2, 3].map(|number| Node::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    for number in 0..3 {
        nodes[0].publish(&number.to_string());
    }
    for node in &nodes {
        node.await_room(3);
    }
    let replicated = Replicated::of(&server);
    nodes[0].publish("lost");
    nodes[0].publish("lost, too");
    for node in &nodes {
        node.await_room(5);
    }
    let before = nodes[0].room();
    replicated.take_over(&server);
    until("all nodes to have the new epoch", || {
        nodes
            .iter()
            .all(|node| node.room().position.epoch != before.position.epoch)
    });
    let after = nodes[0].publish("new");
    assert_eq!(after.offset, 4);
    for node in &nodes {
        let view = node.await_room(4);
        assert_eq!(view.position, after);
        assert_eq!(view.texts(), ["0", "1", "2", "new"]);
    }
    let epochs: HashSet<_> = nodes
        .iter()
        .map(|node| node.room().position.epoch)
        .collect();
    assert_eq!(epochs.len(), 1);
    assert!(nodes.iter().map(|node| node.stats().renewed).sum::<u64>() >= 1);
}

/// Nobody follows the channel, so only who has published, or has followed it before, can know what is lost.
#[test]
fn a_failover_while_nobody_follows_ends_the_epoch() {
    let Some(server) = Server::start() else {
        return;
    };
    // a node that follows later, one that publishes, and one that has followed
    let [later, publisher, former] = [1, 2, 3].map(|number| Node::start(&server.config(), number));
    let renewed = || {
        let nodes = [&later, &publisher, &former];
        nodes.map(|node| node.stats().renewed)
    };
    let mut epoch = publisher.publish("1").epoch;
    for round in 1..=3_u64 {
        let replicated = Replicated::of(&server);
        let lost = publisher.publish("lost");
        assert_eq!((lost.epoch, lost.offset), (epoch, round + 1));
        let before = renewed();
        match round {
            // it sees that its own number is given again
            1 => {
                replicated.is_all(&server);
                assert_eq!(publisher.publish("new").offset, round + 1);
                until("the epoch to end", || renewed()[1] > before[1]);
            }
            // it looks when the link is back
            2 => {
                replicated.take_over(&server);
                until("the epoch to end", || renewed()[1] > before[1]);
                publisher.publish("new");
            }
            // it looks when it follows again
            _ => {
                former.follow(ROOM, MANY);
                assert_eq!(former.await_room(lost.offset).position, lost);
                former.forget(ROOM);
                until("it to be forgotten", || former.stats().followed == 0);
                replicated.is_all(&server);
                later.publish("new");
                former.follow(ROOM, MANY);
                until("the epoch to end", || renewed()[2] > before[2]);
                former.forget(ROOM);
            }
        }
        // a reader with the position of what was lost is told
        let mut position = lost;
        until("the new epoch", || {
            let read = later.read(MANY, ALL).map(|past| past.position);
            position = read.unwrap_or(position);
            position.epoch != epoch
        });
        assert_eq!(position.offset, round + 1);
        epoch = position.epoch;
    }
    // a loss of the link alone ends nothing
    let before = renewed();
    server.cut();
    until("the link to be back", || {
        publisher.stats().losses == 2 && publisher.append(message("last")).is_ok()
    });
    let read = later.read(MANY, ALL).map(|past| past.position.epoch);
    assert!(read.is_err() || read == Ok(epoch), "{read:?}");
    assert_eq!(renewed(), before);
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
