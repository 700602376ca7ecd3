//! The limits, and that announced lengths allocate nothing.

use millrace_protocol::websocket::{
    DecodeError, Decoder, DecoderConfig, Input, Item, Opcode, Payload,
};

use crate::seen::{Seen, client, decode, feed, masked, server};

/// The head of a masked binary frame that announces `length` bytes.
fn announcement(first: u8, length: u64) -> Vec<u8> {
    [&[first, 0xff][..], &length.to_be_bytes(), &[1, 2, 3, 4]].concat()
}

#[test]
fn an_announced_length_holds_no_memory() {
    let (mut decoder, config, mut seen) = (Decoder::new(), DecoderConfig::default(), Vec::new());
    feed(
        &mut decoder,
        &config,
        &announcement(0x82, 16 << 20),
        &mut seen,
    );
    assert_eq!((decoder.is_idle(), decoder.unfinished_bytes()), (false, 0));
    assert!(
        decoder.held_bytes() < 300,
        "{} bytes are held for a head",
        decoder.held_bytes()
    );
    for received in [1usize, 2, 3, 50, 51] {
        let more = received - decoder.unfinished_bytes();
        feed(&mut decoder, &config, &vec![0; more], &mut seen);
        assert_eq!(decoder.unfinished_bytes(), received);
        assert!(decoder.held_bytes() < 300 + 2 * received);
    }
    assert_eq!(seen, []);
}

#[test]
fn a_message_over_the_limit_is_refused_with_its_head() {
    let refused = |read: &[u8], bytes| {
        let expected = vec![Seen::Error(DecodeError::MessageTooBig(bytes))];
        assert_eq!(decode(&server(100_000), [read]).0, expected);
    };
    refused(&announcement(0x82, 100_001)[..10], 100_001);
    refused(&announcement(0x82, (1 << 63) - 1)[..10], (1 << 63) - 1);
    let first = masked(Opcode::Text, false, &vec![b'a'; 60_000]);
    refused(&[&first[..], &[0x80, 0xfe, 0x9c, 0x41]].concat(), 40_001);
    refused(
        &[
            &first[..],
            &masked(Opcode::Continuation, false, &vec![b'a'; 40_000]),
            &[0x80, 0x81],
        ]
        .concat(),
        1,
    );
}

#[test]
fn the_bound_is_inclusive() {
    let whole = masked(Opcode::Binary, true, &[7; 100]);
    assert_eq!(
        decode(&server(100), [&whole[..]]).0,
        [Seen::binary(&[7; 100])]
    );
    let fragments = [
        masked(Opcode::Binary, false, &[7; 99]),
        masked(Opcode::Continuation, false, &[7; 1]),
        masked(Opcode::Ping, true, &[7; 125]),
        masked(Opcode::Continuation, true, b""),
    ];
    let expected = [Seen::Ping(vec![7; 125]), Seen::binary(&[7; 100])];
    assert_eq!(decode(&server(100), [&fragments.concat()[..]]).0, expected);
}

#[test]
fn empty_fragments_count_sixteen_bytes() {
    let stream = |count: usize| {
        let more = masked(Opcode::Continuation, false, b"").repeat(count - 1);
        [
            masked(Opcode::Binary, false, b""),
            more,
            masked(Opcode::Continuation, true, &[1; 4]),
        ]
        .concat()
    };
    assert_eq!(
        decode(&server(100), [&stream(6)[..]]).0,
        [Seen::binary(&[1; 4])]
    );
    assert_eq!(
        decode(&server(100), [&stream(7)[..]]).0,
        [Seen::Error(DecodeError::MessageTooBig(0))]
    );
}

#[test]
fn the_number_of_fragments_is_not_bounded() {
    let (bytes, fragments) = (4 << 20, 65_536);
    let payload: Vec<u8> = (0..bytes).map(|i: u32| i.to_le_bytes()[1]).collect();
    let mut stream = Vec::new();
    for (index, part) in payload.chunks(64).enumerate() {
        let opcode = if index == 0 {
            Opcode::Binary
        } else {
            Opcode::Continuation
        };
        stream.extend(masked(opcode, index == fragments - 1, part));
    }
    for read in [16 * 1024, 1000] {
        let (seen, frames, idle) = decode(&server(4 << 20), stream.chunks(read));
        assert!(seen == [Seen::binary(&payload)]);
        assert_eq!((frames, idle), (65_536, true));
    }
}

#[test]
fn an_assembled_message_is_returned_without_a_copy_or_spare_capacity() {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut stream = masked(Opcode::Binary, true, &vec![3; 1_000_000]);
    let mut taken = None;
    for read in stream.chunks_mut(16 * 1024) {
        let mut input = Input::new(read);
        while let Some(item) = decoder.next(&mut input, &config, 0).unwrap() {
            let Item::Message {
                payload: Payload::Owned(bytes),
                ..
            } = item
            else {
                panic!("an assembled message is owned");
            };
            taken = Some(bytes);
        }
    }
    let bytes = taken.unwrap();
    assert_eq!((bytes.len(), bytes.capacity()), (1_000_000, 1_000_000));
    assert_eq!(decoder.held_bytes(), 0);
}

#[test]
fn control_frames_are_bounded_in_rate_not_in_number() {
    let config = DecoderConfig::default();
    let mut decoder = Decoder::new();
    let mut admitted = |now_ms, count| {
        let mut read = masked(Opcode::Pong, true, b"x").repeat(count);
        let mut input = Input::new(&mut read);
        (0..count)
            .filter(|_| matches!(decoder.next(&mut input, &config, now_ms), Ok(Some(_))))
            .count()
    };
    assert_eq!(admitted(7, 1000), 1000, "a burst");
    assert_eq!(admitted(1007, 100), 100, "a second refills 100 tokens");
    assert_eq!(admitted(1016, 1), 0, "9 ms refill no token");
    let mut decoder = Decoder::new();
    let seen: Vec<_> = (0..6000u64)
        .map(|i| {
            decoder
                .next(
                    &mut Input::new(&mut masked(Opcode::Ping, true, b"")),
                    &config,
                    i * 10,
                )
                .is_ok()
        })
        .collect();
    assert!(
        seen.into_iter().all(|ok| ok),
        "100 per second are always allowed"
    );
}

#[test]
fn the_control_rate_is_enforced_within_messages_too() {
    let config = DecoderConfig {
        control_burst: 2,
        ..server(100)
    };
    let ping = masked(Opcode::Ping, true, b"p");
    let stream = [masked(Opcode::Text, false, b"t"), ping.repeat(3)].concat();
    let expected = [
        Seen::Ping(b"p".to_vec()),
        Seen::Ping(b"p".to_vec()),
        Seen::Error(DecodeError::ControlRate),
    ];
    assert_eq!(decode(&config, [&stream[..]]).0, expected);
    assert_eq!(DecodeError::ControlRate.close_code(), 1008);
    let off = DecoderConfig {
        control_per_second: 0,
        ..client(0)
    };
    assert_eq!(decode(&off, [&[0x8a, 0].repeat(5000)[..]]).0.len(), 5000);
}
