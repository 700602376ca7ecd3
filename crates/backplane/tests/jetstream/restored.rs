//! Servers whose data is that of a moment ago, as after a failover to one that has not received the last messages.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use millrace_backplane::store::Append;

use crate::node::{MANY, Node, ROOM, await_renewal, check_renewal, message, until};
use crate::server::Server;

/// What a failover does whose new leader has not received the last messages.
#[test]
fn other_messages_under_known_numbers_end_the_epoch_on_all_nodes() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let nodes = [1, 2, 3].map(|number| Node::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    for text in ["0", "1", "2"] {
        nodes[0].publish(text);
    }
    let copy = copied(&mut server);
    for text in ["lost", "lost, too"] {
        until("it to be accepted", || {
            nodes[0].append(message(text)).is_ok()
        });
    }
    for node in &nodes {
        node.await_room(5);
    }
    let before = nodes[0].room();
    restored(&mut server, &copy);
    await_renewal(&nodes, before.position);
    let mut after = None;
    until("the new message to be accepted", || {
        after = nodes[0].append(message("new")).ok();
        after.is_some()
    });
    let after = after.unwrap().position;
    assert_eq!(after.offset, 4);
    check_renewal(&nodes, after, &["0", "1", "2", "new"]);
}

/// Nobody follows the channel, so only who has published, or has followed it before, can know what is lost.
#[test]
fn data_that_is_lost_while_nobody_follows_ends_the_epoch() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let [publisher, former, other] = [1, 2, 3].map(|number| Node::start(&server.config(), number));
    let calls = Cell::new(0_u64);
    let accepted = |node: &Node, text: &str| {
        calls.set(calls.get() + 1);
        // so that it is there once, whatever became of an attempt
        let key: Box<[u8]> = calls.get().to_le_bytes().into();
        let mut position = None;
        until("it to be accepted", || {
            let answer = node.append(Append {
                key: Some(key.clone()),
                ..message(text)
            });
            let answer = answer.ok();
            position = answer.map(|appended| appended.position);
            position.is_some()
        });
        position.unwrap()
    };
    let first = accepted(&publisher, "1");
    // it sees what the server has before it publishes again
    let copy = copied(&mut server);
    let lost = accepted(&publisher, "lost");
    assert_eq!((lost.epoch, lost.offset), (first.epoch, 2));
    restored(&mut server, &copy);
    let after = accepted(&publisher, "new");
    assert_eq!(after.offset, 2);
    assert!(publisher.stats().renewed > 0);
    assert_ne!(after.epoch, first.epoch);
    // it compares when it follows again
    former.follow(ROOM, MANY);
    assert_eq!(former.await_room(2).position, after);
    let copy = copied(&mut server);
    let lost = accepted(&publisher, "lost");
    assert_eq!(former.await_room(3).position, lost);
    former.forget(ROOM);
    until("it to be forgotten", || former.stats().followed == 0);
    restored(&mut server, &copy);
    assert_eq!(accepted(&other, "new"), lost);
    former.follow(ROOM, MANY);
    until("the new epoch", || {
        former.room().position.epoch != after.epoch
    });
    assert_eq!(former.await_room(3).texts(), ["1", "new", "new"]);
    assert_eq!(former.stats().renewed, 1);
}

/// A copy of the data of a server, which goes on then.
fn copied(server: &mut Server) -> PathBuf {
    server.stop();
    let copy = server.copy();
    server.start_again();
    copy
}

/// Gives a server the data of a copy.
fn restored(server: &mut Server, copy: &Path) {
    server.stop();
    server.restore(copy);
    server.start_again();
}
