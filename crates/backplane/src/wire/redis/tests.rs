//! Conversations with a Redis server, byte by byte.

use bytes::Bytes;
use millrace_core::Kind;

use super::*;
use crate::envelope::{Content, Stamp};

fn wire(is_cluster: bool) -> Redis {
    let credentials = Credentials {
        user: Some("me".to_owned()),
        password: Some("secret".to_owned()),
        token: None,
        signer: None,
    };
    Redis::new("app", credentials, is_cluster, 100)
}

fn message(channel: &[u8], body: &'static [u8]) -> Outgoing {
    Outgoing {
        is_sharded: false,
        channel: channel.into(),
        content: Content::Message(Kind::Binary),
        stamp: Stamp {
            node: 1,
            stream: 1,
            number: 1,
        },
        body: Bytes::from_static(body),
    }
}

/// The events for the input, fed in pieces of this size.
fn events(wire: &mut Redis, input: &[u8], piece: usize) -> Result<Vec<String>, WireError> {
    let mut seen = Vec::new();
    let mut buffer = Vec::new();
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        let used = wire.read(&buffer, &mut Vec::new(), &mut |event| {
            seen.push(match event {
                Event::Message(source, payload) => {
                    format!("{source:?} {}", String::from_utf8_lossy(payload))
                }
                other => format!("{other:?}"),
            });
        })?;
        buffer.drain(..used);
    }
    Ok(seen)
}

#[test]
fn a_conversation_split_anywhere_yields_the_same_events() {
    let room = Topic::Channel((*b"r").into());
    let input = b"%1\r\n+server\r\n+redis\r\n\
        >3\r\n$9\r\nsubscribe\r\n$5\r\napp:r\r\n:1\r\n\
        >3\r\n$7\r\nmessage\r\n$5\r\napp:r\r\n$2\r\nhi\r\n\
        :3\r\n+PONG\r\n\
        >4\r\n$8\r\npmessage\r\n$5\r\napp:*\r\n$5\r\napp:r\r\n$2\r\nho\r\n\
        >3\r\n$7\r\nmessage\r\n$9\r\napp!nodes\r\n$1\r\nn\r\n\
        >3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$1\r\nn\r\n\
        >3\r\n$8\r\nsmessage\r\n$5\r\napp:r\r\n$1\r\ns\r\n\
        >3\r\n$11\r\nunsubscribe\r\n$5\r\napp:r\r\n:0\r\n\
        -NOPERM no\r\n";
    for piece in 1..input.len() {
        let mut wire = wire(false);
        let mut out = Vec::new();
        wire.open(&mut out);
        wire.subscribe(&room, &mut out);
        assert!(wire.publish(&message(b"r", b"x"), &mut out));
        wire.ping(&mut out);
        wire.unsubscribe(&room, &mut out);
        assert!(wire.publish(&message(b"r", b"x"), &mut out));
        assert_eq!(wire.unconfirmed(), 2);
        let seen = events(&mut wire, input, piece).unwrap();
        assert_eq!(
            seen,
            [
                "Ready",
                "Subscribed(Channel([114]))",
                "Channel([114]) hi",
                "Published(1)",
                "Pattern([42], [114]) ho",
                "Control n",
                "Sharded([114]) s",
                "Unsubscribed(Channel([114]))",
                "NotPublished(\"NOPERM no\")",
            ]
        );
        assert_eq!(wire.unconfirmed(), 0);
    }
}

#[test]
fn commands_have_the_format_of_redis() {
    let mut wire = wire(false);
    let mut out = Vec::new();
    wire.open(&mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$6\r\nsecret\r\n$7\r\nSETNAME\r\n$8\r\nmillrace\r\n"
    );
    out.clear();
    wire.publish(&message(b"r", b"body"), &mut out);
    assert!(out.starts_with(b"*3\r\n$7\r\nPUBLISH\r\n$5\r\napp:r\r\n$38\r\n\xffmillrac\x01\x01"));
    assert!(out.ends_with(b"body\r\n"));
    out.clear();
    wire.subscribe(&Topic::Pattern((*b"r*").into()), &mut out);
    wire.unsubscribe(&Topic::Sharded((*b"r").into()), &mut out);
    wire.subscribe(&Topic::Control, &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "*2\r\n$10\r\nPSUBSCRIBE\r\n$6\r\napp:r*\r\n*2\r\n$12\r\nSUNSUBSCRIBE\r\n$5\r\napp:r\r\n\
        *2\r\n$9\r\nSUBSCRIBE\r\n$9\r\napp!nodes\r\n"
    );
}

#[test]
fn a_message_that_is_too_long_is_skipped() {
    let mut input = b">3\r\n$7\r\nmessage\r\n$5\r\napp:r\r\n$1000\r\n".to_vec();
    input.extend_from_slice(&[b'x'; 1000]);
    input.extend_from_slice(b"\r\n>3\r\n$7\r\nmessage\r\n$5\r\napp:r\r\n$2\r\nhi\r\n");
    for piece in [1, 2, 7, 100, input.len()] {
        let seen = events(&mut wire(false), &input, piece).unwrap();
        assert_eq!(seen, ["TooLong", "Channel([114]) hi"]);
    }
}

