//! The messages of a channel as they pass: a socket without a worker that subscribes to the channel like any other, and
//! whose messages are lines of JSON in the body of an answer.

use std::sync::Arc;

use hyper::Response;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use millrace_core::{Kind, Topic};
use millrace_protocol::append_json_string;

use super::funnel::{MESSAGE, funnel};
use super::limits::FixedAdminLimits;
use crate::close::CloseReason;
use crate::contract::{
    Context, Encoding, EncodingDef, Goodbye, Liveness, Message, Session, Stream, Taken, Traits,
    Wake,
};
use crate::http::{Answer, Asked, Body, Exchange, open};
use crate::sync::{AtomicUsize, Ordering};

/// The open taps of a listener, or the place of one of them.
#[derive(Debug, Default)]
pub(super) struct Taps(Arc<AtomicUsize>);

/// The place of one tap; dropping it makes room.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Taps {
    /// Takes a place, if fewer than `most` are taken.
    pub(super) fn take(&self, most: usize) -> Option<Place> {
        let place = Place(Arc::clone(&self.0));
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        // a place that is not returned is given back at once
        (before < most).then_some(place)
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens a tap, or answers why not.
pub(super) fn begin(
    exchange: &Exchange,
    asked: &Asked,
    (channel, place): (Vec<u8>, Place),
    encoding: Encoding,
) -> Answer {
    let session = Box::new(Tap {
        encoding,
        channel,
        _place: place,
    });
    let opened = match open::admit_unasked(exchange, asked, session) {
        Ok(opened) => opened,
        Err(answer) => return *answer,
    };
    let limits = FixedAdminLimits::default();
    let (mouth, spout) = funnel(&exchange.client, limits.tap_bytes);
    let mut answer = Response::new(Body::Stream(Box::pin(spout)));
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "application/x-ndjson"),
        // the permit moves to the socket, so no other request may follow on this connection
        (CONNECTION, "close"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    opened.connected(Stream::carried(mouth), &bytes::Bytes::new());
    answer
}

/// The session of one tap.
#[derive(Debug)]
struct Tap {
    encoding: Encoding,
    channel: Vec<u8>,
    _place: Place,
}

impl Session for Tap {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Tells,
            goodbye: Goodbye::Said,
            feeds_worker: false,
            half_close: false,
            encoding: self.encoding,
        }
    }

    fn input(&mut self, bytes: &mut [u8], _: &mut Context<'_>) -> Result<Taken, CloseReason> {
        // the peer cannot send
        Ok(Taken {
            bytes: bytes.len(),
            unfinished: false,
        })
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        if !matches!(why, Wake::Opened) {
            return Ok(());
        }
        let topic = Topic::Channel(&self.channel);
        let entered = cx.post(|hub, socket, dirty| {
            hub.admits_entering(socket, 1)
                .then(|| hub.enter(socket, topic, 1, dirty))
        });
        if !matches!(entered, Some(Ok(_))) {
            return Err(CloseReason::OVERFLOW);
        }
        cx.reply(|out| out.extend_from_slice(b"{\"tap\":\"open\"}\n"));
        Ok(())
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"closed\":{},\"reason\":", reason.code).as_bytes());
        append_json_string(&reason.reason, out);
        out.extend_from_slice(b"}\n");
    }
}

/// The encoding of a message as a line: its kind and length, the begin of its payload, and what else is known about it.
pub(crate) const ENCODING: EncodingDef = EncodingDef {
    name: "admin tap",
    // the number and the publisher come with the channel
    names_channel: true,
    most_payload: usize::MAX,
    around: 128,
    append: append_message,
};

fn append_message(message: &Message<'_>, out: &mut Vec<u8>) {
    let payload = message.payload;
    out.extend_from_slice(MESSAGE);
    let kind = match message.kind {
        Kind::Text => ":\"text\",\"bytes\":",
        Kind::Binary => ":\"binary\",\"bytes\":",
    };
    out.extend_from_slice(kind.as_bytes());
    append_number(&payload.len(), out);
    if let Some(via) = message.via {
        if let Some(number) = via.number {
            out.extend_from_slice(b",\"offset\":");
            append_number(&number.position.offset, out);
            out.extend_from_slice(b",\"at\":");
            append_number(&number.unix_ms, out);
        }
        if let Some(from) = via.from {
            out.extend_from_slice(b",\"from\":");
            append_json_string(from, out);
        }
    }
    let most = FixedAdminLimits::default().tap_payload_bytes;
    let begin = payload.get(..most).unwrap_or(payload);
    if let (Kind::Text, Some(text)) = (message.kind, valid_begin(begin)) {
        out.extend_from_slice(b",\"text\":");
        append_json_string(text, out);
    } else {
        out.extend_from_slice(b",\"hex\":\"");
        out.extend(begin.iter().flat_map(|byte| hex(*byte)));
        out.push(b'"');
    }
    out.extend_from_slice(b"}\n");
}

/// The text in front of a character that is cut; `None` if it is no text.
fn valid_begin(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            let valid = bytes.get(..error.valid_up_to())?;
            std::str::from_utf8(valid).ok()
        }
        Err(_) => None,
    }
}

/// Two digits.
pub(super) fn hex(byte: u8) -> [u8; 2] {
    let digit = |value: u8| match value {
        0..=9 => b'0' + value,
        _ => b'a' + value - 10,
    };
    [digit(byte >> 4), digit(byte & 15)]
}

fn append_number(number: &impl ToString, out: &mut Vec<u8>) {
    out.extend_from_slice(number.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: Kind, payload: &[u8]) -> String {
        let message = Message {
            kind,
            payload,
            via: None,
        };
        let mut out = Vec::new();
        append_message(&message, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_message_is_one_line_whatever_it_contains() {
        assert_eq!(
            line(Kind::Text, b"<img src=x>\n\"\0"),
            "{\"kind\":\"text\",\"bytes\":14,\"text\":\"<img src=x>\\n\\\"\\u0000\"}\n"
        );
        assert_eq!(
            line(Kind::Binary, &[0, 0x9f, 255]),
            "{\"kind\":\"binary\",\"bytes\":3,\"hex\":\"009fff\"}\n"
        );
        assert_eq!(
            line(Kind::Text, &[0xff]),
            "{\"kind\":\"text\",\"bytes\":1,\"hex\":\"ff\"}\n"
        );
    }

    #[test]
    fn a_long_payload_is_cut_between_characters() {
        let most = FixedAdminLimits::default().tap_payload_bytes;
        let text = format!("x{}", "é".repeat(most));
        let cut = line(Kind::Text, text.as_bytes());
        assert!(cut.contains(&format!("\"bytes\":{}", text.len())));
        assert_eq!(cut.matches('é').count(), most / 2 - 1);
        let cut = line(Kind::Binary, &vec![1; 10 * most]);
        assert_eq!(cut.matches("01").count(), most);
    }

    #[test]
    fn places_are_limited_and_come_back() {
        let taps = Taps::default();
        let first = taps.take(1);
        assert!(first.is_some() && taps.take(1).is_none());
        drop(first);
        assert_eq!(taps.count(), 0);
        assert!(taps.take(1).is_some());
    }
}
