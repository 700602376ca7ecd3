//! Compressed messages (RFC 7692): the same items however the input is split, every window, and the bounds.

use millrace_protocol::websocket::deflate::{Deflater, History, Inflater, Inflation, WindowBits};
use millrace_protocol::websocket::{
    DecodeError, Decoder, DecoderConfig, Input, Item, Kind, Opcode, Role, append_part,
};
use proptest::prelude::*;

use crate::seen::{Seen, client, server};

/// One end of a connection with compression.
struct Receiver {
    decoder: Decoder,
    inflater: Inflater,
    history: Option<History>,
    config: DecoderConfig,
}

impl Receiver {
    fn new(config: DecoderConfig, takeover: Option<WindowBits>) -> Self {
        Self {
            decoder: Decoder::new(),
            inflater: Inflater::new(),
            history: takeover.map(History::new),
            config,
        }
    }

    fn feed(&mut self, read: &[u8], seen: &mut Vec<Seen>) {
        let mut read = read.to_vec();
        let mut input = Input::new(&mut read);
        loop {
            let inflation = Inflation {
                inflater: &mut self.inflater,
                history: self.history.as_mut(),
            };
            let next = self
                .decoder
                .next_inflated(&mut input, &self.config, 0, inflation);
            match next {
                Ok(Some(item)) => seen.push(item.into()),
                Ok(None) => break,
                Err(error) => seen.push(Seen::Error(error)),
            }
        }
        assert!(input.remaining().is_empty());
    }

    fn decode<'a>(mut self, reads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
        let mut seen = Vec::new();
        for read in reads {
            self.feed(read, &mut seen);
        }
        seen
    }
}

fn bits(number: u8) -> WindowBits {
    WindowBits::new(number).expect("from 8 to 15")
}

fn deflated(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new(6, WindowBits::MOST).append(message, b"", &mut out);
    out
}

/// Appends a frame with RSV1.
fn append_marked(out: &mut Vec<u8>, opcode: Opcode, fin: bool, key: Option<[u8; 4]>, bytes: &[u8]) {
    let start = out.len();
    append_part(out, opcode, fin, key, bytes);
    out[start] |= 0x40;
}

fn marked(opcode: Opcode, fin: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    append_marked(&mut out, opcode, fin, Some([1, 2, 3, 4]), bytes);
    out
}

fn plain(opcode: Opcode, fin: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    append_part(&mut out, opcode, fin, Some([1, 2, 3, 4]), bytes);
    out
}

/// The error that ends a stream, after `before` messages.
fn refused(stream: &[u8], before: usize) -> DecodeError {
    let seen = Receiver::new(server(1000), None).decode([stream]);
    let Some(Seen::Error(error)) = seen.get(before) else {
        panic!("{seen:?}");
    };
    assert_eq!(seen.len(), before + 1, "nothing follows an error");
    *error
}

#[test]
fn a_stream_that_is_cut_anywhere_has_the_same_items() {
    use Opcode::{Binary, Continuation, Ping, Text};
    let long = deflated(
        "{\"id\":1234567890,\"name\":\"a member\"}"
            .repeat(20)
            .as_bytes(),
    );
    let accents = deflated("h\u{e9}llo \u{1f980}".as_bytes());
    let (first, rest) = long.split_at(7);
    let (second, third) = rest.split_at(10);
    let good = [
        marked(Text, true, &deflated(b"hello")),
        plain(Text, true, b"plain"),
        marked(Binary, true, &[0]),
        marked(Text, false, first),
        plain(Ping, true, b"p"),
        plain(Continuation, false, second),
        plain(Continuation, false, b""),
        plain(Continuation, true, third),
        plain(Text, false, b"pl"),
        plain(Continuation, true, b"ain"),
        marked(Text, true, &accents),
        marked(Binary, false, b""),
        plain(Continuation, true, &accents),
    ]
    .concat();
    let bad = [&good[..], &marked(Text, true, b"\xff\xff"), &good].concat();
    for stream in [good, bad] {
        let receiver = || Receiver::new(server(1000), Some(WindowBits::MOST));
        let whole = receiver().decode([&stream[..]]);
        assert!(whole.len() >= 8);
        let bytewise = receiver().decode(stream.chunks(1));
        assert_eq!(bytewise, whole);
        for cut in 0..stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(receiver().decode([first, second]), whole, "{cut}");
        }
    }
}

