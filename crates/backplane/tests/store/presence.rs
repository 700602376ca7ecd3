//! Members of several nodes: each knows those of all, whatever happens to links, servers and nodes.

use std::time::{Duration, Instant};

use millrace_backplane::Sentinel;

use crate::node::{ROOM, until};
use crate::roll::Attendant;
use crate::scenes::{Home, members, two_nodes};
use crate::server::Server;

impl Home for Server {
    fn lose(&self) {
        let _done: String = self.ask(&["FLUSHALL"]);
    }

    fn holds(&self, counts: &[i64]) -> bool {
        let of_sessions: Vec<String> = self.ask(&["KEYS", "app!s*"]);
        let counted = of_sessions
            .iter()
            .map(|key| self.ask::<i64>(&["HLEN", key]));
        let is_held = counted.collect::<Vec<_>>() == counts;
        let others: Vec<String> = self.ask(&["KEYS", "app![is]*"]);
        is_held && (!counts.is_empty() || others.is_empty())
    }
}

#[test]
fn a_node_that_is_gone_has_no_members_after_fifteen_seconds() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
    nodes[1].follow(b"other");
    nodes[0].enter(b"other", 1, None);
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
    let nodes = two_nodes(&server);
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
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
