//! No bytes make the parser of `millrace.v1` panic, or hold more than they have. What it has read decodes to itself when it
//! is written anew, and the server's answers with values of the client are one line of JSON.
#![no_main]

use std::borrow::Cow;

use libfuzzer_sys::fuzz_target;
use millrace_protocol::v1::{
    HEADER_BYTES, Id, Incoming, Okay, Operation, Publication, SHORT_BYTES, Since, Start,
    append_error, decode,
};

fuzz_target!(|bytes: &[u8]| {
    let Incoming { operation, payload } = match decode(bytes) {
        Ok(incoming) => incoming,
        Err(bad) => {
            let mut out = Vec::new();
            append_error(bad.id.as_ref(), "bad", Some(bad.reason), &mut out);
            return is_line(&out);
        }
    };
    let header = bytes.len() - payload.len();
    assert!(header <= HEADER_BYTES + 1);
    let held = held(&operation);
    assert!(held <= header, "{held} of {header}");
    let mut again = said(&operation).into_bytes();
    // escapes may make it longer
    if again.len() <= HEADER_BYTES {
        again.push(b'\n');
        again.extend_from_slice(payload);
        let operation = operation.clone();
        assert_eq!(decode(&again), Ok(Incoming { operation, payload }));
    }
    answers(&operation);
});

/// The bytes of its own that an operation has.
fn held(operation: &Operation<'_>) -> usize {
    let id = |id: &Id<'_>| match id {
        Id::Text(text) => {
            assert!(text.len() <= SHORT_BYTES);
            owned(text)
        }
        Id::Number(number) => {
            assert!(*number < 1 << 53);
            0
        }
    };
    match operation {
        Operation::Subscribe {
            id: own,
            channel,
            start,
            ..
        } => {
            let start = match start {
                Some(Start::Since(since)) => owned(&since.epoch),
                _ => 0,
            };
            id(own) + owned_bytes(channel) + start
        }
        Operation::Unsubscribe { id: own, channel }
        | Operation::Info {
            id: own, channel, ..
        } => id(own) + owned_bytes(channel),
        Operation::Publish {
            id: own,
            channel,
            key,
        } => {
            let key = key.as_ref().map_or(0, owned);
            own.as_ref().map_or(0, id) + owned_bytes(channel) + key
        }
        Operation::Call { id: own, method } => id(own) + owned(method),
        Operation::History {
            id: own,
            channel,
            since,
            ..
        } => {
            let since = since.as_ref().map_or(0, |since| owned(&since.epoch));
            id(own) + owned_bytes(channel) + since
        }
        Operation::Presence {
            id: own,
            channel,
            after,
            ..
        } => id(own) + owned_bytes(channel) + after.as_ref().map_or(0, owned),
        Operation::Ping => 0,
        Operation::Answer { id: own } => id(own),
        Operation::Failure {
            id: own,
            code,
            reason,
        } => id(own) + owned(code) + reason.as_ref().map_or(0, owned),
    }
}

fn owned(text: &Cow<'_, str>) -> usize {
    match text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(text) => text.capacity(),
    }
}

fn owned_bytes(bytes: &Cow<'_, [u8]>) -> usize {
    match bytes {
        Cow::Borrowed(_) => 0,
        Cow::Owned(bytes) => bytes.capacity(),
    }
}

