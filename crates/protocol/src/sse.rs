//! Server-Sent Events (HTML Living Standard, 9.2 "Server-sent events"), the sending side. There is no receiving side.
//!
//! An event is lines of `field: value` and an empty line. A client joins the `data` lines of an event with line feeds,
//! so a carriage return, alone or with a line feed behind it, arrives as one line feed.

mod pieces;
mod positions;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub use pieces::Pieces;
pub use positions::{Outcome, Positions};

/// The content type of the stream.
pub const CONTENT_TYPE: &str = "text/event-stream";

/// The event type of a message that is not text. Its data is base64 (RFC 4648, section 4).
pub const BINARY_EVENT: &str = "binary";

/// The event type of the close. Its data is the close code and, after a blank, the reason.
pub const CLOSE_EVENT: &str = "close";

/// The event type that tells of publications that are missing.
const GAP_EVENT: &str = "gap";

/// Whether events of this type mean something else than a message of the channel with this name: here, or in every
/// `EventSource`.
pub fn is_taken(name: &str) -> bool {
    let taken = [
        BINARY_EVENT,
        CLOSE_EVENT,
        GAP_EVENT,
        "error",
        "message",
        "open",
    ];
    let behind = name.strip_prefix(BINARY_EVENT);
    taken.contains(&name) || behind.is_some_and(|behind| behind.starts_with(' '))
}

/// Appends a text as an event of the default type, `message`.
pub fn append_text(out: &mut Vec<u8>, text: &[u8]) {
    append_data(out, text);
    out.push(b'\n');
}

/// Appends bytes as an event of the type [`BINARY_EVENT`].
pub fn append_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    append_type(out, BINARY_EVENT);
    append_base64(out, bytes);
    out.push(b'\n');
}

/// Appends a message of `millrace.v1` as an event. A payload that the format cannot carry is base64 (RFC 4648, section 4), which
/// the field `b` of the header says: bytes are 1, text with a carriage return is 2. `key` becomes the field `k`.
pub fn append_v1(out: &mut Vec<u8>, is_text: bool, message: &[u8], key: Option<&str>) {
    let (header, payload) = split(message);
    let code = code_of(is_text, payload);
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(header.strip_suffix(b"}").unwrap_or(header));
    append_fields(header, key, code, out);
    match payload {
        Some(payload) if code.is_some() => append_base64(out, payload),
        Some(payload) => append_data(out, payload),
        None => {}
    }
    out.push(b'\n');
}

/// The header of a message, and its payload if it has one.
fn split(message: &[u8]) -> (&[u8], Option<&[u8]>) {
    let end = memchr::memchr(b'\n', message);
    let (header, payload) = message.split_at(end.unwrap_or(message.len()));
    (header, payload.split_first().map(|(_, payload)| payload))
}

/// The field `b` of a payload; `None`: the format can carry it.
fn code_of(is_text: bool, payload: Option<&[u8]>) -> Option<u8> {
    match payload {
        Some(_) if !is_text => Some(b'1'),
        Some(payload) if memchr::memchr(b'\r', payload).is_some() => Some(b'2'),
        _ => None,
    }
}

/// Appends what a header has in the place of its last brace: two more fields, each if it is given, and the end of the line.
fn append_fields(header: &[u8], key: Option<&str>, code: Option<u8>, out: &mut Vec<u8>) {
    let mut comma: &[u8] = if header == b"{}" { b"" } else { b"," };
    for (name, value) in [
        ("k", key.map(str::as_bytes)),
        ("b", code.as_ref().map(std::slice::from_ref)),
    ] {
        let Some(value) = value else { continue };
        let quote: &[u8] = if name == "k" { b"\"" } else { b"" };
        let parts = [comma, b"\"", name.as_bytes(), b"\":", quote, value, quote];
        for part in parts {
            out.extend_from_slice(part);
        }
        comma = b",";
    }
    out.extend_from_slice(b"}\n");
}

/// Bytes as base64url without padding (RFC 4648, section 5).
pub fn base64_url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of [`base64_url`].
pub fn from_base64_url(text: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Appends the close: an event of the type [`CLOSE_EVENT`]. A reason of `retry=` and milliseconds, in at most nine
/// digits, also sets the time after which the client connects again.
pub fn append_close(out: &mut Vec<u8>, code: u16, reason: &str) {
    append_type(out, CLOSE_EVENT);
    if let Some(ms) = reason.strip_prefix("retry=")
        && (1..=RETRY_DIGITS).contains(&ms.len())
        && ms.bytes().all(|byte| byte.is_ascii_digit())
    {
        out.extend_from_slice(b"retry: ");
        out.extend_from_slice(ms.as_bytes());
        out.push(b'\n');
    }
    let mut data = code.to_string();
    if !reason.is_empty() {
        data.push(' ');
        data.push_str(reason);
    }
    append_data(out, data.as_bytes());
    out.push(b'\n');
}

/// The most digits of a time to connect again: eleven days and a half.
const RETRY_DIGITS: usize = 9;

/// Appends a comment, which keeps the connection alive in proxies and is ignored by the client.
pub fn append_heartbeat(out: &mut Vec<u8>) {
    out.extend_from_slice(b":\n\n");
}

fn append_type(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
}

fn append_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"data: ");
    pieces::append_groups(bytes, out);
    out.push(b'\n');
}

