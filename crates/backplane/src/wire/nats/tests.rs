//! Conversations with a NATS server, byte by byte.

use bytes::Bytes;
use millrace_core::Kind;
use proptest::prelude::*;

use super::*;
use crate::envelope::Stamp;

const INFO: &[u8] = br#"{"server_id":"N","version":"2.9.10","max_payload":100,"proto":1}"#;

fn wire() -> Nats {
    let credentials = Credentials {
        user: Some("me".to_owned()),
        password: Some("a\"b\n".to_owned()),
        token: None,
        signer: None,
    };
    Nats::new("app", credentials, INFO, 50)
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

fn events(wire: &mut Nats, input: &[u8], piece: usize) -> Result<Vec<String>, WireError> {
    let mut seen = Vec::new();
    let mut buffer = Vec::new();
    let mut out = Vec::new();
    for piece in input.chunks(piece) {
        buffer.extend_from_slice(piece);
        let used = wire.read(&buffer, &mut out, &mut |event| {
            seen.push(match event {
                Event::Message(source, payload) => {
                    format!("{source:?} {}", String::from_utf8_lossy(payload))
                }
                other => format!("{other:?}"),
            });
        })?;
        buffer.drain(..used);
    }
    if !out.is_empty() {
        seen.push(String::from_utf8_lossy(&out).into_owned());
    }
    Ok(seen)
}

#[test]
fn a_conversation_split_anywhere_yields_the_same_events() {
    let room = Topic::Channel((*b"r m").into());
    let pattern = Topic::Pattern((*b"r*").into());
    let input = b"PONG\r\nMSG app.r%20m 2 2\r\nhi\r\nPONG\r\n\
        MSG app.r%20m 1 _INBOX.1 2\r\nho\r\nPING\r\nMSG app.%zz 1 2\r\nno\r\n\
        -ERR 'Permissions Violation for Publish to \"app.r\"'\r\nPONG\r\n";
    for piece in 1..input.len() {
        let mut wire = wire();
        let mut out = Vec::new();
        wire.open(&mut out);
        wire.subscribe(&room, &mut out);
        wire.subscribe(&pattern, &mut out);
        wire.settle(&mut out);
        assert!(wire.publish(&message(b"r", b"x"), &mut out));
        assert!(wire.publish(&message(b"r", b"y"), &mut out));
        wire.settle(&mut out);
        wire.settle(&mut out);
        assert_eq!(wire.unconfirmed(), 2);
        let seen = events(&mut wire, input, piece).unwrap();
        assert_eq!(
            seen,
            [
                "Ready",
                "Channel([114, 32, 109]) hi",
                "Subscribed(Channel([114, 32, 109]))",
                "Subscribed(Pattern([114, 42]))",
                "Any([114, 32, 109]) ho",
                "NotPublished(\"'Permissions Violation for Publish to \\\"app.r\\\"'\")",
                "Published(1)",
                "PONG\r\n",
            ]
        );
    }
}

#[test]
fn commands_have_the_format_of_nats() {
    let mut wire = wire();
    let mut out = Vec::new();
    wire.open(&mut out);
    let text = String::from_utf8_lossy(&out);
    assert!(text.starts_with("CONNECT {\"verbose\":false"), "{text}");
    assert!(
        text.ends_with(",\"user\":\"me\",\"pass\":\"a\\\"b\\u000a\"}\r\nPING\r\n"),
        "{text}"
    );
    out.clear();
    for pattern in [&b"a*"[..], b"b*"] {
        wire.subscribe(&Topic::Pattern(pattern.into()), &mut out);
    }
    wire.subscribe(&Topic::Sharded((*b"r").into()), &mut out);
    wire.subscribe(&Topic::Control, &mut out);
    wire.unsubscribe(&Topic::Pattern((*b"a*").into()), &mut out);
    wire.unsubscribe(&Topic::Sharded((*b"r").into()), &mut out);
    wire.unsubscribe(&Topic::Pattern((*b"b*").into()), &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "SUB app.> 1\r\nSUB app;r 2\r\nSUB app!nodes 3\r\nUNSUB 2\r\nUNSUB 1\r\n"
    );
    out.clear();
    wire.publish(&message(b"r.1", b"body"), &mut out);
    assert!(out.starts_with(b"PUB app.r.1 38\r\n\xffmillrac\x01\x01"));
    assert!(out.ends_with(b"body\r\n"));
    assert!(
        !wire.publish(&message(b"r", &[0; 67]), &mut out),
        "the message is too large"
    );
    assert_eq!(wire.unconfirmed(), 1);
}

#[test]
fn a_topic_that_is_refused_is_not_confirmed() {
    let mut wire = wire();
    let topics = [&b"open"[..], b"secret"].map(|name| Topic::Channel(name.into()));
    let mut out = Vec::new();
    for topic in &topics {
        wire.subscribe(topic, &mut out);
    }
    wire.settle(&mut out);
    let input = b"-ERR 'Permissions Violation for Subscription to \"app.secret\"'\r\nPONG\r\n";
    let seen = events(&mut wire, input, 9).unwrap();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert!(seen[0].starts_with("Refused(Channel([115, 101, 99, 114, 101, 116])"));
    assert_eq!(
        seen[1..],
        ["Ready", "Subscribed(Channel([111, 112, 101, 110]))"]
    );
}

#[test]
fn a_message_that_is_too_long_is_skipped() {
    let mut input = b"MSG app.r 2 1000\r\n".to_vec();
    input.extend_from_slice(&[b'x'; 1000]);
    input.extend_from_slice(b"\r\nMSG app.r 2 2\r\nhi\r\n");
    for piece in [1, 2, 7, 100, input.len()] {
        let mut wire = wire();
        wire.subscribe(&Topic::Channel((*b"r").into()), &mut Vec::new());
        let seen = events(&mut wire, &input, piece).unwrap();
        assert_eq!(seen, ["TooLong", "Channel([114]) hi"]);
    }
}

#[test]
fn a_refusal_or_an_invalid_line_ends_the_link() {
    for (input, is_refused) in [
        (&b"-ERR 'Authorization Violation'\r\n"[..], true),
        (b"-ERR 'Maximum Connections Exceeded'\r\n", false),
        (b"HTTP/1.1 400 Bad Request\r\n", false),
        (b"PONG\r\n", false),
        (b"MSG app.r\r\n", false),
        (b"MSG app.r 2 -1\r\n", false),
        (b"MSG app.r 2 2\r\nhiho", false),
    ] {
        let error = events(&mut wire(), input, 100).unwrap_err();
        assert_eq!(
            matches!(error, WireError::Refused(_)),
            is_refused,
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut wire = wire();
        let mut line = b"MSG ".to_vec();
        line.extend_from_slice(&bytes);
        for input in [&bytes, &line] {
            if let Ok(used) = wire.read(input, &mut Vec::new(), &mut |_| {}) {
                prop_assert!(used <= input.len());
            }
        }
    }
}

#[test]
fn a_subject_longer_than_a_server_takes_is_not_sent() {
    let mut wire = wire();
    let mut out = Vec::new();
    let name = vec![b' '; LONGEST_SUBJECT / 3];
    assert!(!wire.subscribe(&Topic::Channel((*name).into()), &mut out));
    assert!(!wire.publish(&message(&name, b"x"), &mut out));
    assert_eq!(
        (out.len(), wire.unconfirmed(), wire.unanswered()),
        (0, 0, 0)
    );
    let name = vec![b'x'; 3900];
    assert!(wire.subscribe(&Topic::Channel((*name).into()), &mut out));
    assert!(wire.publish(&message(&name, b"x"), &mut out));
    let longest = out.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(longest.unwrap() <= 4096);
}

#[test]
fn a_refused_subject_may_contain_any_words() {
    let mut wire = wire();
    let mut out = Vec::new();
    let channel = Topic::Channel((*b"authorization violation").into());
    let patterns = [&b"a*"[..], b"b*"].map(|text| Topic::Pattern(text.into()));
    wire.subscribe(&channel, &mut out);
    for pattern in &patterns {
        assert!(wire.subscribe(pattern, &mut out));
    }
    wire.settle(&mut out);
    let subject = "app.authorization%20violation";
    let input = format!(
        "-ERR 'Permissions Violation for Subscription to \"{subject}\"'\r\n\
        -ERR 'Permissions Violation for Subscription to \"app.>\"'\r\n\
        -ERR 'Permissions Violation for Publish to \"{subject}\"'\r\nPONG\r\n"
    );
    let mut refused = Vec::new();
    let used = wire.read(input.as_bytes(), &mut out, &mut |event| match event {
        Event::Refused(topic, _) => refused.push(topic),
        Event::Ready => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(used, Ok(input.len()));
    refused.sort();
    assert_eq!(refused, [vec![channel], patterns.to_vec()].concat());
    assert_eq!(wire.unanswered(), 0);
}

#[test]
fn servers_are_reported_and_hosts_only_from_an_encrypted_line() {
    let info = br#"{"max_payload":100,"connect_urls":["10.0.0.1:4222","evil.example:4222"]}"#;
    let mut wire = Nats::new("app", Credentials::default(), info, 50);
    let mut out = Vec::new();
    wire.open(&mut out);
    assert_eq!(events(&mut wire, b"PONG\r\n", 99).unwrap(), ["Ready"]);
    wire.ping(&mut out);
    let told = events(&mut wire, b"PONG\r\n", 99).unwrap();
    let address = r#"Servers([Server { host: "10.0.0.1", port: 4222 }])"#;
    assert_eq!(told, [address]);
    wire.ping(&mut out);
    let later = b"INFO {\"connect_urls\":[\"b.example:4222\"]}\r\nPONG\r\n";
    let told = events(&mut wire, later, 7).unwrap();
    let host = r#"Servers([Server { host: "b.example", port: 4222 }])"#;
    assert_eq!(told, [host]);
}