/// A header with the same values.
fn said(operation: &Operation<'_>) -> String {
    let mut fields = Vec::new();
    let mut add = |name: &str, value: String| fields.push(format!("\"{name}\":{value}"));
    match operation {
        Operation::Subscribe {
            id,
            channel,
            start,
            info,
        } => {
            add("t", quoted("sub"));
            add("id", number_or_text(id));
            let (name, channel) = named(channel);
            add(name, channel);
            match start {
                Some(Start::Since(since)) => add("since", position(since)),
                Some(Start::Last(last)) => add("last", last.to_string()),
                None => {}
            }
            if let Some(info) = info {
                add("info", (*info).to_owned());
            }
        }
        Operation::Unsubscribe { id, channel } => {
            add("t", quoted("unsub"));
            add("id", number_or_text(id));
            let (name, channel) = named(channel);
            add(name, channel);
        }
        Operation::Publish { id, channel, key } => {
            add("t", quoted("pub"));
            if let Some(id) = id {
                add("id", number_or_text(id));
            }
            let (name, channel) = named(channel);
            add(name, channel);
            if let Some(key) = key {
                add("key", quoted(key));
            }
        }
        Operation::Call { id, method } => {
            add("t", quoted("call"));
            add("id", number_or_text(id));
            add("m", quoted(method));
        }
        Operation::History {
            id,
            channel,
            since,
            limit,
            reverse,
        } => {
            add("t", quoted("hist"));
            add("id", number_or_text(id));
            let (name, channel) = named(channel);
            add(name, channel);
            if let Some(since) = since {
                add("since", position(since));
            }
            if let Some(limit) = limit {
                add("limit", limit.to_string());
            }
            add("reverse", reverse.to_string());
        }
        Operation::Presence {
            id,
            channel,
            limit,
            after,
        } => {
            add("t", quoted("pres"));
            add("id", number_or_text(id));
            let (name, channel) = named(channel);
            add(name, channel);
            if let Some(limit) = limit {
                add("limit", limit.to_string());
            }
            if let Some(after) = after {
                add("after", quoted(after));
            }
        }
        Operation::Info { id, channel, info } => {
            add("t", quoted("info"));
            add("id", number_or_text(id));
            let (name, channel) = named(channel);
            add(name, channel);
            add("info", (*info).to_owned());
        }
        Operation::Ping => add("t", quoted("ping")),
        Operation::Answer { id } => {
            add("t", quoted("ok"));
            add("id", number_or_text(id));
        }
        Operation::Failure { id, code, reason } => {
            add("t", quoted("err"));
            add("id", number_or_text(id));
            add("code", quoted(code));
            if let Some(reason) = reason {
                add("reason", quoted(reason));
            }
        }
    }
    format!("{{{}}}", fields.join(","))
}

fn position(since: &Since<'_>) -> String {
    format!("{{\"e\":{},\"o\":{}}}", quoted(&since.epoch), since.offset)
}

/// A channel as the server names it in a publication.
fn named(channel: &[u8]) -> (&'static str, String) {
    let mut out = Vec::new();
    let publication = Publication {
        channel,
        ..Publication::default()
    };
    publication.append(&mut out);
    let header = String::from_utf8(out).expect("headers are text");
    for (name, prefix) in [("c", "{\"c\":"), ("cb", "{\"cb\":")] {
        if let Some(value) = header.strip_prefix(prefix) {
            return (name, value.strip_suffix('}').expect("an object").to_owned());
        }
    }
    panic!("{header}");
}

fn number_or_text(id: &Id<'_>) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

/// What the server answers to it is read as an answer of a client with the same id.
fn answers(operation: &Operation<'_>) {
    let id = match operation {
        Operation::Subscribe { id, .. }
        | Operation::Unsubscribe { id, .. }
        | Operation::Call { id, .. }
        | Operation::History { id, .. }
        | Operation::Presence { id, .. }
        | Operation::Info { id, .. }
        | Operation::Answer { id }
        | Operation::Failure { id, .. }
        | Operation::Publish { id: Some(id), .. } => id,
        Operation::Publish { id: None, .. } | Operation::Ping => return,
    };
    let mut out = Vec::new();
    Okay::new(id).append(&mut out);
    is_line(&out);
    let operation = Operation::Answer { id: id.clone() };
    let payload = &[][..];
    assert_eq!(decode(&out), Ok(Incoming { operation, payload }));
}

fn is_line(header: &[u8]) {
    assert!(!header.contains(&b'\n'), "{}", header.escape_ascii());
    assert!(std::str::from_utf8(header).is_ok());
}