#[test]
fn rsv1_is_refused_on_all_but_first_frames_and_without_negotiation() {
    use Opcode::{Binary, Continuation, Ping, Pong, Text};
    let hello = deflated(b"hello");
    for (stream, byte) in [
        (marked(Ping, true, b""), 0xc9),
        (marked(Pong, true, b""), 0xca),
        (marked(Opcode::Close, true, b""), 0xc8),
        (
            [
                marked(Text, false, &hello[..2]),
                marked(Continuation, true, &hello[2..]),
            ]
            .concat(),
            0xc0,
        ),
        (
            [
                plain(Binary, false, b"x"),
                marked(Continuation, false, b"y"),
            ]
            .concat(),
            0x40,
        ),
        (vec![0xe1], 0xe1),
        (vec![0xd1], 0xd1),
    ] {
        let error = refused(&stream, 0);
        assert_eq!(error, DecodeError::ReservedBits(byte));
        assert_eq!(error.close_code(), 1002);
    }
    let mut read = marked(Text, true, &hello);
    let mut decoder = Decoder::new();
    let found = decoder.next(&mut Input::new(&mut read), &server(10), 0);
    assert_eq!(found, Err(DecodeError::ReservedBits(0xc1)));
}

#[test]
fn bad_data_and_invalid_text_close_with_1007() {
    let text = |bytes: &[u8]| marked(Opcode::Text, true, bytes);
    for stream in [
        text(b""),
        text(&[0xff; 20]),
        text(&deflated(b"hello")[..3]),
        text(&[&deflated(b"hello")[..], b"trailing"].concat()),
        text(&[0x00, 0x05, 0x00, 0xff, 0xff, 1, 2, 3, 4, 5]),
    ] {
        let error = refused(&stream, 0);
        assert_eq!(
            (error, error.close_code()),
            (DecodeError::CorruptDeflate, 1007)
        );
    }
    let long = [&[b'a'; 600][..], b"\x80"].concat();
    for bytes in [&b"\xff"[..], b"abc\xc3", b"\xed\xa0\x80", &long] {
        assert_eq!(
            refused(&text(&deflated(bytes)), 0),
            DecodeError::InvalidUtf8
        );
        let binary = marked(Opcode::Binary, true, &deflated(bytes));
        let seen = Receiver::new(server(1000), None).decode([&binary[..]]);
        assert_eq!(seen, [Seen::binary(bytes)]);
    }
}

#[test]
fn texts_are_checked_and_reported_as_ascii_like_plain_ones() {
    for checks_text in [true, false] {
        let config = DecoderConfig {
            checks_text,
            ..server(1000)
        };
        for text in ["", "ascii", "h\u{e9}"] {
            let stream = marked(Opcode::Text, true, &deflated(text.as_bytes()));
            let seen = Receiver::new(config, None).decode([&stream[..]]);
            let expected = Seen::Message {
                kind: Kind::Text,
                ascii: checks_text && text.is_ascii(),
                payload: text.into(),
            };
            assert_eq!(seen, [expected]);
        }
    }
    let config = DecoderConfig {
        checks_text: false,
        ..server(1000)
    };
    let stream = marked(Opcode::Text, true, &deflated(b"\xff"));
    assert_eq!(Receiver::new(config, None).decode([&stream[..]]).len(), 1);
}

#[test]
fn the_bound_counts_the_text_and_leaves_room_for_what_cannot_be_compressed() {
    let zeros = |length: usize| marked(Opcode::Binary, true, &deflated(&vec![0; length]));
    let seen = Receiver::new(server(1000), None).decode([&zeros(1000)[..]]);
    assert_eq!(seen, [Seen::binary(&[0; 1000])]);
    let error = refused(&zeros(1001), 0);
    assert_eq!(
        (error, error.close_code()),
        (DecodeError::InflatedTooBig, 1009)
    );

    let noise: Vec<u8> = (0..1000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0])
        .collect();
    // stored blocks of 8 bytes are longer than their text
    let mut stored = Vec::new();
    for part in noise.chunks(50) {
        stored.extend_from_slice(&[0, 50, 0, !50, 0xff]);
        stored.extend_from_slice(part);
    }
    stored.push(0);
    assert!(stored.len() > 1000);
    let (first, second) = stored.split_at(500);
    for stream in [
        marked(Opcode::Binary, true, &stored),
        [
            marked(Opcode::Binary, false, first),
            plain(Opcode::Continuation, true, second),
        ]
        .concat(),
    ] {
        let seen = Receiver::new(server(1000), None).decode([&stream[..]]);
        assert_eq!(seen, [Seen::binary(&noise)]);
    }
    // a frame whose bytes no text of this size can need is refused with its head
    let most = 1000 + 1000 / 8 + 64;
    let head = |length: usize| marked(Opcode::Binary, true, &vec![0; length])[..4].to_vec();
    assert_eq!(
        Receiver::new(server(1000), None).decode([&head(most)[..]]),
        []
    );
    assert!(matches!(
        refused(&head(most + 1), 0),
        DecodeError::MessageTooBig(_)
    ));
    let two = [
        marked(Opcode::Binary, false, &vec![0; most]),
        plain(Opcode::Continuation, true, b"x"),
    ]
    .concat();
    assert!(matches!(refused(&two, 0), DecodeError::MessageTooBig(1)));
    let plain = plain(Opcode::Binary, true, &[0; 1001]);
    assert!(matches!(
        refused(&plain, 0),
        DecodeError::MessageTooBig(1001)
    ));
}

