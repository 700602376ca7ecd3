//! Every error that ends a connection: one test for each, which also checks that nothing is decoded after
//! it.

use millrace_protocol::sockety::{Content, ContentsError, DecodeError, DecoderConfig};

use crate::seen::{Seen, after_header, decode, hex};

/// Checks that the last item is this error and returns the items before it.
fn refused(text: &str, error: impl Into<DecodeError>) -> Vec<Seen> {
    refused_by(&DecoderConfig::default(), text, error)
}

fn refused_by(config: &DecoderConfig, text: &str, error: impl Into<DecodeError>) -> Vec<Seen> {
    let mut seen = after_header(config, &format!("{text} a0"));
    assert_eq!(seen.pop(), Some(Seen::Error(error.into())), "{text}");
    seen
}

const DATA_3: &str = "20 14 40 U 01 61 03";
const STREAM: &str = "22 13 00 U 01 61";
const FILES_2_AND_0: &str = "20 1e 10 U 01 61 02 0200 00 02 01 62 00 00 01 63";
const NOTHING: &str = "20 13 00 U 01 61";
/// A head without its last byte.
const INCOMPLETE: &str = "20 12 00 U 01";

#[test]
fn a_wrong_control_byte_is_refused() {
    for first in ["00", "e4", "e8", "ef", "20", "47", "16", "ff"] {
        let stream = hex(&format!("{first} a0"));
        let error = DecodeError::ControlByte(stream[0]);
        let seen = decode(&DecoderConfig::default(), [&stream[..]]);
        assert_eq!(seen, [Seen::Error(error)]);
        assert_eq!(error.close_code(), 1002);
    }
}

#[test]
fn a_header_without_a_channel_is_refused() {
    let stream = hex("e2 0000 a0");
    for step in 1..5 {
        let seen = decode(&DecoderConfig::default(), stream.chunks(step));
        assert_eq!(seen, [Seen::Error(DecodeError::NoChannels)]);
    }
}

#[test]
fn an_unknown_type_is_refused() {
    assert_eq!(refused("f0", DecodeError::UnknownType(0xf0)), []);
    let seen = refused("a0 ff 00", DecodeError::UnknownType(0xff));
    assert_eq!(seen, [Seen::Heartbeat]);
}

#[test]
fn a_channel_that_was_not_announced_is_refused() {
    let one = DecoderConfig {
        channels: 1,
        ..DecoderConfig::default()
    };
    refused_by(&one, "01", DecodeError::Channel(1));
    refused_by(&one, "00 10 00 1f ff", DecodeError::Channel(4095));
    let some = DecoderConfig {
        channels: 300,
        ..DecoderConfig::default()
    };
    refused_by(&some, "11 2b 11 2c", DecodeError::Channel(300));
}

#[test]
fn there_is_at_least_one_channel() {
    let none = DecoderConfig {
        channels: 0,
        ..DecoderConfig::default()
    };
    // the header then announces 1 channel
    let chosen = after_header(&none, &format!("00 10 00 {NOTHING}"));
    assert!(matches!(chosen[..], [Seen::Message(0, _, true)]));
    refused_by(&none, "00 01", DecodeError::Channel(1));
}

#[test]
fn a_message_on_a_busy_channel_is_refused() {
    for begun in [DATA_3, STREAM, FILES_2_AND_0, INCOMPLETE] {
        refused(&format!("{begun} {NOTHING}"), DecodeError::ChannelBusy(0));
        let response = format!("05 {begun} 00 05 50 21 00 P U");
        refused(&response, DecodeError::ChannelBusy(5));
    }
}

#[test]
fn a_continuation_without_an_incomplete_head_is_refused() {
    refused("60 01 61", DecodeError::StrayContinue(0));
    refused(&format!("{NOTHING} 60 00"), DecodeError::StrayContinue(0));
    refused(&format!("{DATA_3} 60 01 00"), DecodeError::StrayContinue(0));
    refused(
        &format!("{INCOMPLETE} 03 60 01 61"),
        DecodeError::StrayContinue(3),
    );
    let complete = format!("{INCOMPLETE} 60 01 61 60 00");
    assert_eq!(refused(&complete, DecodeError::StrayContinue(0)).len(), 1);
}

