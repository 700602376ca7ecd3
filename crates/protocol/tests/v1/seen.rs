//! What well-formed messages mean, and how the server's messages look.

use std::borrow::Cow;

use millrace_protocol::v1::{
    Code, Id, Mark, MemberEvent, Okay, Operation, Publication, Since, Start, append_call,
    append_count, append_direct, append_error, append_gap, append_hi, append_members, append_pong,
    append_subscribed, decode,
};

use crate::operation;

fn text(value: &str) -> Cow<'_, str> {
    Cow::Borrowed(value)
}

fn room() -> Cow<'static, [u8]> {
    Cow::Borrowed(b"room:1")
}

#[test]
fn subscriptions_and_publications_are_read() {
    let id = Id::Number;
    let since = |offset| Since {
        epoch: text("k3"),
        offset,
    };
    for (header, expected) in [
        (
            r#"{"t":"sub","id":1,"c":"room:1"}"#,
            Operation::Subscribe {
                id: id(1),
                channel: room(),
                start: None,
                info: None,
            },
        ),
        (
            r#"{"t":"sub","id":1,"c":"room:1","since":{"e":"k3","o":12},"info":{"a":[1, 2]}}"#,
            Operation::Subscribe {
                id: id(1),
                channel: room(),
                start: Some(Start::Since(since(12))),
                info: Some(r#"{"a":[1, 2]}"#),
            },
        ),
        (
            r#"{"t":"sub","id":1,"c":"room:1","last":5}"#,
            Operation::Subscribe {
                id: id(1),
                channel: room(),
                start: Some(Start::Last(5)),
                info: None,
            },
        ),
        (
            r#"{"t":"unsub","id":"two","c":"room:1"}"#,
            Operation::Unsubscribe {
                id: Id::Text(text("two")),
                channel: room(),
            },
        ),
        (
            r#"{"t":"pub","c":"room:1"}"#,
            Operation::Publish {
                id: None,
                channel: room(),
                key: None,
            },
        ),
        (
            r#"{"t":"pub","id":3,"c":"room:1","key":"k"}"#,
            Operation::Publish {
                id: Some(id(3)),
                channel: room(),
                key: Some(text("k")),
            },
        ),
    ] {
        assert_eq!(operation(header), expected, "{header}");
    }
}

#[test]
fn the_other_operations_are_read() {
    let id = Id::Number;
    let since = |offset| Since {
        epoch: text("k3"),
        offset,
    };
    for (header, expected) in [
        (
            r#"{"t":"call","id":4,"m":"buy"}"#,
            Operation::Call {
                id: id(4),
                method: text("buy"),
            },
        ),
        (
            r#"{"t":"hist","id":5,"c":"room:1","limit":20,"reverse":true,"since":{"o":0,"e":"k3"}}"#,
            Operation::History {
                id: id(5),
                channel: room(),
                since: Some(since(0)),
                limit: Some(20),
                reverse: true,
            },
        ),
        (
            r#"{"t":"pres","id":6,"c":"room:1","limit":1000,"after":"7"}"#,
            Operation::Presence {
                id: id(6),
                channel: room(),
                limit: Some(1000),
                after: Some(text("7")),
            },
        ),
        (
            r#"{"t":"info","id":7,"c":"room:1","info":"x"}"#,
            Operation::Info {
                id: id(7),
                channel: room(),
                info: "\"x\"",
            },
        ),
        (r#"{"t":"ping"}"#, Operation::Ping),
        (r#"{"t":"ok","id":9}"#, Operation::Answer { id: id(9) }),
        (
            r#"{"t":"err","id":9,"code":"failed","reason":"no"}"#,
            Operation::Failure {
                id: id(9),
                code: text("failed"),
                reason: Some(text("no")),
            },
        ),
    ] {
        assert_eq!(operation(header), expected, "{header}");
    }
}

#[test]
fn unknown_fields_are_ignored_and_null_is_as_none() {
    let expected = operation(r#"{"t":"sub","id":1,"c":"room:1"}"#);
    for header in [
        r#"{"t":"sub","id":1,"c":"room:1","x":{"y":[1.5,"\ud800"]}}"#,
        r#"{"t":"sub","id":1,"c":"room:1","since":null,"cb":null,"info":null,"last":null}"#,
        r#" { "t" : "sub" , "id" : 1 , "c" : "room:1" } "#,
        r#"{"\u0074":"\u0073ub","id":2,"id":1,"c":"room\u003a1"}"#,
    ] {
        assert_eq!(operation(header), expected, "{header}");
    }
}

#[test]
fn the_payload_is_what_follows_the_first_line_feed() {
    for (payload, behind) in [("", ""), ("", "\n"), ("\n", "\n\n"), ("a\nb", "\na\nb")] {
        let message = [r#"{"t":"pub","c":""}"#, behind].concat();
        assert_eq!(
            decode(message.as_bytes()).unwrap().payload,
            payload.as_bytes()
        );
    }
    let bytes = b"{\"t\":\"pub\",\"c\":\"\"}\n\xff\0";
    assert_eq!(decode(bytes).unwrap().payload, b"\xff\0");
}

#[test]
fn a_name_that_is_no_text_is_base64() {
    let Operation::Unsubscribe { channel, .. } = operation(r#"{"t":"unsub","id":1,"cb":"/wA="}"#)
    else {
        panic!("an unsub");
    };
    assert_eq!(&channel[..], b"\xff\0");
    let mut out = Vec::new();
    let publication = Publication {
        channel: b"\xff\0",
        ..Publication::default()
    };
    publication.append(&mut out);
    assert_eq!(out, br#"{"cb":"/wA="}"#);
}

/// What `append` appends, as text.
fn said(append: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    append(&mut out);
    String::from_utf8(out).expect("headers are text")
}

#[test]
fn answers_look_as_documented() {
    let id = &Id::Number(1);
    let plain = Okay::new(id);
    for (okay, expected) in [
        (plain, r#"{"t":"ok","id":1}"#),
        (
            Okay {
                position: Some(("k3", 15)),
                recovered: Some(true),
                ..plain
            },
            r#"{"t":"ok","id":1,"e":"k3","o":15,"recovered":true}"#,
        ),
        (
            Okay {
                position: Some(("k3", 0)),
                recovered: Some(false),
                count: Some(20),
                ..plain
            },
            r#"{"t":"ok","id":1,"e":"k3","o":0,"recovered":false,"n":20}"#,
        ),
        (
            Okay {
                position: Some(("k3", 15)),
                last: Some(3),
                ..plain
            },
            r#"{"t":"ok","id":1,"e":"k3","o":15,"last":3}"#,
        ),
        (
            Okay {
                more: true,
                ..plain
            },
            r#"{"t":"ok","id":1,"more":true}"#,
        ),
    ] {
        assert_eq!(said(|out| okay.append(out)), expected);
    }
    let denied = Code::Denied.text();
    let error = said(|out| append_error(Some(&Id::Text("a\"".into())), denied, Some("no"), out));
    assert_eq!(
        error,
        r#"{"t":"err","id":"a\"","code":"denied","reason":"no"}"#
    );
    let error = said(|out| append_error(None, Code::Bad.text(), None, out));
    assert_eq!(error, r#"{"t":"err","code":"bad"}"#);
}

#[test]
fn publications_look_as_documented() {
    let plain = Publication {
        channel: b"room:1",
        ..Publication::default()
    };
    for (publication, expected) in [
        (plain, r#"{"c":"room:1"}"#),
        (
            Publication {
                offset: Some(16),
                timestamp: Some(1_790_000_000_000),
                from: Some("7"),
                ..plain
            },
            r#"{"c":"room:1","o":16,"ts":1790000000000,"f":"7"}"#,
        ),
        (
            Publication {
                offset: Some(16),
                excepted: true,
                ..plain
            },
            r#"{"c":"room:1","o":16,"x":1}"#,
        ),
        (
            Publication {
                mark: Some(Mark::Number(-5)),
                answers: Some(&Id::Number(3)),
                ..plain
            },
            r#"{"c":"room:1","v":-5,"re":3}"#,
        ),
        (
            Publication {
                mark: Some(Mark::Prefix(b"a:")),
                ..plain
            },
            r#"{"c":"room:1","v":"a:"}"#,
        ),
    ] {
        assert_eq!(said(|out| publication.append(out)), expected);
    }
    assert_eq!(said(|out| append_direct(None, out)), "{}");
    assert_eq!(
        said(|out| append_direct(Some(Mark::Prefix(b"\xff")), out)),
        r#"{"vb":"/w=="}"#
    );
}

#[test]
fn the_other_messages_look_as_documented() {
    assert_eq!(
        said(|out| append_hi("7", 25_000, out)),
        r#"{"t":"hi","v":1,"s":"7","ping":25000}"#
    );
    assert_eq!(said(append_pong), r#"{"t":"pong"}"#);
    let subscribed = said(|out| append_subscribed(b"c", Some(("k3", 2)), out));
    assert_eq!(subscribed, r#"{"t":"sub","c":"c","e":"k3","o":2}"#);
    assert_eq!(
        said(|out| append_gap(b"c", ("k3", 2), out)),
        r#"{"t":"gap","c":"c","e":"k3","o":2}"#
    );
    let call = said(|out| append_call(&Id::Number(9), "buy", out));
    assert_eq!(call, r#"{"t":"call","id":9,"m":"buy"}"#);
    for (event, name) in [
        (MemberEvent::Join, "join"),
        (MemberEvent::Leave, "leave"),
        (MemberEvent::Update, "update"),
    ] {
        let members = [("1", Some("{\"a\":1}")), ("2", None)];
        let expected =
            format!(r#"{{"t":"{name}","c":"c","m":[{{"s":"1","info":{{"a":1}}}},{{"s":"2"}}]}}"#);
        assert_eq!(
            said(|out| append_members(event, b"c", members, out)),
            expected
        );
    }
    assert_eq!(
        said(|out| append_count(b"c", 5, out)),
        r#"{"t":"count","c":"c","n":5}"#
    );
}
