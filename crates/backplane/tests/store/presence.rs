//! Members of several nodes: each knows those of all, whatever happens to links, servers and nodes.

use std::time::{Duration, Instant};

use millrace_backplane::Sentinel;

use crate::node::{ROOM, until};
use crate::roll::{Attendant, Members};
use crate::server::{Server, TIMEOUT};

fn members(all: &[(u64, u64, &str)]) -> Members {
    let member = |(node, socket, info): &(u64, u64, &str)| {
        let info = (!info.is_empty()).then(|| (*info).to_owned());
        ((*node, *socket), info)
    };
    all.iter().map(member).collect()
}

#[test]
fn each_node_knows_the_members_of_all() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2, 3].map(|number| Attendant::start(&server.config(), number));
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
    let keys: Vec<String> = server.ask(&["KEYS", "app![is]*"]);
    assert_eq!(keys, Vec::<String>::new());
}

#[test]
fn members_are_written_again_after_the_store_has_lost_everything() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
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
    let _done: String = server.ask(&["FLUSHALL"]);
    for node in &nodes {
        until("another session", || node.stats().sessions > 1);
    }
    until("the store to have them again", || {
        let keys: Vec<String> = server.ask(&["KEYS", "app!s*"]);
        let counts = keys.iter().map(|key| server.ask::<i64>(&["HLEN", key]));
        counts.collect::<Vec<_>>() == [700, 700]
    });
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    late.await_members(ROOM, &expected);
    for node in &nodes {
        node.await_members(ROOM, &expected);
        assert_eq!(node.left(ROOM), 0, "nobody seemed to leave");
    }
}

#[test]
fn what_a_node_has_missed_is_read_again_after_links_that_break() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.await_filled(ROOM);
    }
    let mut expected = Members::new();
    for round in 0..200_u64 {
        if round % 20 == 7 {
            server.cut();
        }
        let node = &nodes[usize::try_from(round % 2).unwrap()];
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
    let Some(mut server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.enter(ROOM, 7, None);
    }
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
    for node in &nodes {
        node.await_members(ROOM, &expected);
    }
    server.stop();
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
    server.start_again();
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
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for socket in 1..=ALL {
        nodes[0].enter(ROOM, socket, Some("{\"name\":\"a member\"}"));
    }
    nodes[1].follow(ROOM);
    until("all to be known", || {
        nodes[1].members(ROOM).len() == usize::try_from(ALL).unwrap()
    });
    for socket in 1..=ALL {
        nodes[0].leave(ROOM, socket);
    }
    nodes[1].await_members(ROOM, &Members::new());
}

#[test]
fn a_node_that_is_gone_has_no_members_after_fifteen_seconds() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.enter(ROOM, 7, None);
        node.follow(b"other");
    }
    nodes[0].enter(b"other", 1, None);
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
    nodes[0].await_members(ROOM, &expected);
    nodes[1].await_members(ROOM, &expected);
    nodes[1].await_members(b"other", &members(&[(1, 1, "")]));
    // what a killed node leaves: a session that nobody extends
    let foreign = "00000000000000ff-0000000000000001";
    let (index, hash) = (
        "app!i{room:%7B1%7D}",
        format!("app!s{{room:%7B1%7D}}{foreign}"),
    );
    let _new: i64 = server.ask(&["HSET", index, foreign, "3"]);
    let field = 9_u64.to_le_bytes();
    let value = 1_u64.to_le_bytes();
    let _new: i64 = server.ask_bytes(&[&b"HSET"[..], hash.as_bytes(), &field, &value]);
    let began = Instant::now();
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    late.await_filled(ROOM);
    // it never seemed to be there
    assert_eq!(late.members(ROOM), expected);
    until("the store to be clean", || {
        server.ask::<i64>(&["HEXISTS", index, foreign]) == 0
    });
    assert_eq!(server.ask::<i64>(&["EXISTS", &hash]), 0);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn what_other_programs_write_is_no_member() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Attendant::start(&server.config(), number));
    for node in &nodes {
        node.follow(ROOM);
        node.enter(ROOM, 7, None);
    }
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
    nodes[0].await_members(ROOM, &expected);
    nodes[1].await_members(ROOM, &expected);
    let index = "app!i{room:%7B1%7D}";
    let _new: i64 = server.ask(&["HSET", index, "foreign", "1"]);
    for key in server.ask::<Vec<String>>(&["KEYS", "app!s*"]) {
        let _new: i64 = server.ask(&["HSET", &key, "foreign", "x"]);
    }
    let _told: i64 = server.ask(&["PUBLISH", "app!t{room:%7B1%7D}", "foreign"]);
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    late.await_filled(ROOM);
    assert_eq!(late.members(ROOM), expected);
    // a key of another type is refused until it is gone
    let _done: i64 = server.ask(&["DEL", "app!i{other}"]);
    let _new: i64 = server.ask(&["SADD", "app!i{other}", "x"]);
    late.follow(b"other");
    nodes[0].enter(b"other", 1, None);
    until("the refusal", || late.failures(b"other") == 1);
    let _gone: i64 = server.ask(&["DEL", "app!i{other}"]);
    late.await_members(b"other", &members(&[(1, 1, "")]));
    // what is missing in the store is seen when it changes the next time
    let _gone: i64 = server.ask(&["HDEL", index, &session_of(&server, index, 1)]);
    nodes[0].enter(ROOM, 8, None);
    let expected = members(&[(1, 7, ""), (1, 8, ""), (2, 7, "")]);
    for node in [&nodes[0], &nodes[1], &late] {
        node.await_members(ROOM, &expected);
    }
    assert_eq!(nodes[0].stats().sessions, 1);
}

/// The session of a node in an index.
fn session_of(server: &Server, index: &str, node: u64) -> String {
    let sessions: Vec<String> = server.ask(&["HKEYS", index]);
    let node = format!("{node:016x}-");
    let session = sessions.into_iter().find(|one| one.starts_with(&node));
    session.expect("the node has members")
}

#[test]
fn a_sentinel_is_asked_for_the_master_of_the_members() {
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
    let nodes = [
        Attendant::start(&config, 1),
        Attendant::start(&server.config(), 2),
    ];
    nodes[0].enter(ROOM, 7, None);
    nodes[1].follow(ROOM);
    nodes[1].await_members(ROOM, &members(&[(1, 7, "")]));
}
