//! Tests messages that are taken out in parts before they are complete.

use super::super::encode::append_part;
use super::*;

const KEY: Option<[u8; 4]> = Some([9, 8, 7, 6]);

#[test]
fn a_text_is_cut_between_characters_and_still_checked() {
    let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Text, false, KEY, "a\u{20ac}".as_bytes());
    append_part(&mut read, Opcode::Continuation, true, KEY, b"b");
    let mut parts = Vec::new();
    let mut last = None;
    for at in 0..read.len() {
        let item = decoder.next(&mut Input::new(&mut read[at..=at]), &config, 0);
        if let Some(Item::Message { payload, .. }) = item.unwrap() {
            last = Some(payload.into_vec());
        } else if let Some((kind, part)) = decoder.take_part() {
            assert_eq!(kind, Kind::Text);
            parts.push(part);
        }
    }
    assert_eq!(parts, [&b"a"[..], "\u{20ac}".as_bytes()]);
    assert_eq!(last.as_deref(), Some(&b"b"[..]));
    assert!(decoder.is_idle() && decoder.take_part().is_none());

    let mut read = Vec::new();
    append_part(&mut read, Opcode::Text, false, KEY, b"a\xe2\x82");
    append_part(&mut read, Opcode::Continuation, true, KEY, b"b");
    let mut input = Input::new(&mut read[..9]);
    assert_eq!(decoder.next(&mut input, &config, 0), Ok(None));
    assert_eq!(decoder.take_part(), Some((Kind::Text, b"a".to_vec())));
    let mut input = Input::new(&mut read[9..]);
    let error = decoder.next(&mut input, &config, 0);
    assert_eq!(error, Err(DecodeError::InvalidUtf8));
}

#[test]
fn parts_do_not_change_the_limit_of_a_message() {
    let (mut decoder, config) = (
        Decoder::new(),
        DecoderConfig {
            message_bytes: 10,
            ..Default::default()
        },
    );
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Binary, false, KEY, &[1; 8]);
    assert_eq!(
        decoder.next(&mut Input::new(&mut read), &config, 0),
        Ok(None)
    );
    assert!(decoder.take_part().is_some());
    assert_eq!(decoder.unfinished_bytes(), 0);
    let mut read = Vec::new();
    append_part(&mut read, Opcode::Continuation, true, KEY, &[1; 3]);
    let error = decoder.next(&mut Input::new(&mut read), &config, 0);
    assert!(matches!(error, Err(DecodeError::MessageTooBig(_))));
}
