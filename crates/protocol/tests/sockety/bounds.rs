//! The limits, and that neither announced sizes nor contents allocate memory.

use millrace_protocol::sockety::{
    DecodeError, Decoder, DecoderConfig, append_data_head, append_head, append_stream_head,
    append_switch,
};

use crate::seen::{Draft, Seen, U, after_header, feed, hex, most_held};

/// A decoder after the connection header.
fn begun(config: &DecoderConfig) -> Decoder {
    let mut decoder = Decoder::new();
    feed(&mut decoder, config, &[0xe3], &mut vec![]).unwrap();
    decoder
}

/// How much an empty head counts in addition to its bytes.
const HEAD: usize = 160;

#[test]
fn an_announced_head_holds_no_memory() {
    let config = DecoderConfig::default();
    let (mut decoder, mut seen) = (begun(&config), vec![]);
    feed(&mut decoder, &config, &hex("28 000010"), &mut seen).unwrap();
    assert!(decoder.held_bytes() <= HEAD);
    assert_eq!(
        decoder.pending(),
        HEAD + (1 << 20),
        "the announced bytes count but are not allocated"
    );
    // an action, and two of the files that a head may have
    let body = hex("30 U 01 61 102700 0200 00 01 01 62 00 01 01 63");
    for (received, byte) in (1..).zip(&body) {
        feed(&mut decoder, &config, &[*byte], &mut seen).unwrap();
        assert_eq!(decoder.unfinished(), Some(received));
        let files = 4 * size_of::<u64>();
        assert!(decoder.held_bytes() <= HEAD + 2 * received + files);
    }
    assert_eq!(seen, []);
}

#[test]
fn a_head_in_many_packets_is_rarely_copied() {
    let config = DecoderConfig::default();
    let (mut decoder, mut changes) = (begun(&config), 0);
    // the action is longer than its received part
    let body = hex("02 U ffff 61*9981");
    feed(&mut decoder, &config, &hex("20 00"), &mut vec![]).unwrap();
    for (received, byte) in (1..).zip(&body) {
        let before = decoder.held_bytes();
        feed(&mut decoder, &config, &[0x60, 1, *byte], &mut vec![]).unwrap();
        changes += u32::from(decoder.held_bytes() != before);
        assert_eq!(decoder.unfinished(), Some(received));
        assert!(decoder.held_bytes() <= decoder.pending());
    }
    assert_eq!((body.len(), decoder.unfinished()), (10_000, Some(10_000)));
    assert!(
        changes <= 15,
        "{changes} reallocations, each of which doubles the capacity"
    );
}

#[test]
fn three_of_the_largest_heads_may_be_pending() {
    let config = DecoderConfig::default();
    let (mut decoder, mut seen) = (begun(&config), vec![]);
    // a head of files with long names, without its last byte
    let files = hex("02 00 ffff 61*65535").repeat(16);
    let mut head = [hex("28 ffff0f 10 U 01 66 ff 0000"), files].concat();
    head.truncate(4 + (1 << 20) - 1);
    for channel in ["00", "01", "02"] {
        let stream = [hex(channel), head.clone()].concat();
        feed(&mut decoder, &config, &stream, &mut seen).unwrap();
    }
    assert!(decoder.held_bytes() <= decoder.pending());
    let ends = hex("60 01 00 01 60 01 00 00 60 01 00");
    feed(&mut decoder, &config, &ends, &mut seen).unwrap();
    assert_eq!((decoder.unfinished(), seen), (Some(3 << 20), vec![]));
}

#[test]
fn announced_contents_hold_no_memory() {
    let config = DecoderConfig::default();
    let (mut decoder, mut seen) = (begun(&config), vec![]);
    let most = (1 << 48) - 1;
    let draft = Draft {
        data_size: most,
        has_stream: true,
        files: vec![("f".to_owned(), most)],
        ..Draft::message(U, "a")
    };
    let mut out = Vec::new();
    draft.with(|head| append_head(head, &mut out).unwrap());
    append_data_head(u32::MAX, &mut out);
    feed(&mut decoder, &config, &out, &mut seen).unwrap();
    assert!(decoder.held_bytes() <= 100, "{}", decoder.held_bytes());
    assert_eq!((decoder.unfinished(), decoder.is_busy()), (None, true));
}