fn append_data(out: &mut Vec<u8>, data: &[u8]) {
    let mut rest = data;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, behind) = rest.split_at(end.unwrap_or(rest.len()));
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
        if end.is_none() {
            return;
        }
        let ending = if behind.starts_with(b"\r\n") { 2 } else { 1 };
        rest = behind.get(ending..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A client as in the standard: returns the type and data of every event.
    fn events(stream: &str) -> Vec<(String, String)> {
        let (mut events, mut kind, mut data) = (Vec::new(), String::from("message"), None);
        for line in stream.replace("\r\n", "\n").replace('\r', "\n").split('\n') {
            match line.split_once(':') {
                None if line.is_empty() => {
                    if let Some(data) = data.take() {
                        events.push((std::mem::replace(&mut kind, "message".into()), data));
                    }
                    kind = "message".into();
                }
                Some(("event", value)) => kind = value.trim_start_matches(' ').into(),
                Some(("data", value)) => {
                    let value = value.strip_prefix(' ').unwrap_or(value);
                    data = Some(match data {
                        None => value.to_owned(),
                        Some(before) => format!("{before}\n{value}"),
                    });
                }
                _ => {}
            }
        }
        events
    }

    fn written(append: impl FnOnce(&mut Vec<u8>)) -> Vec<(String, String)> {
        let mut out = Vec::new();
        append(&mut out);
        events(std::str::from_utf8(&out).unwrap())
    }

    #[test]
    fn an_empty_text_is_an_event() {
        assert_eq!(
            written(|out| append_text(out, b"")),
            [("message".into(), String::new())]
        );
    }

    #[test]
    fn a_message_of_v1_says_how_its_payload_is_coded() {
        let event = |is_text, message: &[u8], key| {
            let mut out = Vec::new();
            append_v1(&mut out, is_text, message, key);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            event(true, b"{\"t\":\"pong\"}", None),
            "data: {\"t\":\"pong\"}\n\n"
        );
        assert_eq!(
            event(true, b"{\"t\":\"hi\"}", Some("ab")),
            "data: {\"t\":\"hi\",\"k\":\"ab\"}\n\n"
        );
        assert_eq!(event(true, b"{}\n", None), "data: {}\ndata: \n\n");
        assert_eq!(
            event(true, b"{}\na\nb", None),
            "data: {}\ndata: a\ndata: b\n\n"
        );
        assert_eq!(
            event(true, b"{}\na\r\nb", None),
            "data: {\"b\":2}\ndata: YQ0KYg==\n\n"
        );
        assert_eq!(
            event(false, b"{\"c\":\"a\"}\n\0", None),
            "data: {\"c\":\"a\",\"b\":1}\ndata: AA==\n\n"
        );
    }

    #[test]
    fn a_close_says_when_to_connect_again() {
        let close = |reason: &str| {
            let mut out = Vec::new();
            append_close(&mut out, 1012, reason);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            close("retry=1500"),
            "event: close\nretry: 1500\ndata: 1012 retry=1500\n\n"
        );
        for other in [
            "",
            "retry=",
            "retry=1s",
            "retry=1\n2",
            "now retry=1",
            "retry=1234567890",
        ] {
            assert!(!close(other).contains("\nretry: "), "{other}");
        }
    }

    #[test]
    fn bytes_are_base64_and_the_close_has_code_and_reason() {
        assert_eq!(
            written(|out| append_binary(out, &[0, 255])),
            [("binary".into(), "AP8=".into())]
        );
        assert_eq!(
            written(|out| append_close(out, 1001, "bye\nevent: message")),
            [("close".into(), "1001 bye\nevent: message".into())]
        );
        assert_eq!(
            written(|out| append_close(out, 1000, "")),
            [("close".into(), "1000".into())]
        );
    }

    #[test]
    fn types_that_mean_something_are_taken() {
        for name in [
            "binary", "binary a", "close", "error", "gap", "message", "open",
        ] {
            assert!(is_taken(name), "{name}");
        }
        for name in ["", "binary:a", "binarya", "Close", "gaps", "room:1"] {
            assert!(!is_taken(name), "{name}");
        }
    }

    #[test]
    fn a_heartbeat_is_not_an_event() {
        assert_eq!(written(append_heartbeat), []);
    }

    proptest! {
        #[test]
        fn all_texts_arrive_as_separate_events(texts in proptest::collection::vec("[ -~\r\n:é]{0,40}", 0..6)) {
            let mut out = Vec::new();
            for text in &texts {
                append_text(&mut out, text.as_bytes());
            }
            let expected: Vec<_> = texts
                .iter()
                .map(|text| ("message".to_owned(), text.replace("\r\n", "\n").replace('\r', "\n")))
                .collect();
            prop_assert_eq!(events(std::str::from_utf8(&out).unwrap()), expected);
        }
    }
}
