//! A WebSocket stream decodes to the same items in one read and in many, holds bounded memory, and its items have the
//! documented properties. Masked messages are the same, and relaying one equals relaying a copy.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use millrace_protocol::websocket::{
    DecodeError, Decoder, DecoderConfig, Input, Item, Kind, Masked, Opcode, Payload, Role,
    append_part, close,
};

#[derive(Debug, Arbitrary)]
struct Case {
    as_client: bool,
    checks_text: bool,
    message_bytes: u16,
    control_burst: u8,
    pieces: Vec<Piece>,
    /// The lengths of the reads, repeated cyclically.
    reads: Vec<u8>,
}

/// Random bytes alone rarely form a head, and frames alone are never invalid.
#[derive(Debug, Arbitrary)]
enum Piece {
    Raw(Vec<u8>),
    Bytes {
        kind: Shape,
        fin: bool,
        key: [u8; 4],
        payload: Vec<u8>,
    },
    Text {
        continues: bool,
        fin: bool,
        key: [u8; 4],
        payload: String,
    },
    Announcement {
        first: u8,
        length: u64,
    },
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Shape {
    Continuation,
    Text,
    Binary,
    Ping,
    Pong,
    Close,
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Message(Kind, bool, Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    Error(DecodeError),
}

/// What a decoder may hold in addition to the bytes of a message: its own state and one control payload.
const STATE_BYTES: usize = 600;

fuzz_target!(|case: Case| {
    let config = DecoderConfig {
        message_bytes: usize::from(case.message_bytes),
        role: if case.as_client {
            Role::Client
        } else {
            Role::Server
        },
        checks_text: case.checks_text,
        control_per_second: 100,
        control_burst: u32::from(case.control_burst),
    };
    let stream = stream(&case);
    let whole = decode::<false>(&config, std::iter::once(&stream[..]));
    let lengths = case.reads.iter().map(|&length| usize::from(length));
    let lengths = if case.reads.iter().all(|&length| length == 0) {
        vec![1]
    } else {
        lengths.collect()
    };
    assert_eq!(decode::<false>(&config, reads(&stream, &lengths)), whole);
    assert_eq!(decode::<true>(&config, std::iter::once(&stream[..])), whole);
    assert_eq!(decode::<true>(&config, reads(&stream, &lengths)), whole);
});

fn stream(case: &Case) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in &case.pieces {
        let key = |key: &[u8; 4]| (!case.as_client).then_some(*key);
        match piece {
            Piece::Raw(bytes) => out.extend_from_slice(bytes),
            Piece::Bytes {
                kind,
                fin,
                key: mask,
                payload,
            } => {
                append_part(&mut out, kind.opcode(), *fin, key(mask), payload);
            }
            Piece::Text {
                continues,
                fin,
                key: mask,
                payload,
            } => {
                let opcode = if *continues {
                    Opcode::Continuation
                } else {
                    Opcode::Text
                };
                append_part(&mut out, opcode, *fin, key(mask), payload.as_bytes());
            }
            Piece::Announcement { first, length } => {
                out.extend_from_slice(&[*first, if case.as_client { 0x7f } else { 0xff }]);
                out.extend_from_slice(&length.to_be_bytes());
            }
        }
    }
    out
}

impl Shape {
    fn opcode(self) -> Opcode {
        match self {
            Self::Continuation => Opcode::Continuation,
            Self::Text => Opcode::Text,
            Self::Binary => Opcode::Binary,
            Self::Ping => Opcode::Ping,
            Self::Pong => Opcode::Pong,
            Self::Close => Opcode::Close,
        }
    }
}

fn reads<'a>(mut stream: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    lengths.iter().cycle().map_while(move |&length| {
        let (read, rest) = stream.split_at(length.min(stream.len()));
        let more = !stream.is_empty();
        stream = rest;
        more.then_some(read)
    })
}

/// The items of a stream, the number of complete frames, and whether it ended idle. `MASKED`: messages are returned
/// under their masks.
fn decode<'a, const MASKED: bool>(
    config: &DecoderConfig,
    reads: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Seen>, u32, bool) {
    let (mut decoder, mut seen, mut frames, mut received) = (Decoder::new(), Vec::new(), 0, 0);
    for read in reads {
        let mut read = read.to_vec();
        received += read.len();
        let mut input = Input::new(&mut read);
        loop {
            let next = if MASKED {
                let item = decoder.next_masked(&mut input, config, 0);
                item.map(|item| item.map(|item| judged(unmasked(item), config)))
            } else {
                let item = decoder.next(&mut input, config, 0);
                item.map(|item| item.map(|item| judged(item, config)))
            };
            match next {
                Ok(None) => break,
                Ok(Some(item)) => {
                    assert!(!ended(&seen), "an item after the end");
                    seen.push(item);
                }
                Err(error) => {
                    assert!(!ended(&seen), "an error after the end");
                    assert!(matches!(error.close_code(), 1002 | 1007 | 1008 | 1009));
                    seen.push(Seen::Error(error));
                }
            }
        }
        assert!(input.remaining().is_empty());
        frames += input.frames();
        let held = decoder.held_bytes();
        assert!(
            held <= STATE_BYTES + 2 * decoder.unfinished_bytes(),
            "{held} bytes are held"
        );
        assert!(
            held <= STATE_BYTES + config.message_bytes,
            "{held} bytes are held"
        );
        assert!(decoder.unfinished_bytes() <= received);
        assert!(!decoder.is_idle() || held == 0 || ended(&seen));
    }
    (seen, frames, decoder.is_idle())
}

fn ended(seen: &[Seen]) -> bool {
    matches!(seen.last(), Some(Seen::Close(..) | Seen::Error(_)))
}

/// Unmasks an item, and compares relaying it with relaying a copy.
fn unmasked<'a>(item: Item<'a, Masked<'a>>) -> Item<'a> {
    const FRESH: [u8; 4] = [0x17, 0, 0xfe, 0x80];
    match item {
        Item::Message {
            kind,
            ascii,
            mut payload,
        } => {
            let taken = payload.take::<2>();
            let (mut frame, mut again) = (Vec::new(), Vec::new());
            payload.append_frame(&mut frame, kind.into(), Some(FRESH));
            let rest = payload.unmask();
            append_part(&mut again, kind.into(), true, Some(FRESH), rest);
            assert_eq!(frame, again);
            let taken = taken.as_ref().map_or(&[][..], |taken| taken);
            Item::Message {
                kind,
                ascii,
                payload: Payload::Owned([taken, rest].concat()),
            }
        }
        Item::Ping(payload) => Item::Ping(payload),
        Item::Pong(payload) => Item::Pong(payload),
        Item::Close { code, reason } => Item::Close { code, reason },
    }
}

fn judged(item: Item<'_>, config: &DecoderConfig) -> Seen {
    match item {
        Item::Message {
            kind,
            ascii,
            payload,
        } => {
            assert!(payload.len() <= config.message_bytes);
            let is_checked = kind == Kind::Text && config.checks_text;
            assert!(!is_checked || str::from_utf8(&payload).is_ok());
            assert_eq!(ascii, is_checked && payload.is_ascii());
            Seen::Message(kind, ascii, payload.into_vec())
        }
        Item::Ping(payload) => {
            assert!(payload.len() <= 125);
            Seen::Ping(payload.to_vec())
        }
        Item::Pong(payload) => {
            assert!(payload.len() <= 125);
            Seen::Pong(payload.to_vec())
        }
        Item::Close { code, reason } => {
            assert!(reason.len() <= 123 && code.is_none_or(close::is_valid_on_wire));
            Seen::Close(code, reason.to_owned())
        }
    }
}
