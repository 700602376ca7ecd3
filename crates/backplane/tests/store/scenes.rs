//! What happens to the members of several nodes, on any kind of server.

use std::time::Instant;

use crate::node::{ROOM, until};
use crate::roll::{Attendant, Members};
use crate::server::{Server, TIMEOUT};

/// What only tests of members do to a server.
pub(crate) trait Home {
    /// Lets it lose everything, while the links stay.
    fn lose(&self);

    /// Whether it has the members of so many sessions in a channel, or what they are where that can be seen.
    fn holds(&self, counts: &[i64]) -> bool;
}

/// Members: each with its node, its socket and what it says.
pub(crate) fn members(all: &[(u64, u64, &str)]) -> Members {
    let member = |(node, socket, info): &(u64, u64, &str)| {
        let info = (!info.is_empty()).then(|| (*info).to_owned());
        ((*node, *socket), info)
    };
    all.iter().map(member).collect()
}

/// Two nodes with a member each, who know both.
pub(crate) fn two_nodes(server: &Server) -> [Attendant; 2] {
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.enter(ROOM, 7, None);
    }
    for node in &nodes {
        node.await_members(ROOM, &members(&[(1, 7, ""), (2, 7, "")]));
    }
    nodes
}

#[test]
fn each_node_knows_the_members_of_all() {
    let Some(home) = Server::start() else {
        return;
    };
    let nodes = [1, 2, 3].map(|number| Attendant::start(&home.config(), number));
    for node in &nodes[..2] {
        node.follow(ROOM);
        node.await_filled(ROOM);
    }
    nodes[0].enter(ROOM, 5, Some("\"Ada\""));
    nodes[1].enter(ROOM, 5, None);
    let expected = members(&[(1, 5, "\"Ada\""), (2, 5, "")]);
    nodes[0].await_members(ROOM, &expected);
    nodes[1].await_members(ROOM, &expected);
    nodes[2].follow(ROOM);
    nodes[2].await_members(ROOM, &expected);
    nodes[2].enter(ROOM, 9, Some("1"));
    nodes[0].enter(ROOM, 5, Some("\"Eve\""));
    nodes[0].enter(ROOM, 6, Some("2"));
    nodes[1].leave(ROOM, 5);
    let expected = members(&[(1, 5, "\"Eve\""), (1, 6, "2"), (3, 9, "1")]);
    for node in &nodes {
        node.await_members(ROOM, &expected);
        assert_eq!((node.stats().reread, node.stats().rewritten), (0, 0));
    }
    let [first, second, third] = nodes;
    first.end(Instant::now() + TIMEOUT);
    let expected = members(&[(3, 9, "1")]);
    second.await_members(ROOM, &expected);
    third.await_members(ROOM, &expected);
    third.end(Instant::now() + TIMEOUT);
    second.await_members(ROOM, &members(&[]));
    until("nothing to be left", || home.holds(&[]));
}

#[test]
fn members_are_written_again_after_the_store_has_lost_everything() {
    let Some(home) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&home.config(), number));
    let mut expected = Members::new();
    for node in &nodes {
        node.follow(ROOM);
        for socket in 1..=700 {
            node.enter(ROOM, socket, Some("1"));
            expected.insert((node.number, socket), Some("1".to_owned()));
        }
    }
    for node in &nodes {
        node.await_members(ROOM, &expected);
    }
    home.lose();
    for node in &nodes {
        until("another session", || node.stats().sessions > 1);
    }
    until("the store to have them again", || home.holds(&[700, 700]));
    let late = Attendant::start(&home.config(), 3);
    late.follow(ROOM);
    late.await_members(ROOM, &expected);
    for node in &nodes {
        node.await_members(ROOM, &expected);
        assert_eq!(node.left(ROOM), 0, "nobody seemed to leave");
    }
}

#[test]
fn what_a_node_has_missed_is_read_again_after_links_that_break() {
    let Some(home) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&home.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.await_filled(ROOM);
    }
    let mut expected = Members::new();
    for round in 0..200_u64 {
        if round % 20 == 7 {
            home.cut();
        }
        let node = &nodes[usize::try_from(round % 2).expect("it is small")];
        let socket = 1 + round % 17;
        if round % 3 == 0 {
            node.leave(ROOM, socket);
            expected.remove(&(node.number, socket));
        } else {
            let info = round.to_string();
            node.enter(ROOM, socket, Some(&info));
            expected.insert((node.number, socket), Some(info));
        }
        if round % 10 == 0 {
            nodes[0].await_members(ROOM, &expected);
        }
    }
    for node in &nodes {
        node.await_members(ROOM, &expected);
        assert_eq!(node.stats().sessions, 1);
    }
}

#[test]
fn nobody_leaves_when_the_server_is_restarted() {
    let Some(mut home) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&home);
    home.stop();
    until("the loss to be seen", || {
        nodes.iter().all(|node| !node.stats().is_connected)
    });
    nodes[0].enter(ROOM, 8, Some("1"));
    nodes[1].leave(ROOM, 7);
    assert_eq!(
        nodes[0].members(ROOM).len(),
        3,
        "the others stay as they were"
    );
    nodes[0].follow(b"other");
    until("a channel that cannot be followed", || {
        nodes[0].failures(b"other") == 1
    });
    home.start_again();
    let expected = members(&[(1, 7, ""), (1, 8, "1")]);
    for node in &nodes {
        node.await_members(ROOM, &expected);
    }
    nodes[0].await_filled(b"other");
    assert_eq!((nodes[0].left(ROOM), nodes[1].left(ROOM)), (1, 0));
}

#[test]
fn a_hundred_thousand_members_are_read_in_pages() {
    const ALL: u64 = 100_000;
    let Some(home) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&home.config(), number));
    for socket in 1..=ALL {
        nodes[0].enter(ROOM, socket, Some("{\"name\":\"a member\"}"));
    }
    nodes[1].follow(ROOM);
    until("all to be known", || {
        nodes[1].members(ROOM).len() == usize::try_from(ALL).expect("it fits")
    });
    for socket in 1..=ALL {
        nodes[0].leave(ROOM, socket);
    }
    nodes[1].await_members(ROOM, &Members::new());
}