#[test]
fn an_unfinished_compressed_message_holds_its_compressed_bytes() {
    let bomb = deflated(&vec![0; 64 << 20]);
    let frame = marked(Opcode::Binary, true, &bomb);
    let mut receiver = Receiver::new(server(16 << 20), Some(WindowBits::MOST));
    let mut seen = Vec::new();
    for read in frame[..frame.len() - 1].chunks(1000) {
        receiver.feed(read, &mut seen);
        let (held, arrived) = (
            receiver.decoder.held_bytes(),
            receiver.decoder.unfinished_bytes(),
        );
        assert!(held <= 600 + 2 * arrived && arrived <= bomb.len());
    }
    assert_eq!(seen, []);
    receiver.feed(&frame[frame.len() - 1..], &mut seen);
    assert_eq!(seen, [Seen::Error(DecodeError::InflatedTooBig)]);
    assert_eq!(receiver.decoder.held_bytes(), 0);
    assert_eq!(receiver.history.unwrap().held(), 0);
}

#[derive(Debug, Clone)]
struct Sent {
    kind: Kind,
    text: String,
    compressed: bool,
    fragments: usize,
}

fn sent() -> impl Strategy<Value = Sent> {
    let word = prop_oneof!["[a-e]{1,12}", "\\PC{0,20}", "(ab|cd){0,300}"];
    let text = proptest::collection::vec(word, 0..8).prop_map(|words| words.concat());
    (any::<bool>(), text, any::<bool>(), 1..4usize).prop_map(
        |(is_text, text, compressed, fragments)| Sent {
            kind: if is_text { Kind::Text } else { Kind::Binary },
            text,
            compressed,
            fragments,
        },
    )
}

proptest! {
    #[test]
    fn what_one_end_sends_the_other_end_gets(
        messages in proptest::collection::vec(sent(), 1..12),
        window in 8..=15u8,
        level in 1..=9u8,
        takeover in any::<bool>(),
        to_server in any::<bool>(),
        read in 1..400usize,
    ) {
        let window = bits(window);
        let (mut deflater, mut history) = (Deflater::new(level, window), History::new(window));
        let (mut stream, mut expected) = (Vec::new(), Vec::new());
        let key = to_server.then_some([9, 8, 7, 6]);
        for Sent { kind, text, compressed, fragments } in messages {
            let mut bytes = text.clone().into_bytes();
            if compressed {
                let mut out = Vec::new();
                let before = if takeover { history.bytes() } else { b"" };
                deflater.append(&bytes, before, &mut out);
                history.push(&bytes);
                bytes = out;
            }
            let part = bytes.len().div_ceil(fragments).max(1);
            let count = bytes.len().div_ceil(part).max(1);
            for index in 0..count {
                let piece = bytes.chunks(part).nth(index).unwrap_or_default();
                let opcode = if index == 0 { kind.into() } else { Opcode::Continuation };
                let start = stream.len();
                append_part(&mut stream, opcode, index + 1 == count, key, piece);
                if compressed && index == 0 {
                    stream[start] |= 0x40;
                }
            }
            expected.push(match kind {
                Kind::Text => Seen::text(&text),
                Kind::Binary => Seen::binary(text.as_bytes()),
            });
        }
        let config = if to_server { server(1 << 20) } else { client(1 << 20) };
        let receiver = Receiver::new(config, takeover.then_some(window));
        prop_assert_eq!(receiver.decode(stream.chunks(read)), expected);
    }

    #[test]
    fn random_bytes_never_exceed_the_bound(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        first in 0..8u8,
        most in 0..2000usize,
    ) {
        if let Some(byte) = bytes.first_mut() {
            *byte = *byte & !7 | first;
        }
        let config = DecoderConfig { message_bytes: most, role: Role::Client, ..DecoderConfig::default() };
        let mut stream = Vec::new();
        append_marked(&mut stream, Opcode::Binary, true, None, &bytes);
        let mut read = stream;
        let (mut decoder, mut inflater) = (Decoder::new(), Inflater::new());
        let inflation = Inflation { inflater: &mut inflater, history: None };
        match decoder.next_inflated(&mut Input::new(&mut read), &config, 0, inflation) {
            Ok(Some(Item::Message { payload, .. })) => prop_assert!(payload.len() <= most),
            Err(error) => prop_assert!(matches!(error.close_code(), 1007 | 1009)),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
