//! What other programs and operators do to the names of the store.

use millrace_backplane::store::{Append, StoreError};

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::server::Server;

const STREAM: &str = "app!h{room:%7B1%7D}";
const TOPIC: &str = "app!p{room:%7B1%7D}";

#[test]
fn what_other_programs_publish_is_dropped_and_counted() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(ROOM, MANY);
    node.await_room(0);
    for number in 1..=5 {
        let _receivers: usize = server.ask(&["PUBLISH", TOPIC, "hello"]);
        node.publish(&number.to_string());
    }
    let view = node.await_room(5);
    assert_eq!((view.texts().len(), view.fills), (5, 1));
    until("all to be counted", || node.stats().foreign == 5);
    let reports = node.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("room:{1}"), "{reports:?}");
}

#[test]
fn messages_that_are_published_again_come_once() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(ROOM, MANY);
    node.await_room(0);
    for number in 1..=5 {
        node.publish(&number.to_string());
    }
    node.await_room(5);
    let found: Vec<(String, Vec<Vec<u8>>)> = server.ask(&["XRANGE", STREAM, "-", "+"]);
    for (_, fields) in &found {
        let words: [&[u8]; 3] = [b"PUBLISH", TOPIC.as_bytes(), &fields[1]];
        let _receivers: usize = server.ask_bytes(&words);
    }
    until("it to be read again", || node.stats().reread > 0);
    node.publish("6");
    let view = node.await_room(6);
    assert_eq!(view.texts(), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!((view.fills, node.stats().renewed), (1, 0));
}

#[test]
fn entries_of_other_programs_are_left_out() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.publish("1");
    let long = "x".repeat(200);
    let _id: String = server.ask(&["XADD", STREAM, "1-5", "field", &long]);
    let _id: String = server.ask(&["XADD", STREAM, "1-6", "field", "short", "more", "fields"]);
    node.publish("2");
    assert_eq!(texts(&node.read(MANY, ALL).unwrap().entries), ["1", "2"]);
    node.follow(ROOM, MANY);
    assert_eq!(node.await_room(2).texts(), ["1", "2"]);
}

#[test]
fn a_key_of_another_type_is_refused_until_it_is_gone() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    let meta = "app!m{room:%7B1%7D}";
    let _set: String = server.ask(&["SET", meta, "x"]);
    assert_eq!(node.append(message("x")), Err(StoreError::Refused));
    assert_eq!(node.read(MANY, ALL), Err(StoreError::Refused));
    node.follow(ROOM, MANY);
    until("the node to be told", || !node.failures().is_empty());
    assert_eq!(node.failures(), [(ROOM.to_vec(), StoreError::Refused)]);
    assert_eq!(node.reports().len(), 1, "{:?}", node.reports());
    let _deleted: usize = server.ask(&["DEL", meta]);
    // it is tried again
    assert_eq!(node.await_room(0).fills, 1);
    assert_eq!(node.publish("x").offset, 1);
    assert_eq!(node.await_room(1).texts(), ["x"]);
    let stats = node.stats();
    assert_eq!((stats.appended, stats.failed, stats.losses), (1, 1, 0));
}

#[test]
fn an_account_needs_the_permissions_of_the_store() {
    let Some(server) = Server::start() else {
        return;
    };
    let rules = [
        "ACL",
        "SETUSER",
        "app",
        "on",
        ">secret",
        "~app!*",
        "resetchannels",
        "&app!*",
        "+@all",
        "-publish",
    ];
    let _set: String = server.ask(&rules);
    let mut config = server.config();
    config.credentials.user = Some("app".to_owned());
    config.credentials.password = Some("secret".to_owned());
    let node = Node::start(&config, 1);
    // it is in the store, but no node was told
    assert_eq!(node.append(message("x")), Err(StoreError::Unknown));
    let _set: String = server.ask(&["ACL", "SETUSER", "app", "+publish"]);
    assert_eq!(node.publish("y").offset, 2);
    // a wrong password
    config.credentials.password = Some("hush-hush".to_owned());
    let stranger = Node::start(&config, 2);
    let refused = stranger.append(Append {
        channel: (*b"other").into(),
        ..message("z")
    });
    assert_eq!(refused, Err(StoreError::Away));
    until("it to be reported", || !stranger.reports().is_empty());
    assert!(!stranger.reports()[0].contains("hush-hush"));
}