#[test]
fn a_cluster_reports_its_slots() {
    let mut wire = wire(true);
    let mut out = Vec::new();
    wire.open(&mut out);
    let room = Topic::Channel((*b"r").into());
    wire.subscribe(&room, &mut out);
    wire.publish(&message(b"r", b"x"), &mut out);
    assert!(String::from_utf8_lossy(&out).contains("$10\r\nSSUBSCRIBE\r\n"));
    assert!(String::from_utf8_lossy(&out).contains("$8\r\nSPUBLISH\r\n"));
    let input = b"%0\r\n\
        *1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n\
        -MOVED 5 127.0.0.1:7001\r\n-MOVED 5 127.0.0.1:7001\r\n\
        >3\r\n$12\r\nsunsubscribe\r\n$5\r\napp:q\r\n:0\r\n";
    let seen = events(&mut wire, input, 5).unwrap();
    assert_eq!(
        seen,
        [
            "Ready",
            "Slots([SlotRange { first: 0, last: 16383, host: \"127.0.0.1\", port: 7000 }])",
            "Unsubscribed(Channel([114]))",
            "Moved",
            "Moved",
            "NotPublished(\"MOVED 5 127.0.0.1:7001\")",
            "Unsubscribed(Channel([113]))",
            "Moved",
        ]
    );
}

#[test]
fn a_refusal_or_an_invalid_reply_ends_the_link() {
    let mut opened = wire(false);
    opened.open(&mut Vec::new());
    assert_eq!(
        events(&mut opened, b"-WRONGPASS no\r\n", 3),
        Err(WireError::Refused("WRONGPASS no".to_owned()))
    );
    assert!(events(&mut wire(false), b"+OK\r\n", 3).is_err());
    assert!(events(&mut wire(false), b"GET / HTTP/1.1\r\n", 3).is_err());
    let asked = b">3\r\n$9\r\nsubscribe\r\n$5\r\napp:r\r\n:1\r\n";
    assert!(events(&mut wire(false), asked, 3).is_err());
    let mut subscribed = wire(false);
    subscribed.subscribe(&Topic::Control, &mut Vec::new());
    assert!(events(&mut subscribed, b":1\r\n", 3).is_err());
}

#[test]
fn a_name_that_is_too_long_is_skipped_with_its_message() {
    let long = vec![b'x'; 70_000];
    let bulk = |text: &[u8]| {
        let length = text.len().to_string();
        [b"$", length.as_bytes(), b"\r\n", text, b"\r\n"].concat()
    };
    let body = vec![b'y'; 1000];
    for payload in [&b"hi"[..], &body] {
        let parts = [
            b">4\r\n".to_vec(),
            bulk(b"pmessage"),
            bulk(b"app:*"),
            bulk(&long),
            bulk(payload),
            b">3\r\n".to_vec(),
            bulk(b"message"),
            bulk(b"app:r"),
            bulk(b"hi"),
        ];
        let input = parts.concat();
        for piece in [1000, 65_537, input.len()] {
            let mut wire = Redis::new("app", Credentials::default(), false, 100);
            let seen = events(&mut wire, &input, piece).unwrap();
            assert_eq!(seen, ["TooLong", "Channel([114]) hi"]);
        }
    }
    let name = vec![b'r'; 60_000];
    let topic = Topic::Channel((*name).into());
    let mut wire = Redis::new("app", Credentials::default(), false, 100);
    wire.subscribe(&topic, &mut Vec::new());
    let named = [b"app:", &name[..]].concat();
    let input = [&b">3\r\n$9\r\nsubscribe\r\n"[..], &bulk(&named), b":1\r\n"].concat();
    let seen = events(&mut wire, &input, input.len()).unwrap();
    assert_eq!(seen.len(), 1, "names may be longer than messages");
    assert!(seen[0].starts_with("Subscribed"));
}

#[test]
fn a_reply_that_is_too_long_ends_the_link() {
    for input in [
        &b"$2000\r\n"[..],
        b"*1\r\n$2000\r\n",
        b">9\r\n$70000\r\n",
        b">1\r\n*2\r\n$70000\r\n",
    ] {
        let outcome = events(&mut wire(false), input, input.len());
        assert!(matches!(outcome, Err(WireError::Protocol(_))), "{input:?}");
    }
}

#[test]
fn a_server_that_cannot_connect_nodes_is_refused() {
    let hello = |mode: &str, role: &str| {
        let input = format!("%3\r\n+proto\r\n:3\r\n+mode\r\n+{mode}\r\n+role\r\n+{role}\r\n");
        let mut wire = wire(false);
        wire.open(&mut Vec::new());
        events(&mut wire, input.as_bytes(), input.len())
    };
    for (mode, role) in [
        ("standalone", "master"),
        ("cluster", "replica"),
        ("new", "new"),
    ] {
        assert_eq!(hello(mode, role).unwrap(), ["Ready"]);
    }
    for (mode, role) in [("standalone", "replica"), ("sentinel", "master")] {
        assert!(matches!(hello(mode, role), Err(WireError::Refused(_))));
    }
}
