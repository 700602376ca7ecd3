//! Undoes the encoding of `millrace.v1`, for a connection to which messages were sent before `handleOpen` chose another
//! subprotocol. Pure.

use std::borrow::Cow;

use millrace_core::{Annotation, Kind};
use millrace_protocol::v1::{self, Mark, SENT_HEADER_BYTES};
use millrace_protocol::websocket::deflate::Inflater;
use millrace_protocol::websocket::{self, Opcode, SentFrame};

/// Appends the frames in `sent`, each with its payload alone. Those without a payload are messages of the subprotocol itself
/// and are left out; control frames and the later frames of a message stay.
pub(super) fn unwrap(mut sent: &[u8], out: &mut Vec<u8>) {
    while let Some((frame, rest)) = split(sent) {
        sent = rest;
        let Some(kind) = frame.kind else {
            out.extend_from_slice(frame.whole);
            continue;
        };
        let Some(end) = frame.payload.iter().position(|byte| *byte == b'\n') else {
            continue;
        };
        let (header, payload) = frame.payload.split_at(end);
        let payload = payload.get(1..).unwrap_or_default();
        let marked = mark_of(header).and_then(|mark| mark.apply(kind, payload).ok());
        let payload = marked.as_deref().unwrap_or(payload);
        let opcode = match kind {
            Kind::Text => Opcode::Text,
            Kind::Binary => Opcode::Binary,
        };
        websocket::append_part(out, opcode, frame.is_last, None, payload);
    }
}

/// The mark of a virtual socket in the header of a message.
fn mark_of(header: &[u8]) -> Option<Annotation> {
    v1::mark_of(header, |mark| match mark {
        Mark::Number(number) => Some(Annotation::UserData(number)),
        Mark::Prefix(prefix) => Annotation::prefix(prefix).ok().flatten(),
    })
    .flatten()
}

/// What a frame with a message begins with, at least its header; inflated if it is compressed.
pub(super) fn head(frame: &[u8]) -> Option<Cow<'_, [u8]>> {
    let is_compressed = frame.first()? & RSV1 != 0;
    let (frame, _) = split(frame)?;
    frame.kind?;
    if is_compressed {
        return Inflater::new()
            .beginning(frame.payload, b'\n', SENT_HEADER_BYTES)
            .map(Cow::Owned);
    }
    Some(Cow::Borrowed(frame.payload))
}

/// The bit of compressed messages.
const RSV1: u8 = 0x40;

/// A frame of the gateway, which is not masked.
struct Frame<'a> {
    whole: &'a [u8],
    /// `None`: a control frame, or a later frame of a message.
    kind: Option<Kind>,
    is_last: bool,
    payload: &'a [u8],
}

/// The first frame, and what follows it.
fn split(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (sent, rest) = websocket::split_sent(bytes)?;
    let SentFrame {
        whole,
        first,
        payload,
    } = sent;
    let kind = match first & 0x0f {
        1 => Some(Kind::Text),
        2 => Some(Kind::Binary),
        _ => None,
    };
    let is_last = first & 0x80 != 0;
    let frame = Frame {
        whole,
        kind,
        is_last,
        payload,
    };
    Some((frame, rest))
}

#[cfg(test)]
mod tests {
    use millrace_core::{Epoch, Name, Position, Space};
    use millrace_protocol::websocket::deflate::WindowBits;

    use super::*;
    use crate::frame::{CompressionTerms, Encodings, Message, Via};

    fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        websocket::append_frame(&mut out, opcode, payload);
        out
    }

    #[test]
    fn a_frame_says_which_number_it_has() {
        let numbered = |encoding, encodings: &Encodings, (name, length): (&[u8], usize)| {
            let channel = Name::new(Space::Channel, name);
            let number = millrace_core::Number {
                position: Position {
                    epoch: Epoch::new(1),
                    offset: 77,
                },
                unix_ms: 5,
                from: None,
            };
            let via = Via {
                channel: &channel,
                pattern: None,
                mark: None,
                from: Some("7"),
                number: Some(&number),
            };
            let payload = vec![b'\n'; length];
            let message = Message {
                kind: Kind::Text,
                payload: &payload,
                via: Some(via),
            };
            encodings.encode(encoding, &message).unwrap()
        };
        let encodings = Encodings::new();
        let terms = CompressionTerms {
            level: 1,
            window: WindowBits::MOST,
            threshold: 0,
            takeover: false,
        };
        let all = [
            encodings.headed(super::super::HEADED),
            encodings
                .compressed_headed(terms, super::super::HEADED)
                .unwrap(),
        ];
        let longest = crate::limits::FixedLimits::default().channel_name_bytes;
        let no_text =
            (0..longest).map(|index| 0x80 | u8::try_from(index * index / 7 % 127).unwrap());
        let names = [
            b"room \"1\"".to_vec(),
            vec![b'x'; 1_010],
            vec![b'x'; 9_000],
            vec![1; longest],
            no_text.collect(),
        ];
        for (encoding, length) in all.into_iter().flat_map(|one| [(one, 0), (one, 200_000)]) {
            for name in &names {
                let frame = numbered(encoding, &encodings, (name, length));
                let head = head(&frame).unwrap();
                let (channel, offset) = millrace_protocol::v1::number_of(&head).unwrap();
                assert!(channel == &name[..] && offset == 77, "{} bytes", name.len());
            }
        }
        for other in [
            frame(Opcode::Ping, b""),
            frame(Opcode::Text, b"{}\n"),
            frame(Opcode::Text, b"{\"c\":\"a\"}\n"),
            frame(Opcode::Text, b"{\"c\":\"a\",\"o\":1,\"v\":2}\n"),
            frame(Opcode::Text, b"{\"t\":\"gap\",\"c\":\"a\",\"o\":1}\n"),
        ] {
            let number = head(&other).and_then(|head| {
                let (_, offset) = millrace_protocol::v1::number_of(&head)?;
                Some(offset)
            });
            assert_eq!(number, None);
        }
    }

    #[test]
    fn the_mark_of_a_virtual_socket_becomes_part_of_the_payload() {
        for (head, kind, payload, expected) in [
            (
                "{\"v\":5}",
                Opcode::Text,
                "{\"a\":1}",
                &b"{\"_vsud\":5,\"a\":1}"[..],
            ),
            (
                "{\"c\":\"a\",\"v\":-1}",
                Opcode::Binary,
                "x",
                b"\xff\xff\xff\xffx",
            ),
            ("{\"v\":\"a\\n\"}", Opcode::Text, "x", b"a\nx"),
            ("{\"vb\":\"/w==\"}", Opcode::Binary, "x", b"\xffx"),
            ("{\"v\":5}", Opcode::Text, "no object", b"no object"),
            ("{\"c\":\"v\"}", Opcode::Text, "x", b"x"),
        ] {
            let mut out = Vec::new();
            unwrap(
                &frame(kind, format!("{head}\n{payload}").as_bytes()),
                &mut out,
            );
            assert_eq!(out, frame(kind, expected), "{head}");
        }
    }

    #[test]
    fn messages_lose_their_heads_and_the_rest_stays() {
        for length in [0, 5, 125, 126, 65_535, 65_536, 70_000] {
            let payload = vec![b'\n'; length];
            for opcode in [Opcode::Text, Opcode::Binary] {
                let sent = [
                    frame(Opcode::Text, b"{\"t\":\"hi\"}"),
                    frame(opcode, &[b"{\"c\":\"a\"}\n", &payload[..]].concat()),
                    frame(Opcode::Ping, b"\n"),
                    frame(Opcode::Continuation, b"{}\nx"),
                    frame(opcode, b"{}\n"),
                ];
                let expected = [
                    frame(opcode, &payload),
                    frame(Opcode::Ping, b"\n"),
                    frame(Opcode::Continuation, b"{}\nx"),
                    frame(opcode, b""),
                ];
                let mut out = Vec::new();
                unwrap(&sent.concat(), &mut out);
                assert!(out == expected.concat(), "{length}");
            }
        }
    }
}
