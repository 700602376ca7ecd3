//! Valid but unusual packets: wide numbers, heads in pieces, contents in every order.

use millrace_protocol::sockety::DecoderConfig;

use crate::seen::{Draft, P, Seen, U, after_header};

fn seen(text: &str) -> Vec<Seen> {
    after_header(&DecoderConfig::default(), text)
}

fn message(action: &str) -> Seen {
    Seen::Message(0, Draft::message(U, action), true)
}

fn with_data(action: &str, data_size: u64) -> Seen {
    let draft = Draft {
        data_size,
        ..Draft::message(U, action)
    };
    Seen::Message(0, draft, false)
}

fn with_files(files: &[(&str, u64)], finished: bool) -> Seen {
    let files = files.iter().map(|(name, size)| ((*name).to_owned(), *size));
    let draft = Draft {
        files: files.collect(),
        ..Draft::message(U, "f")
    };
    Seen::Message(0, draft, finished)
}

fn file(index: u32, bytes: &[u8]) -> Seen {
    Seen::File(0, index, bytes.to_vec())
}

#[test]
fn sizes_of_packets_and_actions_may_be_wide() {
    for text in [
        "20 13 00 U 01 61",
        "24 1300 00 U 01 61",
        "28 130000 00 U 01 61",
        "2c 13000000 00 U 01 61",
        "20 14 02 U 0100 61",
    ] {
        assert_eq!(seen(text), [message("a")]);
    }
}

#[test]
fn sizes_of_data_may_be_wide() {
    let data = Seen::Data(0, b"hi".to_vec(), 0, true);
    for text in [
        "20 14 40 U 01 61 02 e0 02 6869",
        "20 15 80 U 01 61 0200 e4 0200 6869",
        "20 19 c0 U 01 61 020000000000 ec 02000000 6869",
    ] {
        assert_eq!(seen(text), [with_data("a", 2), data.clone()]);
    }
}

#[test]
fn numbers_of_files_may_be_wide() {
    let expected = [
        with_files(&[("b", 2)], false),
        file(0, b"hi"),
        Seen::FileEnd(0, 0, true),
    ];
    for text in [
        "20 1a 10 U 01 66 01 0200 00 02 01 62 c0 02 6869 d0",
        "20 1c 14 U 01 66 01 020000 04 0200 01 62 c1 02 00 6869 d1 00",
        "20 20 28 U 01 66 0100 02000000 0a 020000 0100 62 c6 0200 0000 6869 d2 0000",
        "20 26 3c U 01 66 010000 020000000000 0e 020000000000 0100 62 cf 02000000 000000 6869 d3 000000",
    ] {
        assert_eq!(seen(text), expected, "{text}");
    }
}

#[test]
fn small_channels_and_codes_may_have_twelve_bits() {
    let on = |channel| Seen::Message(channel, Draft::message(U, "a"), true);
    assert_eq!(seen("10 05 20 13 00 U 01 61"), [on(5)]);
    assert_eq!(seen("1f ff 20 13 00 U 01 61"), [on(4095)]);
    assert_eq!(seen("11 2b 05 20 13 00 U 01 61"), [on(5)]);
    assert_eq!(seen("40 05 P"), [Seen::FastReply(5, P)]);
    assert_eq!(seen("4f ff P"), [Seen::FastReply(4095, P)]);
}

#[test]
fn reserved_bits_are_ignored() {
    assert_eq!(seen("20 13 01 U 01 61"), [message("a")]);
    assert_eq!(
        seen("20 13 0c U 01 61"),
        [message("a")],
        "the width of a total that is absent"
    );
    let response = Seen::Message(0, Draft::response(P, U), true);
    assert_eq!(
        seen("50 21 03 P U"),
        [response],
        "the width of an action that is absent"
    );
    assert_eq!(seen("af bf"), [Seen::Heartbeat, Seen::GoAway]);
    let draft = Draft {
        has_stream: true,
        ..Draft::message(U, "a")
    };
    let expected = [
        Seen::Message(0, draft, false),
        Seen::Stream(0, b"x".to_vec()),
        Seen::StreamEnd(0, true),
    ];
    assert_eq!(seen("22 13 00 U 01 61 73 01 78 8f"), expected);
    let expected = [with_files(&[("b", 0)], false), Seen::FileEnd(0, 0, true)];
    assert_eq!(seen("20 1a 10 U 01 66 01 0000 f1 00 01 62 dc"), expected);
}

