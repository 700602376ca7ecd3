//! The WebSocket codec: frames decoded in place, frames encoded into a warm buffer, and the handshake.

use std::hint::black_box;

use millrace_protocol::websocket::handshake::{RequestHead, accept_key, check};
use millrace_protocol::websocket::{
    Decoder, DecoderConfig, Input, Item, Opcode, append_frame, append_part,
};

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case("codec/decode-text-64", 20_000, |count| {
        decode(count, &frame(Opcode::Text, &ASCII, 64));
    }),
    case("codec/decode-text-64-pipelined-16", 2000, |count| {
        decode(count, &frame(Opcode::Text, &ASCII, 64).repeat(16));
    }),
    case("codec/decode-text-64-not-ascii", 10_000, |count| {
        decode(count, &frame(Opcode::Text, &ACCENTS, 64));
    }),
    case("codec/decode-text-16-kib", 200, |count| {
        decode(count, &frame(Opcode::Text, &ASCII, 16_384));
    }),
    case("codec/decode-binary-1-kib", 5000, |count| {
        decode(count, &frame(Opcode::Binary, &ASCII, 1024));
    }),
    case("codec/decode-text-in-4-fragments-of-256", 2000, |count| {
        decode(count, &fragments(4, 256));
    }),
    case("codec/decode-binary-16-kib-in-two-reads", 200, |count| {
        decode_in_two_reads(count, &frame(Opcode::Binary, &ASCII, 16_384));
    }),
    case("codec/decode-ping", 20_000, |count| {
        decode(count, &frame(Opcode::Ping, &ASCII, 8));
    }),
    case("codec/encode-text-64", 20_000, |count| encode(count, 64)),
    case("codec/encode-text-16-kib", 2000, |count| {
        encode(count, 16_384);
    }),
    case("codec/handshake", 2000, shake_hands),
];

/// Two bytes, and a key that swaps them for two others of the same kind. Decoding unmasks in place, so decoded bytes
/// can be decoded again without being restored.
struct Payload {
    pair: [u8; 2],
    key: [u8; 4],
}

const ASCII: Payload = Payload {
    pair: *b"py",
    key: [1, 2, 3, 4],
};

const ACCENTS: Payload = Payload {
    pair: [0xc3, 0xa9],
    key: [0, 1, 0, 3],
};

fn part(out: &mut Vec<u8>, opcode: Opcode, fin: bool, payload: &Payload, length: usize) {
    let bytes = payload.pair.repeat(length / 2);
    append_part(out, opcode, fin, Some(payload.key), &bytes);
}

fn frame(opcode: Opcode, payload: &Payload, length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    part(&mut out, opcode, true, payload, length);
    out
}

fn fragments(count: usize, length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for index in 0..count {
        let opcode = if index == 0 {
            Opcode::Text
        } else {
            Opcode::Continuation
        };
        part(&mut out, opcode, index + 1 == count, &ASCII, length);
    }
    out
}

/// The number of items in one read.
fn items(decoder: &mut Decoder, config: &DecoderConfig, read: &mut [u8], now: u64) -> usize {
    let mut input = Input::new(black_box(read));
    let mut items = 0;
    while let Some(item) = decoder
        .next(&mut input, config, now)
        .expect("the frames are valid")
    {
        items += usize::from(!matches!(black_box(item), Item::Close { .. }));
    }
    items
}

fn decode(count: u64, stream: &[u8]) {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut read = stream.to_vec();
    for turn in 0..count {
        // reads are a minute apart, so that the limit on pings is never met
        let items = items(&mut decoder, &config, &mut read, turn * 60_000);
        assert!(black_box(items) > 0);
    }
}

fn decode_in_two_reads(count: u64, stream: &[u8]) {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut stream = stream.to_vec();
    let half = stream.len() / 2;
    for _ in 0..count {
        let (first, second) = stream.split_at_mut(half);
        assert_eq!(items(&mut decoder, &config, first, 0), 0);
        assert_eq!(items(&mut decoder, &config, second, 0), 1);
    }
}

fn encode(count: u64, length: usize) {
    let (payload, mut out) = (vec![b'p'; length], Vec::with_capacity(32 * 1024));
    for _ in 0..count {
        out.clear();
        append_frame(&mut out, Opcode::Text, black_box(&payload));
        black_box(&out);
    }
}

/// Checks a browser's request and computes the key of the answer.
fn shake_hands(count: u64) {
    let headers: [(&str, &[u8]); 11] = [
        ("host", b"example.com"),
        ("connection", b"keep-alive, Upgrade"),
        ("pragma", b"no-cache"),
        ("cache-control", b"no-cache"),
        ("user-agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0)"),
        ("upgrade", b"websocket"),
        ("origin", b"https://example.com"),
        ("sec-websocket-version", b"13"),
        ("accept-language", b"en-GB,en;q=0.9"),
        ("sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", b"chat, superchat"),
    ];
    let head = RequestHead {
        get: true,
        http_1_1: true,
        headers: &headers,
    };
    for _ in 0..count {
        let offer = check(black_box(&head)).expect("the request is valid");
        black_box(accept_key(offer.key));
    }
}
