//! The cost of a frame: decoding in place, and encoding into a buffer that is already allocated.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use millrace_protocol::websocket::handshake::{RequestHead, accept_key, check};
use millrace_protocol::websocket::{
    Decoder, DecoderConfig, Input, Item, Opcode, append_frame, append_part,
};

fn main() {
    divan::main();
}

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn frames(opcode: Opcode, payload: &[u8], count: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    append_part(&mut frame, opcode, true, Some(KEY), payload);
    frame.repeat(count)
}

/// Decodes `stream` as one read, restoring its masked bytes before each round.
fn decode(bencher: Bencher<'_, '_>, stream: &[u8]) {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut read = stream.to_vec();
    bencher
        .counter(BytesCount::of_slice(stream))
        .bench_local(|| {
            read.copy_from_slice(stream);
            let mut input = Input::new(black_box(&mut read));
            let mut bytes = 0;
            while let Ok(Some(item)) = decoder.next(&mut input, &config, 0) {
                if let Item::Message { ascii, payload, .. } = black_box(item) {
                    bytes += payload.len() + usize::from(ascii);
                }
            }
            bytes
        });
}

#[divan::bench]
fn copy_64_bytes_the_floor_of_decode_text_64(bencher: Bencher<'_, '_>) {
    let stream = frames(Opcode::Text, &[b'x'; 64], 1);
    let mut read = stream.clone();
    bencher.bench_local(|| {
        read.copy_from_slice(&stream);
        black_box(&mut read).len()
    });
}

#[divan::bench(args = [1, 16])]
fn decode_text_64(bencher: Bencher<'_, '_>, count: usize) {
    decode(bencher, &frames(Opcode::Text, &[b'x'; 64], count));
}

#[divan::bench]
fn decode_text_64_not_ascii(bencher: Bencher<'_, '_>) {
    decode(
        bencher,
        &frames(Opcode::Text, "d\u{e9}j\u{e0} vu, ".repeat(6).as_bytes(), 1),
    );
}

#[divan::bench(args = [64, 1024, 16_384])]
fn decode_binary(bencher: Bencher<'_, '_>, length: usize) {
    decode(bencher, &frames(Opcode::Binary, &vec![0xb5; length], 1));
}

#[divan::bench(args = [2, 16])]
fn decode_text_in_fragments_of_256(bencher: Bencher<'_, '_>, count: usize) {
    let mut stream = Vec::new();
    for index in 0..count {
        let opcode = if index == 0 {
            Opcode::Text
        } else {
            Opcode::Continuation
        };
        let fin = index + 1 == count;
        append_part(&mut stream, opcode, fin, Some(KEY), &[b'x'; 256]);
    }
    decode(bencher, &stream);
}

#[divan::bench]
fn decode_ping(bencher: Bencher<'_, '_>) {
    let config = DecoderConfig {
        control_per_second: 1_000_000,
        ..DecoderConfig::default()
    };
    let stream = frames(Opcode::Ping, b"12345678", 1);
    let (mut decoder, mut read, mut now_ms) = (Decoder::new(), stream.clone(), 0);
    bencher.bench_local(|| {
        read.copy_from_slice(&stream);
        now_ms += 1;
        matches!(
            decoder.next(&mut Input::new(black_box(&mut read)), &config, now_ms),
            Ok(Some(Item::Ping(_)))
        )
    });
}

#[divan::bench(args = [1024, 16_384, 1 << 20])]
fn decode_binary_split_into_reads_of_16_kib(bencher: Bencher<'_, '_>, length: usize) {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut stream = frames(Opcode::Binary, &vec![0xb5; length], 1);
    bencher
        .counter(BytesCount::of_slice(&stream))
        .bench_local(|| {
            let mut bytes = 0;
            for read in stream.chunks_mut((length / 2).min(16_384)) {
                let mut input = Input::new(black_box(read));
                while let Ok(Some(Item::Message { payload, .. })) =
                    decoder.next(&mut input, &config, 0)
                {
                    bytes += black_box(payload).len();
                }
            }
            bytes
        });
}

#[divan::bench(args = [64, 1024, 16_384])]
fn encode(bencher: Bencher<'_, '_>, length: usize) {
    let (payload, mut out) = (vec![b'x'; length], Vec::with_capacity(32 * 1024));
    bencher
        .counter(BytesCount::of_slice(&payload))
        .bench_local(|| {
            out.clear();
            append_frame(&mut out, Opcode::Text, black_box(&payload));
            black_box(&out).len()
        });
}

/// Checks a request and computes the key of its response.
#[divan::bench]
fn handshake(bencher: Bencher<'_, '_>) {
    let headers: [(&str, &[u8]); 6] = [
        ("host", b"example.com"),
        ("connection", b"keep-alive, Upgrade"),
        ("upgrade", b"websocket"),
        ("origin", b"https://example.com"),
        ("sec-websocket-version", b"13"),
        ("sec-websocket-key", b"dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let head = RequestHead {
        get: true,
        http_1_1: true,
        headers: &headers,
    };
    bencher.bench(|| check(black_box(&head)).map(|offer| accept_key(offer.key)));
}