#[test]
fn empty_contents_may_be_announced() {
    let twice = [message("a"), message("a")];
    assert_eq!(seen("20 14 40 U 01 61 00 20 13 00 U 01 61"), twice);
    assert_eq!(seen("20 16 10 U 01 61 00 0000 20 13 00 U 01 61"), twice);
}

#[test]
fn packets_may_be_empty() {
    let expected = [with_data("a", 2), Seen::Data(0, b"hi".to_vec(), 0, true)];
    assert_eq!(seen("20 14 40 U 01 61 02 e0 00 e0 02 6869"), expected);
    let draft = Draft {
        has_stream: true,
        data_size: 1,
        ..Draft::message(U, "a")
    };
    let expected = [
        Seen::Message(0, draft, false),
        Seen::Data(0, b"x".to_vec(), 0, false),
        Seen::StreamEnd(0, true),
    ];
    let text = "22 14 40 U 01 61 01 70 00 e0 01 78 e0 00 80";
    assert_eq!(
        seen(text),
        expected,
        "an empty packet after complete data is valid"
    );
    let expected = [with_files(&[("b", 0)], false), Seen::FileEnd(0, 0, true)];
    assert_eq!(
        seen("20 1a 10 U 01 66 01 0000 00 00 01 62 c0 00 d0"),
        expected
    );
    assert_eq!(seen("20 00 60 00 60 13 00 U 01 61"), [message("a")]);
}

#[test]
fn packets_of_other_channels_may_come_within_a_head() {
    assert_eq!(seen("20 11 00 U 60 02 03 61 60 02 62 63"), [message("abc")]);
    let expected = [Seen::Heartbeat, Seen::FastReply(0, P), message("a")];
    assert_eq!(seen("20 11 00 U a0 30 P 60 02 01 61"), expected);
    let two = seen("20 11 00 U 01 50 21 40 P U 60 01 02 e0 02 6f6b 00 60 02 01 61");
    let response = Draft {
        data_size: 2,
        ..Draft::response(P, U)
    };
    let expected = [
        Seen::Message(1, response, false),
        Seen::Data(1, b"ok".to_vec(), 0, true),
        message("a"),
    ];
    assert_eq!(two, expected);
}

#[test]
fn files_may_come_before_the_rest_of_the_head() {
    let body = "20 1a 10 U 01 66 02 0200 00 02 01 62";
    let expected = [
        file(0, b"hi"),
        Seen::FileEnd(0, 0, false),
        with_files(&[("b", 2), ("c", 0)], false),
        Seen::FileEnd(0, 1, true),
    ];
    let text = format!("{body} c0 02 6869 d0 60 04 00 00 01 63 d1 01");
    assert_eq!(seen(&text), expected);
    let expected = [
        file(0, b"h"),
        with_files(&[("b", 2), ("c", 0)], false),
        file(0, b"i"),
        Seen::FileEnd(0, 0, false),
        Seen::FileEnd(0, 1, true),
    ];
    let text = format!("{body} c0 01 68 60 04 00 00 01 63 c0 01 69 d0 d1 01");
    assert_eq!(seen(&text), expected);
}