#[test]
fn a_body_longer_than_its_fields_is_refused() {
    assert_eq!(refused("20 14 00 U 01 61 00", DecodeError::BodyTooLong), []);
    refused("50 22 00 P U 00", DecodeError::BodyTooLong);
    refused(
        &format!("{INCOMPLETE} 60 02 61 62"),
        DecodeError::BodyTooLong,
    );
    refused("20 17 10 U 01 61 00 0000 00", DecodeError::BodyTooLong);
}

#[test]
fn contents_without_a_message_are_refused() {
    for (packet, content) in [
        ("e0 01 61", Content::Data),
        ("e0 00", Content::Data),
        ("70 01 61", Content::Stream),
        ("80", Content::StreamEnd),
        ("c0 01 61", Content::File),
        ("d0", Content::FileEnd),
    ] {
        let error = ContentsError::Unexpected(content);
        assert_eq!(refused(packet, error), []);
        assert_eq!(refused(&format!("{NOTHING} {packet}"), error).len(), 1);
        // an incomplete head has no contents yet, except files whose headers have come
        refused(&format!("{INCOMPLETE} {packet}"), error);
        assert_eq!(refused(&format!("{DATA_3} 01 {packet}"), error).len(), 1);
    }
}

#[test]
fn data_that_was_not_announced_is_refused() {
    refused(
        &format!("{STREAM} e0 01 61"),
        ContentsError::Unexpected(Content::Data),
    );
    refused(
        &format!("{FILES_2_AND_0} e0 00"),
        ContentsError::Unexpected(Content::Data),
    );
}

#[test]
fn a_stream_that_was_not_announced_or_has_ended_is_refused() {
    let (stream, end) = (
        ContentsError::Unexpected(Content::Stream),
        ContentsError::Unexpected(Content::StreamEnd),
    );
    refused(&format!("{DATA_3} 70 00"), stream);
    refused(&format!("{DATA_3} 80"), end);
    let both = "22 14 40 U 01 61 03 80";
    refused(&format!("{both} 70 01 61"), stream);
    refused(&format!("{both} 80"), end);
    refused(&format!("{STREAM} 80 80"), end);
}

#[test]
fn files_that_were_not_announced_are_refused() {
    refused(
        &format!("{STREAM} c0 00"),
        ContentsError::Unexpected(Content::File),
    );
    refused(
        &format!("{DATA_3} d0"),
        ContentsError::Unexpected(Content::FileEnd),
    );
}

#[test]
fn too_much_data_is_refused() {
    refused(&format!("{DATA_3} e0 04"), ContentsError::TooMuchData(4));
    let seen = refused(
        &format!("{DATA_3} e0 02 6162 e0 02"),
        ContentsError::TooMuchData(2),
    );
    assert_eq!(seen[1], Seen::Data(0, b"ab".to_vec(), 1, false));
    let both = "22 14 40 U 01 61 03 e0 03 616263 e0 01";
    refused(both, ContentsError::TooMuchData(1));
}

#[test]
fn a_wrong_file_index_is_refused() {
    refused(
        &format!("{FILES_2_AND_0} c1 01 02"),
        ContentsError::FileIndex(2),
    );
    refused(
        &format!("{FILES_2_AND_0} d1 02"),
        ContentsError::FileIndex(2),
    );
    refused(
        &format!("{FILES_2_AND_0} d3 ffffff"),
        ContentsError::FileIndex(0xff_ffff),
    );
    // the header of the second file has not come
    let one_known = "20 1a 10 U 01 61 02 0200 00 02 01 62 d1 01";
    refused(one_known, ContentsError::FileIndex(1));
}

