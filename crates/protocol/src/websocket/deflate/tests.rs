//! The codecs against each other, and the deflater against a strict and independent inflater.

use super::super::item::Payload;
use super::*;

mod strict;

const HELLO: [u8; 7] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];

fn inflate(compressed: &[u8], history: &[u8], most: usize) -> Result<Vec<u8>, InflateError> {
    let mut inflater = Inflater::new();
    inflater
        .inflate(compressed, history, most)
        .map(Payload::into_vec)
}

fn bits(number: u8) -> WindowBits {
    WindowBits::new(number).unwrap()
}

/// Text in which matches of every distance can be found.
fn text(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut words = Vec::new();
    while words.len() < length {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words.extend_from_slice(format!("{{\"id\":{},", (state >> 16) % 300).as_bytes());
    }
    words.truncate(length);
    words
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn the_examples_of_rfc_7692_are_read() {
    let stored = [
        0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00,
    ];
    let with_final = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    let two_blocks = [
        0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00,
    ];
    for example in [&HELLO[..], &stored, &with_final, &two_blocks] {
        assert_eq!(inflate(example, b"", 5).unwrap(), b"Hello", "{example:x?}");
        assert_eq!(inflate(example, b"", 4), Err(InflateError::TooBig));
    }
    let again = [0xf2, 0x00, 0x11, 0x00, 0x00];
    assert_eq!(inflate(&again, b"Hello", 5).unwrap(), b"Hello");
    assert_eq!(inflate(&again, b"", 5), Err(InflateError::Corrupt));
    assert_eq!(inflate(&[0], b"", 0).unwrap(), b"");
    assert_eq!(inflate(&with_final[..7], b"", 5).unwrap(), b"Hello");
}

#[test]
fn the_deflater_writes_the_example_of_rfc_7692() {
    let mut out = b"before".to_vec();
    let mut deflater = Deflater::new(6, WindowBits::MOST);
    deflater.append(b"Hello", b"", &mut out);
    deflater.append(b"", b"", &mut out);
    assert_eq!(out, [&b"before"[..], &HELLO, &[0]].concat());
}

#[test]
fn every_level_and_window_is_read_by_a_strict_inflater() {
    let mut inflater = Inflater::new();
    for window in (8..=15).map(bits) {
        for level in 0..=9 {
            let mut deflater = Deflater::new(level, window);
            let mut history = History::new(window);
            for message in [
                text(5),
                text(600),
                noise(700),
                Vec::new(),
                text(70_000),
                vec![b'a'; 3000],
                text(9000),
            ] {
                let mut alone = Vec::new();
                deflater.append(&message, b"", &mut alone);
                let found = strict::inflate(&alone, b"", window.bytes());
                assert!(found == message, "{window:?} {level} {}", message.len());
                let mut with = Vec::new();
                deflater.append(&message, history.bytes(), &mut with);
                let found = strict::inflate(&with, history.bytes(), window.bytes());
                assert!(found == message, "{window:?} {level} {}", message.len());
                let found = inflater.inflate(&with, history.bytes(), 1 << 20).unwrap();
                assert!(*found == message, "{window:?} {level} {}", message.len());
                history.push(&message);
            }
        }
    }
}

#[test]
fn a_history_makes_repeated_messages_short() {
    let (message, window) = (text(1000), WindowBits::MOST);
    let mut deflater = Deflater::new(6, window);
    let mut history = History::new(window);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    deflater.append(&message, history.bytes(), &mut first);
    history.push(&message);
    deflater.append(&message, history.bytes(), &mut second);
    assert!(second.len() < 20 && first.len() > 10 * second.len());
    assert_eq!(inflate(&second, history.bytes(), 1000).unwrap(), message);
    assert_eq!(inflate(&second, b"", 1000), Err(InflateError::Corrupt));
}

#[test]
fn a_history_is_the_end_of_the_text_and_grows_with_it() {
    let mut history = History::new(bits(8));
    let mut whole = Vec::new();
    for length in [0, 10, 100, 256, 3, 300, 255, 1] {
        let message = text(length);
        history.push(&message);
        whole.extend_from_slice(&message);
        assert_eq!(history.bytes(), &whole[whole.len().saturating_sub(256)..]);
        assert!(history.held() <= 256 && history.held() <= 2 * whole.len());
    }
}

#[test]
fn text_before_the_history_is_out_of_reach_although_the_state_is_shared() {
    let mut inflater = Inflater::new();
    let secret = text(5000);
    let mut compressed = Vec::new();
    Deflater::new(6, WindowBits::MOST).append(&secret, b"", &mut compressed);
    assert!(*inflater.inflate(&compressed, b"", 5000).unwrap() == secret);
    let (mut back, mut last) = (Vec::new(), Err(InflateError::Corrupt));
    Deflater::new(6, WindowBits::MOST).append(&secret[100..200], &secret, &mut back);
    last = last.and(inflater.inflate(&back, b"", 5000).map(Payload::into_vec));
    assert_eq!(last, Err(InflateError::Corrupt));
    let found = inflater.inflate(&back, &secret, 5000).unwrap();
    assert_eq!(*found, secret[100..200]);
}

#[test]
fn truncated_and_overlong_streams_are_corrupt() {
    let message = text(3000);
    let mut compressed = Vec::new();
    Deflater::new(6, WindowBits::MOST).append(&message, b"", &mut compressed);
    for cut in 0..compressed.len() {
        let found = inflate(&compressed[..cut], b"", 5000);
        assert!(found != Ok(message.clone()), "{cut}");
    }
    for bad in [
        &[][..],
        &[0xff],
        &[0x06],
        &[0x00, 0x05, 0x00, 0x00],
        &[0xf2, 0x48],
    ] {
        assert_eq!(
            inflate(bad, b"", 5000),
            Err(InflateError::Corrupt),
            "{bad:x?}"
        );
    }
    let trailing = [&HELLO[..], b"\xff"].concat();
    assert_eq!(inflate(&trailing, b"", 5000), Err(InflateError::Corrupt));
}

#[test]
fn text_continues_after_final_blocks_but_not_after_too_many() {
    let mut window = Vec::new();
    for _ in 0..10 {
        window.extend_from_slice(&[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]); // "Hello" in a final block
    }
    window.extend_from_slice(&[0xf2, 0x00, 0x11, 0x00, 0x00]); // "Hello", from 5 bytes before
    assert_eq!(inflate(&window, b"", 100).unwrap(), b"Hello".repeat(11));
    let mut many = [0x03, 0x00].repeat(16);
    many.push(0);
    assert_eq!(inflate(&many, b"", 100).unwrap(), b"");
    let mut many = [0x03, 0x00].repeat(1000);
    many.push(0);
    assert_eq!(inflate(&many, b"", 100), Err(InflateError::Corrupt));
}

#[test]
fn a_bomb_costs_its_bound_and_the_room_is_given_back() {
    let mut compressed = Vec::new();
    Deflater::new(9, WindowBits::MOST).append(&vec![0; 64 << 20], b"", &mut compressed);
    assert!(compressed.len() < 70_000);
    let mut inflater = Inflater::new();
    for most in [
        0,
        1,
        1000,
        inflater::SHORT - 1,
        inflater::SHORT,
        1 << 20,
        (1 << 20) + 1,
    ] {
        let result = inflater
            .inflate(&compressed, b"", most)
            .map(Payload::into_vec);
        assert_eq!(result, Err(InflateError::TooBig));
        assert!(inflater.held() <= inflater::SHORT);
    }
    let whole = inflater.inflate(&compressed, b"", 64 << 20).unwrap();
    assert!(
        matches!(&whole, Payload::Owned(bytes) if bytes.len() == 64 << 20 && bytes.capacity() == bytes.len())
    );
    assert!(inflater.held() <= inflater::SHORT);
}

#[test]
fn a_message_of_exactly_the_bound_passes() {
    for length in [
        1,
        1000,
        inflater::SHORT - 1,
        inflater::SHORT,
        inflater::SHORT + 1,
        300_000,
    ] {
        for message in [text(length), noise(length), vec![b' '; length]] {
            let mut compressed = Vec::new();
            Deflater::new(1, WindowBits::MOST).append(&message, b"", &mut compressed);
            assert!(inflate(&compressed, b"", length).unwrap() == message);
            assert_eq!(
                inflate(&compressed, b"", length - 1),
                Err(InflateError::TooBig)
            );
        }
    }
}

#[test]
fn stored_blocks_are_a_message_too() {
    for length in [0, 1, 65_535, 65_536, 200_000] {
        let mut out = Vec::new();
        deflater::append_stored(&noise(length), &mut out);
        assert!(inflate(&out, b"", length).unwrap() == noise(length));
    }
}
