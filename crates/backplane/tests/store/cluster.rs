//! A cluster: channels on all of its masters, a slot that moves, and a master that goes.

use millrace_backplane::store::{Append, StoreError};
use millrace_backplane::{Config, Protocol};

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::roll::{Attendant, Members};
use crate::server::Server;

const STREAM: &str = "app!h{room:%7B1%7D}";

/// Three masters that share the slots; `None` if there is no program for them.
fn cluster() -> Option<[Server; 3]> {
    let servers = [
        Server::start_cluster_node()?,
        Server::start_cluster_node()?,
        Server::start_cluster_node()?,
    ];
    let slots = [("0", "5000"), ("5001", "10000"), ("10001", "16383")];
    for (server, (first, last)) in servers.iter().zip(slots) {
        let _added: String = server.ask(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
    }
    for other in &servers[1..] {
        let [port, bus] = other.ports();
        let _met: String = servers[0].ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
    }
    until("the cluster to work", || {
        servers.iter().all(|server| {
            let info: String = server.ask(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        })
    });
    Some(servers)
}

fn config(server: &Server) -> Config {
    Config {
        protocol: Protocol::RedisCluster,
        ..server.config()
    }
}

#[test]
fn channels_are_on_all_masters_of_a_cluster() {
    let Some(servers) = cluster() else {
        return;
    };
    let nodes = [
        Node::start(&config(&servers[0]), 1),
        Node::start(&config(&servers[2]), 2),
    ];
    let channels: Vec<Vec<u8>> = (0..20_u8)
        .map(|number| format!("{{{number}}}:{number}").into_bytes())
        .collect();
    for channel in &channels {
        for node in &nodes {
            node.follow(channel, MANY);
        }
    }
    let mut answers = Vec::new();
    for number in 0..50_u64 {
        for channel in &channels {
            for node in &nodes {
                answers.push(node.send(Append {
                    channel: (**channel).into(),
                    ..message(&number.to_string())
                }));
            }
        }
    }
    for answer in answers {
        answer.recv().unwrap().unwrap();
    }
    for channel in &channels {
        let views = nodes.each_ref().map(|node| {
            until("all to arrive", || {
                node.view(channel)
                    .is_some_and(|view| view.position.offset == 100)
            });
            node.view(channel).unwrap()
        });
        assert_eq!(views[0].position, views[1].position);
        let newest = views[0].entries.len().min(views[1].entries.len());
        assert_eq!(newest, 100);
        assert_eq!(views[0].entries, views[1].entries);
    }
    for server in &servers {
        let keys: usize = server.ask(&["DBSIZE"]);
        assert!(keys >= 2, "{keys}");
    }
    for node in &nodes {
        let stats = node.stats();
        assert_eq!((stats.appended, stats.reread, stats.losses), (1000, 0, 0));
    }
    // forgotten and followed again
    nodes[0].forget(&channels[0]);
    until("it to be forgotten", || nodes[0].stats().followed == 19);
    nodes[0].follow(&channels[0], MANY);
    until("it to be filled again", || {
        nodes[0].view(&channels[0]).unwrap().fills == 2
    });
}

#[test]
fn members_are_on_all_masters_of_a_cluster_and_written_again_by_all() {
    let Some(servers) = cluster() else {
        return;
    };
    let nodes = [
        Attendant::start(&config(&servers[0]), 1),
        Attendant::start(&config(&servers[2]), 2),
    ];
    let channels: Vec<Vec<u8>> = (0..20_u8)
        .map(|number| format!("{{{number}}}:{number}").into_bytes())
        .collect();
    let mut expected = Members::new();
    for node in &nodes {
        expected.insert((node.number, 7), Some("1".to_owned()));
        for channel in &channels {
            node.follow(channel);
            node.enter(channel, 7, Some("1"));
        }
    }
    let agree = || {
        for node in &nodes {
            for channel in &channels {
                node.await_members(channel, &expected);
            }
        }
    };
    agree();
    let whole = servers.each_ref().map(hashes);
    assert!(whole.iter().all(|count| *count >= 4), "{whole:?}");
    let is_settled = || {
        let marked = marks(&servers[0]);
        let has_all = |(server, whole)| marks(server) == marked && hashes(server) == whole;
        marked.len() == nodes.len() && servers.iter().zip(whole).all(has_all)
    };
    // each of them may lose what it has, whether it has the sessions or not
    for server in &servers {
        // what is not marked yet can be lost unnoticed, but then it is not written yet either
        until("all servers to have all of the same sessions", is_settled);
        let sessions = nodes.each_ref().map(|node| node.stats().sessions);
        let _done: String = server.ask(&["FLUSHALL"]);
        for (node, sessions) in nodes.iter().zip(sessions) {
            until("another session", || node.stats().sessions > sessions);
        }
    }
    until("all servers to have all again", is_settled);
    let late = Attendant::start(&config(&servers[1]), 3);
    for channel in &channels {
        late.follow(channel);
        late.await_members(channel, &expected);
    }
    agree();
    for node in &nodes {
        assert_eq!((node.left(&channels[0]), node.stats().losses), (0, 0));
    }
}

/// How many hashes of members a server has.
fn hashes(server: &Server) -> usize {
    server.ask::<Vec<String>>(&["KEYS", "app!s*"]).len()
}

/// The sessions that have marked a server.
fn marks(server: &Server) -> Vec<String> {
    let keys: Vec<String> = server.ask(&["KEYS", "app!c*"]);
    let mark = |key: &String| server.ask::<Option<String>>(&["GET", key]);
    let mut marks: Vec<String> = keys.iter().filter_map(mark).collect();
    marks.sort();
    marks
}

/// The server with the slot of the room, and two others.
fn owner(servers: &[Server; 3], slot: &str) -> [usize; 3] {
    let number: usize = slot.parse().expect("it is a number");
    let owner = [5000, 10_000].iter().filter(|last| number > **last).count();
    [
        owner,
        (owner + 1) % servers.len(),
        (owner + 2) % servers.len(),
    ]
}

fn keyed(number: u64) -> Append {
    Append {
        key: Some(number.to_le_bytes().into()),
        ..message(&number.to_string())
    }
}

/// Moves the slot of the room to another master, as operators do. Returns the place of that.
fn move_slot(servers: &[Server; 3]) -> usize {
    let slot: usize = servers[0].ask(&["CLUSTER", "KEYSLOT", STREAM]);
    let slot = slot.to_string();
    let [from, to, _] = owner(servers, &slot);
    let [source, target] = [from, to].map(|index| {
        let id: String = servers[index].ask(&["CLUSTER", "MYID"]);
        id
    });
    let set = |server: &Server, what: &str, id: &str| {
        let _set: String = server.ask(&["CLUSTER", "SETSLOT", &slot, what, id]);
    };
    set(&servers[to], "IMPORTING", &source);
    set(&servers[from], "MIGRATING", &target);
    let keys: Vec<String> = servers[from].ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "10"]);
    let [port, _] = servers[to].ports();
    let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
    words.extend(keys.iter().map(String::as_str));
    let _moved: String = servers[from].ask(&words);
    for index in [to, from, 3 - from - to] {
        set(&servers[index], "NODE", &target);
    }
    to
}

