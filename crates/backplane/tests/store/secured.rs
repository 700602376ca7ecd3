//! Nodes with certificates, whose user may do no more than the store needs. `MILLRACE_TEST_STORE=tls` runs all other tests
//! like this, too.

use std::time::Instant;

use millrace_backplane::store::StoreError;

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::roll::{Attendant, Members};
use crate::server::{Server, TIMEOUT};

#[test]
fn a_node_with_a_certificate_and_few_rights_can_do_everything() {
    let Some(mut server) = Server::start_secure() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    for number in 0..10 {
        nodes[number % 2].publish(&number.to_string());
    }
    for node in &nodes {
        assert_eq!(node.await_room(10).fills, 1);
    }
    server.stop();
    nodes[0].await_connected(false);
    server.start_again();
    nodes[0].await_connected(true);
    assert_eq!(nodes[0].publish("10").offset, 11);
    for node in &nodes {
        let expected: Vec<String> = (0..=10).map(|number| number.to_string()).collect();
        assert_eq!(node.await_room(11).texts(), expected);
    }
    assert_eq!(texts(&nodes[1].read(MANY, ALL).unwrap().entries).len(), 11);
    for node in &nodes {
        // the loss of the link is reported, and nothing else: no command was refused
        assert!(node.reports().len() <= 1, "{:?}", node.reports());
    }
}

#[test]
fn a_node_with_few_rights_can_have_members() {
    let Some(mut server) = Server::start_secure() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    let mut expected = Members::new();
    for node in &nodes {
        node.follow(ROOM);
        for socket in 1..=300 {
            node.enter(ROOM, socket, Some("1"));
            expected.insert((node.number, socket), Some("1".to_owned()));
        }
    }
    for node in &nodes {
        node.await_members(ROOM, &expected);
    }
    server.stop();
    until("the loss to be seen", || !nodes[0].stats().is_connected);
    nodes[0].leave(ROOM, 1);
    expected.remove(&(1, 1));
    server.start_again();
    for node in &nodes {
        node.await_members(ROOM, &expected);
        // the loss of the link is reported, and nothing else: no command was refused
        assert!(node.reports().len() <= 1, "{:?}", node.reports());
    }
    let [first, second] = nodes;
    first.end(Instant::now() + TIMEOUT);
    expected.retain(|(node, _), _| *node == 2);
    second.await_members(ROOM, &expected);
    assert!(second.reports().len() <= 1, "{:?}", second.reports());
}

#[test]
fn without_a_certificate_or_the_password_nothing_is_done() {
    let Some(server) = Server::start_secure() else {
        return;
    };
    let (mut stranger, mut liar) = (server.config(), server.config());
    if let Some(tls) = &mut stranger.tls {
        tls.identity = None;
    }
    liar.credentials.password = Some("wrong".to_owned());
    for config in [stranger, liar] {
        let node = Node::start(&config, 1);
        until("the link to fail", || {
            node.append(message("x")) == Err(StoreError::Away)
        });
        let reports = node.reports();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(!reports[0].contains("wrong"), "{reports:?}");
    }
    let plain = Node::start(&server.plain_config(), 2);
    let past = plain.read(MANY, ALL).unwrap();
    assert_eq!(past.position.offset, 0);
}
