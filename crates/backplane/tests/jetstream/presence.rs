//! Members of several nodes over NATS: the scenes that Redis has to pass, too, and what can happen only here.

use std::time::{Duration, Instant};

use crate::node::{ROOM, until};
use crate::proxy::Proxy;
use crate::roll::Attendant;
use crate::scenes::{Home, members, two_nodes};
use crate::server::{Server, config};

impl Server {
    /// The names of the streams of members and of sessions.
    fn presence_streams(&self) -> [String; 2] {
        let names = self.ask("$JS.API.STREAM.NAMES", "");
        ["millrace-members-", "millrace-sessions-"].map(|beginning| {
            let name = names.split('"').find(|word| word.starts_with(beginning));
            name.expect("there is a stream").to_owned()
        })
    }

    /// How many messages a stream has under these subjects, by subject.
    fn subjects(&self, stream: &str, filter: &str) -> Vec<String> {
        let body = format!("{{\"subjects_filter\":\"{filter}\"}}");
        let info = self.ask(&format!("$JS.API.STREAM.INFO.{stream}"), &body);
        let state = info.split_once("\"state\":").expect("it has a state").1;
        let words = state.split('"').filter(|word| word.starts_with("app!"));
        words.map(str::to_owned).collect()
    }

    fn for_each_presence_stream(&self, verb: &str) {
        for stream in self.presence_streams() {
            let answer = self.ask(&format!("$JS.API.STREAM.{verb}.{stream}"), "");
            assert!(answer.contains("\"success\":true"), "{answer}");
        }
    }
}

impl Home for Server {
    fn lose(&self) {
        self.for_each_presence_stream("PURGE");
    }

    fn holds(&self, counts: &[i64]) -> bool {
        let [stream, _] = self.presence_streams();
        self.subjects(&stream, "app!m.>").len() == counts.len()
    }
}

#[test]
fn a_node_that_is_gone_has_no_members_after_fifteen_seconds_until_it_is_back() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    let proxy = Proxy::start(server.address().port);
    let third = Attendant::start(&config(proxy.port()), 3);
    third.follow(ROOM);
    third.enter(ROOM, 9, Some("1"));
    // a channel that nobody else follows
    third.enter(b"other", 1, None);
    let all = members(&[(1, 7, ""), (2, 7, ""), (3, 9, "1")]);
    for node in [&nodes[0], &nodes[1], &third] {
        node.await_members(ROOM, &all);
    }
    let [stream, _] = server.presence_streams();
    until("the other channel to be written", || {
        server.subjects(&stream, "app!m.other.*").len() == 1
    });
    let began = Instant::now();
    proxy.close(true);
    let rest = members(&[(1, 7, ""), (2, 7, "")]);
    for node in &nodes {
        node.await_members(ROOM, &rest);
    }
    assert!(began.elapsed() < Duration::from_secs(15));
    until("the server to be clean", || {
        server.subjects(&stream, "app!m.>").len() == 2
    });
    let late = Attendant::start(&server.config(), 4);
    late.follow(ROOM);
    late.await_filled(ROOM);
    assert_eq!(late.members(ROOM), rest, "it never seemed to be there");
    proxy.close(false);
    for node in [&nodes[0], &nodes[1], &third, &late] {
        node.await_members(ROOM, &all);
    }
    assert_eq!((third.stats().sessions, third.left(ROOM)), (2, 0));
}

#[test]
fn streams_that_are_deleted_are_made_again_and_nobody_leaves() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    server.for_each_presence_stream("DELETE");
    for node in &nodes {
        // one that beats behind the other finds the streams made again, and its session gone
        until("a new link or a new session", || {
            let stats = node.stats();
            stats.is_connected && (stats.losses > 0 || stats.sessions > 1)
        });
    }
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    nodes[0].enter(ROOM, 8, None);
    let expected = members(&[(1, 7, ""), (1, 8, ""), (2, 7, "")]);
    for node in [&nodes[0], &nodes[1], &late] {
        node.await_members(ROOM, &expected);
    }
    assert_eq!((nodes[0].left(ROOM), nodes[1].left(ROOM)), (0, 0));
}