/// The server tells subscribers by a push that the slot has moved, in the middle of answers: none may be taken for that of
/// another message.
#[test]
fn a_slot_moves_without_a_missing_message_or_a_wrong_answer() {
    let Some(servers) = cluster() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&config(&servers[0]), number));
    for node in &nodes {
        node.follow(ROOM, MANY);
        node.await_room(0);
    }
    let (mut answers, mut to) = (Vec::new(), 0);
    for number in 0..3000_u64 {
        answers.push(nodes[0].send(keyed(number)));
        if number == 1500 {
            to = move_slot(&servers);
        }
    }
    let mut positions = Vec::new();
    for (number, answer) in (0..).zip(answers) {
        let mut appended = answer.recv().unwrap().ok();
        until("the message to be accepted", || {
            appended = appended.or_else(|| nodes[0].append(keyed(number)).ok());
            appended.is_some()
        });
        positions.extend(appended.map(|appended| appended.position.offset));
    }
    for node in &nodes {
        let view = node.await_room(3000);
        assert_eq!(view.fills, 1);
        let texts = view.texts();
        for (number, offset) in positions.iter().enumerate() {
            let index = usize::try_from(*offset).unwrap() - 1;
            assert_eq!(texts[index], number.to_string());
        }
        assert_eq!(node.stats().renewed, 0);
        assert!(node.stats().losses > 0);
    }
    let past = nodes[1].read(MANY, ALL).unwrap();
    assert_eq!(texts(&past.entries), nodes[1].room().texts());
    let length: usize = servers[to].ask(&["XLEN", STREAM]);
    assert_eq!(length, 3000);
}

#[test]
fn a_cluster_without_all_masters_is_away() {
    let Some(mut servers) = cluster() else {
        return;
    };
    let node = Node::start(&config(&servers[0]), 1);
    node.follow(ROOM, MANY);
    node.await_room(0);
    node.publish("x");
    servers[1].stop();
    node.await_connected(false);
    assert_eq!(node.append(message("y")), Err(StoreError::Away));
    servers[1].start_again();
    until("the message to be accepted", || {
        node.append(message("y")).is_ok()
    });
    let view = node.await_room(2);
    assert_eq!(
        (view.texts(), view.fills),
        (vec!["x".to_owned(), "y".to_owned()], 1)
    );
}

#[test]
fn kinds_of_servers_are_not_mixed_up() {
    let (Some(single), Some(node)) = (Server::start(), Server::start_cluster_node()) else {
        return;
    };
    for config in [config(&single), node.config()] {
        let stranger = Node::start(&config, 1);
        assert_eq!(stranger.append(message("x")), Err(StoreError::Away));
        until("it to be reported", || !stranger.reports().is_empty());
        let reports = stranger.reports();
        assert!(reports[0].contains("cluster"), "{reports:?}");
    }
}