#[test]
fn contents_are_borrowed_and_never_held() {
    let config = DecoderConfig::default();
    let mut decoder = begun(&config);
    let draft = Draft {
        data_size: 32 << 20,
        has_stream: true,
        ..Draft::message(U, "a")
    };
    let mut out = Vec::new();
    draft.with(|head| append_head(head, &mut out).unwrap());
    append_stream_head(32 << 20, &mut out);
    feed(&mut decoder, &config, &out, &mut vec![]).unwrap();
    let piece = vec![7; 64 << 10];
    let mut heads = Vec::new();
    append_data_head(32 << 20, &mut heads);
    for front in [vec![], heads] {
        feed(&mut decoder, &config, &front, &mut vec![]).unwrap();
        for _ in 0..512 {
            let mut input = &piece[..];
            let item = decoder.next(&mut input, &config).unwrap().unwrap();
            match Seen::of(&item) {
                Seen::Stream(0, bytes) | Seen::Data(0, bytes, ..) => assert!(bytes == piece),
                other => panic!("{other:?}"),
            }
            assert_eq!(decoder.held_bytes(), 0);
        }
    }
    feed(&mut decoder, &config, &[0x80], &mut vec![]).unwrap();
    assert!(!decoder.is_busy());
}

#[test]
fn a_short_message_in_one_read_is_not_copied() {
    let config = DecoderConfig::default();
    let mut decoder = begun(&config);
    let stream = hex("21 17 00 U 05 68656c6c6f a0 30 P b0").repeat(3);
    let mut input = &stream[..];
    let range = stream.as_ptr_range();
    while let Some(item) = decoder.next(&mut input, &config).unwrap() {
        if let millrace_protocol::sockety::Item::Message { head, .. } = item {
            let millrace_protocol::sockety::Subject::Action(action) = head.subject else {
                panic!("a message");
            };
            assert!(range.contains(&action.as_ptr()));
        }
        assert_eq!((decoder.held_bytes(), decoder.unfinished()), (0, None));
    }
}

#[test]
fn the_limits_of_a_head_are_inclusive() {
    let config = DecoderConfig {
        head_bytes: 30,
        files: 2,
        ..DecoderConfig::default()
    };
    let message = "20 1e 10 U 01 66 02 0200 00 02 01 62 00 00 01 63";
    assert_eq!(after_header(&config, message).len(), 1);
    let in_pieces = "20 13 10 U 01 66 60 0b 02 0200 00 02 01 62 00 00 01 63";
    assert_eq!(after_header(&config, in_pieces).len(), 1);
    let refused = |text: &str| after_header(&config, text).pop();
    let too_big = |size| Some(Seen::Error(DecodeError::HeadTooBig(size)));
    assert_eq!(refused("20 1f"), too_big(31));
    assert_eq!(refused("20 13 10 U 01 66 60 0c"), too_big(12));
    let files = "20 16 10 U 01 66 03 0000";
    let too_many = Some(Seen::Error(DecodeError::TooManyFiles(3)));
    assert_eq!(refused(files), too_many);
}

/// Sends packets on channel after channel until they are refused. Returns how often they were accepted.
fn until_refused(config: &DecoderConfig, packets: &[u8]) -> (u16, Option<DecodeError>) {
    let mut decoder = begun(config);
    for channel in 0..config.channels {
        let mut stream = Vec::new();
        append_switch(channel, &mut stream).unwrap();
        stream.extend(packets);
        if let Err(error) = feed(&mut decoder, config, &stream, &mut vec![]) {
            assert_eq!(decoder.held_bytes(), 0);
            return (channel, Some(error));
        }
        if channel % 64 == 0 {
            assert!(decoder.held_bytes() <= most_held(config));
        }
    }
    assert!(decoder.held_bytes() <= most_held(config));
    (config.channels, None)
}

#[test]
fn heads_on_all_channels_together_are_bounded() {
    let config = DecoderConfig {
        pending_bytes: 100_000,
        ..DecoderConfig::default()
    };
    let pending = Some(DecodeError::TooMuchPending);
    // each head has 1000 bytes, which count as 1024 and 160 more; its action is incomplete
    let head = hex("24 e803 02 U ffff 61*981");
    assert_eq!(until_refused(&config, &head), (84, pending));
    assert_eq!(until_refused(&config, &hex("20 00")), (625, pending));
    let no_bound = DecoderConfig::default();
    assert_eq!(until_refused(&no_bound, &hex("20 00")), (4096, None));
}

