//! One order, equal offsets, and messages that are not published twice.

use millrace_backplane::KeptChannels;
use millrace_backplane::store::{Append, Range, StoreError};
use millrace_core::{HistoryTerms, Kind};

use crate::node::{ALL, MANY, Node, ROOM, message, texts, until};
use crate::server::Server;

#[test]
fn all_nodes_see_the_same_numbers_in_the_same_order() {
    let Some(server) = Server::start() else {
        return;
    };
    let nodes = [1, 2].map(|number| Node::start(&server.config(), number));
    nodes[0].follow(ROOM, MANY);
    nodes[0].await_room(0);
    // one follows in the middle
    let mut answers = Vec::new();
    for number in 0..400_u64 {
        if number == 100 {
            nodes[1].follow(ROOM, MANY);
        }
        for (node, mark) in nodes.iter().zip([number + 1, number + 1001]) {
            let mut message = message(&mark.to_string());
            (message.mark, message.from) = (mark, Some(mark));
            answers.push((mark, node.send(message)));
        }
    }
    let views = [nodes[0].await_room(800), nodes[1].await_room(800)];
    assert_eq!(views[0].position, views[1].position);
    assert_eq!(views[0].texts(), views[1].texts());
    for (view, own) in views.iter().zip([1_u64, 2]) {
        assert_eq!((view.fills, view.entries.len()), (1, 800));
        for entry in &view.entries {
            let text = String::from_utf8(entry.payload.to_vec()).unwrap();
            let mark: u64 = text.parse().unwrap();
            let node = 1 + u64::from(mark > 1000);
            assert_eq!(entry.from, Some((node, mark)));
            assert_eq!(entry.mark, if node == own { mark } else { 0 });
        }
    }
    for (mark, answer) in answers {
        let position = answer.recv().unwrap().unwrap().position;
        assert_eq!(position.epoch, views[0].position.epoch);
        let index = usize::try_from(position.offset).unwrap() - 1;
        assert_eq!(views[0].texts()[index], mark.to_string());
    }
    for node in &nodes {
        let stats = node.stats();
        assert_eq!((stats.appended, stats.failed, stats.renewed), (400, 0, 0));
        assert_eq!((stats.followed, stats.filled), (1, 1));
        assert_eq!(stats.waiting_bytes, 0);
        assert!(node.flushes() > 0);
    }
    // each node's messages have the order in which it has published them
    let all: Vec<u64> = views[0]
        .texts()
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    assert!(all.iter().filter(|mark| **mark <= 1000).is_sorted());
    assert!(all.iter().filter(|mark| **mark > 1000).is_sorted());
}

#[test]
fn binary_messages_and_channels_of_any_name_arrive_as_they_were() {
    let Some(server) = Server::start() else {
        return;
    };
    let mut config = server.config();
    // only the empty pattern matches the empty name
    config.histories.push(KeptChannels {
        pattern: (*b"").into(),
        terms: MANY,
    });
    let node = Node::start(&config, 1);
    for channel in [&b"{a}%7B\x00\xff"[..], b"", b"* >.\"\\"] {
        node.follow(channel, MANY);
        for payload in [&b"\x00\xff\r\n"[..], b""] {
            let appended = node.append(Append {
                channel: channel.into(),
                kind: Kind::Binary,
                payload: bytes::Bytes::from_static(payload),
                ..message("")
            });
            appended.unwrap();
        }
        until("both to arrive", || {
            node.view(channel)
                .is_some_and(|view| view.position.offset == 2)
        });
        let entries = node.view(channel).unwrap().entries;
        assert_eq!(&*entries[0].payload, b"\x00\xff\r\n");
        assert_eq!(&*entries[1].payload, b"");
        assert!(entries.iter().all(|entry| entry.kind == Kind::Binary));
    }
}

#[test]
fn a_key_publishes_once_while_its_message_is_kept() {
    let Some(server) = Server::start() else {
        return;
    };
    let terms = HistoryTerms {
        messages: 5,
        ..MANY
    };
    let mut config = server.config();
    config.histories[0].terms = terms;
    config.histories.insert(
        0,
        KeptChannels {
            pattern: (*b"long:*").into(),
            terms: MANY,
        },
    );
    let nodes = [1, 2].map(|number| Node::start(&config, number));
    let keyed = |key: &str| Append {
        key: Some(key.as_bytes().into()),
        terms,
        ..message(key)
    };
    let first = nodes[0].append(keyed("a"));
    let first = first.unwrap_or_else(|error| panic!("{error:?}: {:?}", nodes[0].reports()));
    for number in 0..4 {
        let again = nodes[1].append(keyed("a")).unwrap();
        assert_eq!(again.position, first.position);
        assert!(again.is_repeated && !first.is_repeated);
        nodes[1].append(keyed(&format!("b{number}"))).unwrap();
    }
    // four have come since, the fifth lets it go
    nodes[1].append(keyed("b4")).unwrap();
    for round in [false, true, true] {
        let again = nodes[1].append(keyed("a")).unwrap();
        assert_eq!((again.is_repeated, again.position.offset), (round, 7));
    }
    assert_eq!(nodes[1].stats().repeated, 6);
    let answers: Vec<_> = (0..100)
        .map(|number| {
            let node = &nodes[number % 2];
            node.send(Append {
                channel: (*b"long:1").into(),
                terms: MANY,
                ..keyed(&format!("c{}", number / 2))
            })
        })
        .collect();
    let answers = answers.into_iter().map(|answer| answer.recv().unwrap());
    let repeated = answers.filter(|answer| answer.unwrap().is_repeated);
    assert_eq!(repeated.count(), 50);
    let long = Append {
        key: Some([b'x'; 65].into()),
        ..message("x")
    };
    assert_eq!(nodes[0].append(long), Err(StoreError::Refused));
}

#[test]
fn a_channel_that_is_followed_again_is_filled_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let node = Node::start(&server.config(), 1);
    for round in 1..=20 {
        node.follow(ROOM, MANY);
        until("the room to be filled", || {
            node.view(ROOM).is_some_and(|view| view.fills == round)
        });
        node.publish("x");
        // both before the task looks
        node.forget(ROOM);
    }
    until("the room to be forgotten", || node.stats().followed == 0);
    let fills = node.room().fills;
    node.publish("y");
    assert_eq!(
        (node.room().fills, node.room().position.offset < 21),
        (fills, true)
    );
    let past = node.read(MANY, Range { after: 20, ..ALL }).unwrap();
    assert_eq!(texts(&past.entries), ["y"]);
}