#[test]
fn a_file_longer_than_announced_is_refused() {
    refused(
        &format!("{FILES_2_AND_0} c0 03"),
        ContentsError::FileTooLong(0),
    );
    refused(
        &format!("{FILES_2_AND_0} c0 02 6162 c0 01"),
        ContentsError::FileTooLong(0),
    );
    refused(
        &format!("{FILES_2_AND_0} c1 01 01"),
        ContentsError::FileTooLong(1),
    );
}

#[test]
fn a_file_shorter_than_announced_is_refused() {
    refused(
        &format!("{FILES_2_AND_0} d0"),
        ContentsError::FileTooShort(0),
    );
    refused(
        &format!("{FILES_2_AND_0} c0 01 61 d0"),
        ContentsError::FileTooShort(0),
    );
}

#[test]
fn a_file_that_ends_twice_is_refused() {
    let ended = format!("{FILES_2_AND_0} d1 01");
    refused(&format!("{ended} d1 01"), ContentsError::FileEnded(1));
    refused(&format!("{ended} c1 00 01"), ContentsError::FileEnded(1));
}

#[test]
fn an_action_that_is_not_utf8_is_refused() {
    for action in ["ff", "c3", "c080", "eda080", "61ff", "f5808080"] {
        let length = action.len() / 2;
        let message = format!("20 {:02x} 00 U {length:02x} {action}", 18 + length);
        assert_eq!(refused(&message, DecodeError::Action), []);
    }
    refused("20 13 00 U 02 c3 60 01 28", DecodeError::Action);
    assert_eq!(DecodeError::Action.close_code(), 1007);
}

#[test]
fn a_file_name_that_is_not_utf8_is_refused() {
    let message = "20 1e 10 U 01 61 02 0200 00 02 01 62 00 00 01 ff";
    assert_eq!(refused(message, DecodeError::FileName(1)), []);
    refused("50 28 10 P U 01 0200 00 02 01 80", DecodeError::FileName(0));
    assert_eq!(DecodeError::FileName(0).close_code(), 1007);
}

#[test]
fn input_over_a_limit_is_refused() {
    let config = DecoderConfig {
        head_bytes: 30,
        files: 1,
        pending_bytes: 300,
        ..DecoderConfig::default()
    };
    refused_by(&config, "20 1f", DecodeError::HeadTooBig(31));
    refused_by(
        &config,
        "20 1c 00 U 0d 61*10 60 03",
        DecodeError::HeadTooBig(3),
    );
    refused_by(&config, "2c ffffffff", DecodeError::HeadTooBig(u32::MAX));
    refused_by(&config, FILES_2_AND_0, DecodeError::TooManyFiles(2));
    let files = "20 18 30 U 01 61 ffffff 0200";
    refused_by(&config, files, DecodeError::TooManyFiles(0xff_ffff));
    let second = format!("{INCOMPLETE} 01 {INCOMPLETE}");
    refused_by(&config, &second, DecodeError::TooMuchPending);
    assert_eq!(DecodeError::TooMuchPending.close_code(), 1009);
}

#[test]
fn close_reasons_contain_no_bytes_of_the_peer() {
    for error in [
        DecodeError::ControlByte(7),
        DecodeError::UnknownType(0xff),
        DecodeError::Contents(ContentsError::FileIndex(1234)),
        DecodeError::HeadTooBig(1234),
    ] {
        let reason = error.close_reason();
        assert!(reason.is_ascii() && reason.len() < 40, "{reason}");
        assert!(
            !reason.bytes().any(|byte| byte.is_ascii_digit()),
            "{reason}"
        );
    }
}

/// Compiles only if the enum of content errors is non-exhaustive: otherwise the last arm would be
/// unreachable.
#[test]
#[deny(unreachable_patterns)]
fn the_enum_of_content_errors_is_non_exhaustive() {
    let of = match ContentsError::FileEnded(3) {
        ContentsError::Unexpected(_) | ContentsError::TooMuchData(_) => "a packet",
        ContentsError::FileIndex(_)
        | ContentsError::FileTooLong(_)
        | ContentsError::FileTooShort(_)
        | ContentsError::FileEnded(_) => "a file",
        _ => "something new",
    };
    assert_eq!(of, "a file");
}
