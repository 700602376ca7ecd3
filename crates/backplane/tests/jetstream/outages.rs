//! Links that break, servers that stop, are restarted, lose data or do not answer.

use std::time::{Duration, Instant};

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
    let terms = HistoryTerms {
        messages: 5,
        ..MANY
    };
    let mut config = server.config();
    config.histories[0].terms = terms;
    let mut direct = config.clone();
    direct.servers = vec![server.address()];
    let nodes = [Node::start(&direct, 1), Node::start(&config, 2)];
    nodes[1].follow(ROOM, terms);
    let epoch = nodes[1].await_room(0).position.epoch;
    // only the second node loses its link; it may be back in time
    until("a gap", || {
        server.cut();
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
    let delete = format!("$JS.API.STREAM.DELETE.{}", server.stream());
    assert!(server.ask(&delete, "").contains("\"success\":true"));
    // the node that finds it missing makes the stream again
    let mut after = None;
    until("a message to be accepted", || {
        after = nodes[0].append(message("again")).ok();
        after.is_some()
    });
    let after = after.unwrap().position;
    assert_eq!(after.offset, 1);
    assert_ne!(after.epoch, before.epoch);
    for node in &nodes {
        let view = node.await_room(1);
        assert_eq!(view.position, after);
        assert_eq!(view.texts(), ["again"]);
    }
}

/// Whether it reads or publishes first.
#[test]
fn a_deleted_stream_is_made_again_by_a_node_that_knows_no_record_of_it() {
    let Some(server) = Server::start() else {
        return;
    };
    let publishes = |node: &Node| node.append(message("again")).is_ok();
    let reads = |node: &Node| node.read(MANY, ALL).is_ok();
    let asks: [fn(&Node) -> bool; 2] = [publishes, reads];
    for (number, asks) in (1..).zip(asks) {
        let node = Node::start(&server.config(), number);
        node.await_connected(true);
        let delete = format!("$JS.API.STREAM.DELETE.{}", server.stream());
        assert!(server.ask(&delete, "").contains("\"success\":true"));
        until("an answer", || asks(&node));
        // the link ended, and the next one made the stream
        assert_eq!(node.stats().losses, 1);
    }
}

#[test]
fn numbers_begin_anew_in_a_stream_that_was_emptied() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    nodes[1].follow(ROOM, MANY);
    nodes[1].await_room(0);
    for text in ["0", "1", "2"] {
        nodes[0].publish(text);
    }
    let before = nodes[1].await_room(3).position;
    let purge = format!("$JS.API.STREAM.PURGE.{}", server.stream());
    assert!(server.ask(&purge, "").contains("\"success\":true"));
    // on the link on which the last record is known
    let after = nodes[0].publish("again");
    assert_eq!((after.offset, nodes[0].stats().losses), (1, 0));
    assert_ne!(after.epoch, before.epoch);
    let view = nodes[1].await_room(1);
    assert_eq!((view.position, view.fills), (after, 2));
    assert_eq!(view.texts(), ["again"]);
}

/// What happens to the streams of an account that several connections set up at the same time.
#[test]
fn a_server_that_keeps_nothing_makes_no_gaps() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.await_connected(true);
    server.lose_files();
    if server.keeps_records() {
        return goes_on_until_it_ends(&mut server, &node);
    }
    node.follow(ROOM, MANY);
    until("the node to be told", || !node.failures().is_empty());
    assert_eq!(node.failures(), [(ROOM.to_vec(), StoreError::Refused)]);
    assert!(node.read(MANY, ALL).is_err());
    // nothing distinguishes the first one from one in a channel without records
    let answers: Vec<_> = (0..5).map(|_| node.append(message("x"))).collect();
    assert!(answers[1..].iter().all(Result::is_err), "{answers:?}");
    assert!(node.view(ROOM).is_none());
    let reports = node.reports();
    assert!(
        matches!(&*reports, [one] if one.contains("does not keep")),
        "{reports:?}"
    );
    server.stop();
    server.start_again();
    node.await_room(0);
    let after = node.publish("kept");
    let view = node.await_room(1);
    assert_eq!((view.position, view.fills), (after, 1));
}

/// Newer servers write to the files that they have open, and can read what they have written.
fn goes_on_until_it_ends(server: &mut Server, node: &Node) {
    node.follow(ROOM, MANY);
    node.await_room(0);
    let before: Vec<_> = (0..5)
        .map(|number| node.publish(&number.to_string()))
        .collect();
    let before = before[4];
    assert_eq!(before.offset, 5);
    assert_eq!(node.await_room(5).fills, 1);
    let past = node.read(MANY, ALL).expect("they can be read");
    assert_eq!(texts(&past.entries), node.room().texts());
    assert_eq!((node.failures(), node.reports()), (vec![], vec![]));
    server.stop();
    server.start_again();
    let mut after = None;
    until("a message to be accepted", || {
        after = node.append(message("kept")).ok();
        after.is_some()
    });
    // it is the truth: the others are lost
    let after = after.expect("it was accepted").position;
    assert_eq!(after.offset, 1);
    assert_ne!(after.epoch, before.epoch);
    until("the room to have it", || node.room().position == after);
    assert_eq!(node.room().texts(), ["kept"]);
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
    node.publish("w");
    node.await_room(1);
    server.suspend(true);
    let since = Instant::now();
    let answers = [message("x"), message("y")].map(|message| node.send(message));
    let answers = answers.map(|answer| answer.recv().unwrap());
    let waited = since.elapsed();
    // the second one was not sent
    assert_eq!(answers[0], Err(StoreError::Unknown));
    assert!(answers[1].is_err());
    assert!(waited >= Duration::from_millis(4900), "{waited:?}");
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    server.suspend(false);
    // it may have been published all the same, and the room knows; later ones follow
    until("the store to answer again", || {
        node.append(message("z")).is_ok()
    });
    until("the room to be complete", || {
        let past = node.read(MANY, ALL);
        past.is_ok_and(|past| texts(&past.entries) == node.room().texts())
    });
    assert_eq!(node.room().fills, 1);
}
