//! A stream of compressed and plain messages decodes to the same items in one read and in many, within its bounds, and a
//! message that was compressed here inflates to itself whatever was inflated before it.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use millrace_protocol::websocket::deflate::{
    Deflater, History, Inflater, Inflation, Offer, WindowBits, Wishes,
};
use millrace_protocol::websocket::{
    Decoder, DecoderConfig, Input, Item, Kind, Opcode, Role, append_part,
};

#[derive(Debug, Arbitrary)]
struct Case {
    message_bytes: u16,
    window: u8,
    level: u8,
    takeover: bool,
    pieces: Vec<Piece>,
    /// The lengths of the reads, repeated cyclically.
    reads: Vec<u8>,
    extensions: Vec<Vec<u8>>,
}

#[derive(Debug, Arbitrary)]
enum Piece {
    /// Bytes that claim to be compressed.
    Marked {
        fin: bool,
        text: bool,
        payload: Vec<u8>,
    },
    /// A message that is compressed.
    Compressed {
        text: bool,
        message: Vec<u8>,
        cut: u8,
    },
    /// Any frame.
    Plain {
        opcode: u8,
        fin: bool,
        payload: Vec<u8>,
    },
    Raw(Vec<u8>),
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Message(Kind, bool, Vec<u8>),
    Other,
    Error(u16),
}

fuzz_target!(|case: Case| {
    let config = DecoderConfig {
        message_bytes: usize::from(case.message_bytes),
        role: Role::Client,
        ..DecoderConfig::default()
    };
    let window = WindowBits::new(8 + case.window % 8).expect("from 8 to 15");
    let stream = stream(&case, window);
    let takeover = case.takeover.then_some(window);
    let whole = decode(&config, takeover, std::iter::once(&stream[..]));
    let lengths: Vec<usize> = case
        .reads
        .iter()
        .map(|&length| usize::from(length).max(1))
        .collect();
    let lengths = if lengths.is_empty() { vec![1] } else { lengths };
    assert_eq!(decode(&config, takeover, reads(&stream, &lengths)), whole);
    negotiate(&case);
});

/// Terms that are chosen for any offer are terms that its client accepts.
fn negotiate(case: &Case) {
    let lines = case.extensions.iter().map(|line| &line[..]);
    let Ok(Some(offer)) = Offer::first(lines) else {
        return;
    };
    let window = WindowBits::new(8 + case.level % 8).expect("from 8 to 15");
    let wishes = Wishes {
        server_takeover: case.takeover,
        client_takeover: case.window % 2 == 0,
        server_window: window,
        client_window: window,
    };
    let terms = wishes.meet(&offer);
    let mut answer = Vec::new();
    terms.append(&mut answer);
    assert_eq!(offer.judge([&answer[..]]), Ok(Some(terms)));
    let mut again = Vec::new();
    offer.append(&mut again);
    assert_eq!(Offer::first([&again[..]]), Ok(Some(offer)));
}

fn stream(case: &Case, window: WindowBits) -> Vec<u8> {
    let mut deflater = Deflater::new(case.level % 10, window);
    let mut history = History::new(window);
    let mut out = Vec::new();
    for piece in &case.pieces {
        match piece {
            Piece::Marked { fin, text, payload } => {
                let start = out.len();
                append_part(&mut out, opcode(*text), *fin, None, payload);
                out[start] |= 0x40;
            }
            Piece::Compressed { text, message, cut } => {
                let before = if case.takeover { history.bytes() } else { b"" };
                let mut deflated = Vec::new();
                deflater.append(message, before, &mut deflated);
                let mut inflater = Inflater::new();
                let found = inflater.inflate(&deflated, before, message.len());
                assert_eq!(found.expect("it was compressed here").into_vec(), *message);
                history.push(message);
                let (first, second) = deflated.split_at(usize::from(*cut).min(deflated.len()));
                let start = out.len();
                append_part(&mut out, opcode(*text), false, None, first);
                out[start] |= 0x40;
                append_part(&mut out, Opcode::Continuation, true, None, second);
            }
            Piece::Plain {
                opcode,
                fin,
                payload,
            } => {
                let opcode = match opcode % 6 {
                    0 => Opcode::Continuation,
                    1 => Opcode::Text,
                    2 => Opcode::Binary,
                    3 => Opcode::Ping,
                    4 => Opcode::Pong,
                    _ => Opcode::Close,
                };
                append_part(&mut out, opcode, *fin, None, payload);
            }
            Piece::Raw(bytes) => out.extend_from_slice(bytes),
        }
    }
    out
}

fn opcode(text: bool) -> Opcode {
    if text { Opcode::Text } else { Opcode::Binary }
}

fn reads<'a>(mut stream: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    lengths.iter().cycle().map_while(move |&length| {
        let (read, rest) = stream.split_at(length.min(stream.len()));
        let more = !stream.is_empty();
        stream = rest;
        more.then_some(read)
    })
}

fn decode<'a>(
    config: &DecoderConfig,
    takeover: Option<WindowBits>,
    reads: impl Iterator<Item = &'a [u8]>,
) -> Vec<Seen> {
    let (mut decoder, mut inflater) = (Decoder::new(), Inflater::new());
    let mut history = takeover.map(History::new);
    let mut seen = Vec::new();
    for read in reads {
        let mut read = read.to_vec();
        let mut input = Input::new(&mut read);
        loop {
            let inflation = Inflation {
                inflater: &mut inflater,
                history: history.as_mut(),
            };
            match decoder.next_inflated(&mut input, config, 0, inflation) {
                Ok(None) => break,
                Ok(Some(Item::Message {
                    kind,
                    ascii,
                    payload,
                })) => {
                    assert!(payload.len() <= config.message_bytes);
                    assert!(kind == Kind::Binary || str::from_utf8(&payload).is_ok());
                    assert_eq!(ascii, kind == Kind::Text && payload.is_ascii());
                    seen.push(Seen::Message(kind, ascii, payload.into_vec()));
                }
                Ok(Some(_)) => seen.push(Seen::Other),
                Err(error) => {
                    assert!(
                        !matches!(seen.last(), Some(Seen::Error(_))),
                        "an error after the end"
                    );
                    seen.push(Seen::Error(error.close_code()));
                }
            }
        }
        assert!(input.remaining().is_empty());
        assert!(
            history
                .as_ref()
                .is_none_or(|history| history.held() <= 1 << 15)
        );
    }
    seen
}