#[test]
fn contents_may_come_in_any_order() {
    let head = "22 1b 50 U 01 66 02 01 0200 00 02 01 62";
    let draft = Draft {
        has_stream: true,
        data_size: 2,
        files: vec![("b".to_owned(), 2)],
        ..Draft::message(U, "f")
    };
    let pieces = [
        ("e0 01 68 e0 01 69", Seen::Data(0, b"hi".to_vec(), 0, false)),
        ("c0 02 6869", file(0, b"hi")),
        ("d0", Seen::FileEnd(0, 0, false)),
        ("70 01 73", Seen::Stream(0, b"s".to_vec())),
        ("80", Seen::StreamEnd(0, false)),
    ];
    for order in [
        [0, 1, 2, 3, 4],
        [3, 4, 1, 2, 0],
        [3, 1, 0, 4, 2],
        [1, 3, 2, 0, 4],
    ] {
        let text: Vec<_> = order.iter().map(|at| pieces[*at].0).collect();
        let text = format!("{head} {} 20 13 00 U 01 61", text.join(" 05 00 "));
        let mut expected = vec![Seen::Message(0, draft.clone(), false)];
        expected.extend(order.iter().map(|at| pieces[*at].1.clone()));
        match expected.last_mut() {
            Some(
                Seen::Data(_, _, _, finished)
                | Seen::FileEnd(_, _, finished)
                | Seen::StreamEnd(_, finished),
            ) => *finished = true,
            other => panic!("{other:?}"),
        }
        expected.push(message("a"));
        assert_eq!(seen(&text), expected);
    }
}

#[test]
fn an_aborted_message_frees_its_channel() {
    let aborted = Seen::Abort(0);
    let data = [
        with_data("a", 3),
        Seen::Data(0, b"hi".to_vec(), 1, false),
        aborted.clone(),
        message("a"),
    ];
    assert_eq!(
        seen("20 14 40 U 01 61 03 e0 02 6869 90 20 13 00 U 01 61"),
        data
    );
    let head = [aborted, message("a")];
    assert_eq!(seen("20 12 00 U 01 90 90 20 13 00 U 01 61"), head);
    assert_eq!(seen("90 9f 01 90 20 13 00 U 01 61").len(), 1);
}

#[test]
fn sizes_of_files_need_not_be_enforced() {
    let config = DecoderConfig {
        enforce_file_sizes: false,
        ..DecoderConfig::default()
    };
    let text = "20 1e 10 U 01 66 02 0200 00 02 01 62 00 00 01 63 c0 03 686969 d0 c1 01 01 78 d1 01";
    let expected = [
        with_files(&[("b", 2), ("c", 0)], false),
        file(0, b"hii"),
        Seen::FileEnd(0, 0, false),
        file(1, b"x"),
        Seen::FileEnd(0, 1, true),
    ];
    assert_eq!(after_header(&config, text), expected);
    let short = "20 1a 10 U 01 66 01 0200 00 02 01 62 d0";
    assert_eq!(after_header(&config, short).len(), 2);
}

#[test]
fn every_id_is_kept_unchanged() {
    let ff = "ff".repeat(16);
    let seen = seen(&format!("20 13 00 {ff} 01 61 30 {ff}"));
    let id = millrace_protocol::sockety::Id::new([0xff; 16]);
    let expected = [
        Seen::Message(0, Draft::message(id, "a"), true),
        Seen::FastReply(0, id),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn headers_may_have_any_width() {
    use crate::seen::{decode, hex};
    for (header, channels) in [
        ("e0", 1),
        ("e1 01", 1),
        ("e1 ff", 255),
        ("e1 00", 256),
        ("e2 0100", 1),
        ("e2 0001", 256),
        ("e2 0010", 4096),
        ("e2 ffff", 4096),
        ("e3", 4096),
    ] {
        let stream = hex(&format!("{header} a0"));
        for step in 1..5 {
            let seen = decode(&DecoderConfig::default(), stream.chunks(step));
            assert_eq!(seen, [Seen::Header(channels), Seen::Heartbeat], "{header}");
        }
    }
}