#[test]
fn members_alone_that_are_lost_are_written_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    let [stream, _] = server.presence_streams();
    for verb in ["PURGE", "DELETE"] {
        let answer = server.ask(&format!("$JS.API.STREAM.{verb}.{stream}"), "");
        assert!(answer.contains("\"success\":true"), "{answer}");
        let late = Attendant::start(&server.config(), 3);
        late.follow(ROOM);
        for node in [&nodes[0], &nodes[1], &late] {
            node.await_members(ROOM, &members(&[(1, 7, ""), (2, 7, "")]));
        }
        assert_eq!((nodes[0].left(ROOM), nodes[1].left(ROOM)), (0, 0));
    }
    assert_eq!(
        (nodes[0].stats().sessions, nodes[1].stats().sessions),
        (1, 1)
    );
}

#[test]
fn a_log_that_has_grown_is_shortened_without_being_read_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    let [stream, _] = server.presence_streams();
    let info = || server.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
    for round in 1..=40 {
        for socket in 100..200 {
            nodes[0].enter(ROOM, socket, Some(&round.to_string()));
        }
        until("the round to be known", || {
            let known = nodes[1].members(ROOM);
            known.get(&(1, 199)).cloned().flatten() == Some(round.to_string())
        });
    }
    let last: u64 = number(&info(), "\"last_seq\":");
    let kept: u64 = number(&info(), "\"messages\":");
    assert!(kept < last, "{kept} of {last}");
    for socket in 100..200 {
        nodes[0].leave(ROOM, socket);
    }
    let expected = members(&[(1, 7, ""), (2, 7, "")]);
    nodes[1].await_members(ROOM, &expected);
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    late.await_members(ROOM, &expected);
    let (stats, rewritten) = (nodes[1].stats(), nodes[0].stats().rewritten);
    assert_eq!((stats.reread, rewritten), (0, 0));
}

/// The number behind a name in JSON.
fn number(json: &str, name: &str) -> u64 {
    let rest = json.split_once(name).expect("it is there").1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("it is a number")
}

#[test]
fn what_other_programs_write_is_no_member() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = two_nodes(&server);
    let [stream, sessions] = server.presence_streams();
    for told in server.subjects(&stream, "app!m.>") {
        server.publish(&told.replace("!m.", "!u."), b"foreign");
        server.publish(&told, b"foreign");
    }
    server.publish("app!l.foreign", b"");
    until("the message to be kept", || {
        server.subjects(&sessions, "app!l.foreign").len() == 1
    });
    server.publish("app!g", b"foreign");
    let late = Attendant::start(&server.config(), 3);
    late.follow(ROOM);
    nodes[0].enter(ROOM, 8, None);
    let expected = members(&[(1, 7, ""), (1, 8, ""), (2, 7, "")]);
    for node in [&nodes[0], &nodes[1], &late] {
        node.await_members(ROOM, &expected);
        assert_eq!(node.left(ROOM), 0);
    }
    let reports = nodes[0].reports();
    let is_it = |report: &String| report.contains("another program publishes");
    assert!(reports.iter().any(is_it), "{reports:?}");
}

#[test]
fn a_server_without_jetstream_or_with_little_room_is_told() {
    for (lines, expected) in [
        ("", "channels with presence need JetStream"),
        ("jetstream {}\nmax_payload: 64KB", "its max_payload is less"),
    ] {
        let Some(server) = Server::with(lines) else {
            return;
        };
        let node = Attendant::start(&server.config(), 1);
        node.follow(ROOM);
        until("the failure", || node.failures(ROOM) == 1);
        until("the report", || !node.reports().is_empty());
        let reports = node.reports();
        assert!(reports[0].contains(expected), "{reports:?}");
    }
}

#[test]
fn a_channel_whose_name_is_too_long_is_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Attendant::start(&server.config(), 1);
    let long = [b'x'; 4000];
    node.follow(&long);
    until("the refusal", || node.failures(&long) == 1);
    node.follow(ROOM);
    node.await_filled(ROOM);
}
