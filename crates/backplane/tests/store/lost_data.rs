//! Servers that have lost the last messages, as after a failover to one that has not received them.

use millrace_backplane::store::Append;
use millrace_core::{HistoryTerms, Position};

use crate::node::{ALL, MANY, Node, ROOM, await_renewal, check_renewal, message, until};
use crate::server::Server;

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
    await_renewal(&nodes, before.position);
    let after = nodes[0].publish("new");
    assert_eq!(after.offset, 4);
    check_renewal(&nodes, after, &["0", "1", "2", "new"]);
}

/// A client that has seen the lost message is told when it comes back, whatever node it comes to.
fn await_other_epoch(node: &Node, lost: Position) {
    until("the new epoch", || {
        let read = node.read(MANY, ALL).map(|past| past.position.epoch);
        read.is_ok_and(|epoch| epoch != lost.epoch)
    });
}

/// Nobody follows the channel, so only who has published can know what is lost.
#[test]
fn a_node_remembers_what_it_has_published() {
    let Some(server) = Server::start() else {
        return;
    };
    let [publisher, other] = [1, 2].map(|number| Node::start(&server.config(), number));
    // as it was, and after messages of another node
    for others in [0, 1, 3] {
        let first = publisher.publish("1");
        let replicated = Replicated::of(&server);
        let lost = publisher.publish("lost");
        assert_eq!(lost.epoch, first.epoch);
        replicated.is_all(&server);
        for _ in 0..others {
            assert_eq!(other.publish("new").epoch, first.epoch);
        }
        server.cut();
        // what it publishes now is no reason to forget what it knew
        until("the link to be back", || {
            publisher.append(message("own")).is_ok()
        });
        await_other_epoch(&other, lost);
    }
    until("the last one to be counted", || {
        publisher.stats().renewed == 3
    });
    assert_eq!(other.stats().renewed, 0);
}

#[test]
fn a_node_remembers_what_it_has_followed() {
    let Some(server) = Server::start() else {
        return;
    };
    let [former, other] = [1, 2].map(|number| Node::start(&server.config(), number));
    let forget = || {
        former.forget(ROOM);
        until("it to be forgotten", || former.stats().followed == 0);
    };
    for is_cut in [false, true] {
        other.publish("1");
        let replicated = Replicated::of(&server);
        // who has published it is gone
        let publisher = Node::start(&server.config(), 3);
        let lost = publisher.publish("lost");
        drop(publisher);
        former.follow(ROOM, MANY);
        former.await_room(lost.offset);
        forget();
        replicated.is_all(&server);
        assert_eq!(other.publish("new"), lost);
        if is_cut {
            server.cut();
        } else {
            former.follow(ROOM, MANY);
        }
        let renewed = u64::from(is_cut) + 1;
        until("the epoch to end", || former.stats().renewed == renewed);
        await_other_epoch(&former, lost);
        if !is_cut {
            forget();
        }
    }
}

/// Answers come behind what the same server has told meanwhile.
#[test]
fn nothing_is_lost_because_a_node_ceases_to_follow_while_it_publishes() {
    let Some(server) = Server::start() else {
        return;
    };
    let [node, other] = [1, 2].map(|number| Node::start(&server.config(), number));
    let terms = HistoryTerms {
        messages: 50,
        ..MANY
    };
    let append = |text: &str| Append {
        terms,
        ..message(text)
    };
    for round in 0..20 {
        node.follow(ROOM, terms);
        until("it to follow", || node.stats().filled > round);
        let before = node.stats().received;
        let answers: Vec<_> = (0..600).map(|_| node.send(append("own"))).collect();
        let others: Vec<_> = (0..10).map(|_| other.send(append("other"))).collect();
        until("some to come", || {
            node.stats().received > before + 7 * round
        });
        node.forget(ROOM);
        for answer in answers.into_iter().chain(others) {
            answer.recv().unwrap().unwrap();
        }
        until("it to be forgotten", || node.stats().followed == 0);
    }
    for node in [&node, &other] {
        assert_eq!((node.stats().renewed, node.stats().losses), (0, 0));
    }
    // nor because the link is lost
    server.cut();
    for node in [&node, &other] {
        until("the link to be back", || node.append(append("x")).is_ok());
        assert_eq!(node.stats().renewed, 0);
    }
}

#[test]
fn an_empty_channel_has_lost_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    node.follow(ROOM, MANY);
    let before = node.await_room(0).position;
    node.forget(ROOM);
    until("it to be forgotten", || node.stats().followed == 0);
    server.cut();
    until("the link to be back", || node.append(message("x")).is_ok());
    let after = node.read(MANY, ALL).unwrap().position;
    assert_eq!((after.epoch, node.stats().renewed), (before.epoch, 0));
}