#[test]
fn files_in_progress_are_bounded() {
    let config = DecoderConfig {
        pending_bytes: 100_000,
        ..DecoderConfig::default()
    };
    let draft = Draft {
        files: vec![(String::new(), 1); 100],
        ..Draft::message(U, "f")
    };
    let mut packets = Vec::new();
    draft.with(|head| append_head(head, &mut packets).unwrap());
    // each message counts 100 * 16 + 48, and the last one its head, too
    let refused = until_refused(&config, &packets);
    assert_eq!(refused, (60, Some(DecodeError::TooMuchPending)));
}

#[test]
fn files_before_the_rest_of_the_head_are_bounded() {
    let config = DecoderConfig {
        pending_bytes: 1000,
        ..DecoderConfig::default()
    };
    // 27 bytes of the head came, which count as 32, with one of its two files
    let head = "20 1b 14 U 01 66 02 e80300 04 e803 00";
    let refused = |text: &str| after_header(&config, text).pop();
    let fits = 1000 - 32 - HEAD - 48 - 16;
    let text = |size: usize| format!("{head} c4 {:02x}{:02x} 61*{size}", size % 256, size / 256);
    let file = Seen::File(0, 0, vec![b'a'; fits]);
    assert_eq!(refused(&text(fits)), Some(file));
    let error = Some(Seen::Error(DecodeError::TooMuchPending));
    assert_eq!(refused(&text(fits + 1)), error);
    assert_eq!(refused(&format!("{} c0 01 61", text(fits))), error);
}

#[test]
fn finished_messages_no_longer_count() {
    let config = DecoderConfig {
        pending_bytes: 400,
        ..DecoderConfig::default()
    };
    let (mut decoder, mut seen) = (begun(&config), vec![]);
    for channel in ["00", "01", "00", "1f ff"].repeat(50) {
        for end in ["60 01 61", "90"] {
            let stream = hex(&format!("{channel} 20 12 00 U 01 05 00 {channel} {end}"));
            feed(&mut decoder, &config, &stream, &mut seen).unwrap();
        }
        let files = "20 1a 10 U 01 66 01 0200 00 02 01 62 c0 02 6162 05 00";
        let stream = hex(&format!("{channel} {files} {channel} d0"));
        feed(&mut decoder, &config, &stream, &mut seen).unwrap();
    }
    assert_eq!((decoder.is_busy(), decoder.unfinished()), (false, None));
    assert_eq!(decoder.pending(), 0);
}

#[test]
fn all_channels_may_be_busy_and_are_freed() {
    let config = DecoderConfig::default();
    let (mut decoder, mut stream) = (begun(&config), Vec::new());
    for channel in 0..4096 {
        append_switch(channel, &mut stream).unwrap();
        stream.extend(hex("22 13 00 U 01 61 70 01 78"));
    }
    feed(&mut decoder, &config, &stream, &mut vec![]).unwrap();
    assert!(
        decoder.held_bytes() <= 33 * 4 * 4096,
        "{}",
        decoder.held_bytes()
    );
    stream.clear();
    for channel in (0..4096).rev() {
        append_switch(channel, &mut stream).unwrap();
        stream.push(0x80);
    }
    let mut seen = vec![];
    feed(&mut decoder, &config, &stream, &mut seen).unwrap();
    assert_eq!(seen.len(), 4096);
    assert!(
        seen.iter()
            .all(|one| matches!(one, Seen::StreamEnd(_, true)))
    );
    assert_eq!((decoder.held_bytes(), decoder.is_busy()), (0, false));
}

#[test]
fn choosing_channels_allocates_nothing() {
    let config = DecoderConfig::default();
    let mut decoder = begun(&config);
    for channel in 0..4096 {
        let mut stream = Vec::new();
        append_switch(channel, &mut stream).unwrap();
        feed(&mut decoder, &config, &stream, &mut vec![]).unwrap();
        assert_eq!(decoder.held_bytes(), 0);
    }
}
