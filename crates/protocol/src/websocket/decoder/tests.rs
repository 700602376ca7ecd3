//! A decoder between two reads.

use super::super::config::Role;
use super::super::encode::{append_close, append_part};
use super::*;

const KEY: Option<[u8; 4]> = Some([9, 8, 7, 6]);

#[test]
fn a_kept_control_payload_is_freed_by_the_next_call() {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Ping, true, KEY, b"payload");
    let (first, second) = read.split_at_mut(9);

    let mut input = Input::new(first);
    assert_eq!(decoder.next(&mut input, &config, 0), Ok(None));
    assert!(!decoder.is_idle());
    assert_eq!(decoder.unfinished_bytes(), 3);

    let mut input = Input::new(second);
    assert_eq!(
        decoder.next(&mut input, &config, 0),
        Ok(Some(Item::Ping(b"payload")))
    );
    assert!(decoder.is_idle(), "the yielded item is finished");
    assert_eq!(decoder.unfinished_bytes(), 0);
    assert!(decoder.held_bytes() > 0);
    assert_eq!(decoder.next(&mut input, &config, 0), Ok(None));
    assert_eq!(decoder.held_bytes(), 0);
}

#[test]
fn a_close_within_a_message_discards_the_message() {
    let (mut decoder, config) = (
        Decoder::new(),
        DecoderConfig {
            role: Role::Client,
            ..Default::default()
        },
    );
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Text, false, None, &[b'x'; 10_000]);
    append_close(&mut read, 4321, "enough");
    append_part(&mut read, Opcode::Continuation, true, None, b"late");
    let mut input = Input::new(&mut read);
    let close = Item::Close {
        code: Some(4321),
        reason: "enough",
    };
    assert_eq!(decoder.next(&mut input, &config, 0), Ok(Some(close)));
    assert!(decoder.is_idle());
    assert!(decoder.held_bytes() < 500);
    assert_eq!(decoder.next(&mut input, &config, 0), Ok(None));
    assert_eq!((decoder.held_bytes(), input.remaining().len()), (0, 0));
}

#[test]
fn unconsumed_input_can_be_fed_again() {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut read = Vec::new();
    for payload in [b"one", b"two"] {
        append_part(&mut read, Opcode::Ping, true, KEY, payload);
    }
    let mut input = Input::new(&mut read);
    assert_eq!(
        decoder.next(&mut input, &config, 0),
        Ok(Some(Item::Ping(b"one")))
    );
    assert_eq!(input.frames(), 1);
    let mut stash = input.remaining().to_vec();
    let mut input = Input::new(&mut stash);
    assert_eq!(
        decoder.next(&mut input, &config, 0),
        Ok(Some(Item::Ping(b"two")))
    );
    assert_eq!((input.frames(), input.remaining().len()), (1, 0));
}

#[test]
fn unchecked_text_may_be_invalid() {
    let config = DecoderConfig {
        checks_text: false,
        ..Default::default()
    };
    let text = |item: Item<'_>| match item {
        Item::Message {
            kind: Kind::Text,
            ascii: false,
            payload,
        } => payload.into_vec(),
        other => panic!("{other:?}"),
    };
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Text, true, KEY, b"\xff\xffa");
    append_part(&mut read, Opcode::Text, false, KEY, b"\xff");
    append_part(&mut read, Opcode::Continuation, true, KEY, b"b");
    let (mut decoder, mut input) = (Decoder::new(), Input::new(&mut read));
    let mut next = || text(decoder.next(&mut input, &config, 0).unwrap().unwrap());
    assert_eq!((next(), next()), (b"\xff\xffa".to_vec(), b"\xffb".to_vec()));
}
