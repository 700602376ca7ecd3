//! The operations that a sender allows and refuses.

use crate::seen::{Draft, Seen, U, decode, hex};
use millrace_protocol::sockety::{
    Content, ContentsError, DecoderConfig, EncodeError, SendError, Sender, append_payload,
    data_packet_bytes,
};

const KIB_64: u32 = 64 << 10;
const MIB: u32 = 1 << 20;

fn stream() -> Draft {
    Draft {
        has_stream: true,
        ..Draft::message(U, "s")
    }
}

fn data(data_size: u64) -> Draft {
    Draft {
        data_size,
        ..Draft::message(U, "d")
    }
}

fn begin(sender: &mut Sender, draft: &Draft, out: &mut Vec<u8>) -> Result<Option<u16>, SendError> {
    draft.with(|head| sender.begin(head, out))
}

fn is_unexpected(content: Content) -> SendError {
    ContentsError::Unexpected(content).into()
}

#[test]
fn a_message_uses_the_current_channel_or_the_next_free_one() {
    let (mut sender, mut out) = (Sender::new(3), Vec::new());
    let whole = Draft::message(U, "w");
    assert_eq!(begin(&mut sender, &whole, &mut out), Ok(Some(0)));
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(0)));
    assert_eq!(begin(&mut sender, &whole, &mut out), Ok(Some(1)));
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(1)));
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(2)));
    let before = out.len();
    assert_eq!(begin(&mut sender, &whole, &mut out), Ok(None), "it waits");
    assert_eq!((sender.in_progress(), out.len()), (3, before));
    sender.stream(1, &[], true, &mut out).unwrap();
    assert_eq!(begin(&mut sender, &whole, &mut out), Ok(Some(1)));
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(1)));
    sender.stream(0, &[], true, &mut out).unwrap();
    sender.stream(2, &[], true, &mut out).unwrap();
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(2)));
    assert_eq!(
        begin(&mut sender, &stream(), &mut out),
        Ok(Some(0)),
        "round"
    );
}

#[test]
fn the_only_free_channel_of_4096_is_found() {
    let (mut sender, mut out) = (Sender::new(4096), Vec::new());
    for channel in 0..4096 {
        assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(channel)));
    }
    for channel in [17, 4095, 0, 2048] {
        assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(None));
        sender.stream(channel, &[], true, &mut out).unwrap();
        assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(channel)));
    }
    for channel in 0..4096 {
        sender.stream(channel, &[], true, &mut out).unwrap();
    }
    assert_eq!((sender.in_progress(), sender.held_bytes()), (0, 0));
}

#[test]
fn a_switch_is_sent_only_if_the_channel_changes() {
    let (mut sender, mut out) = (Sender::new(4096), Vec::new());
    begin(&mut sender, &stream(), &mut out).unwrap();
    out.clear();
    sender.stream(0, &[b"a"], false, &mut out).unwrap();
    begin(&mut sender, &stream(), &mut out).unwrap();
    sender.stream(1, &[b"b"], false, &mut out).unwrap();
    sender.stream(0, &[b"c"], true, &mut out).unwrap();
    let expected = "70 01 61 01 22 13 00 U 01 73 70 01 62 00 70 01 63 80";
    assert_eq!(out, hex(expected));
    out.clear();
    sender.forget_channel();
    sender.stream(1, &[b"d"], false, &mut out).unwrap();
    sender.stream(1, &[b"e"], true, &mut out).unwrap();
    assert_eq!(out, hex("01 70 01 64 70 01 65 80"));
}

#[test]
fn a_sender_leaves_the_first_channels_to_others() {
    let (mut sender, mut out) = (Sender::from_channel(1, 4096), Vec::new());
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(1)));
    assert_eq!(out, hex("01 22 13 00 U 01 73"));
    sender.forget_channel();
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(2)));
    let mut alone = Sender::from_channel(1, 1);
    assert_eq!(begin(&mut alone, &stream(), &mut out), Ok(Some(0)));
    assert_eq!(begin(&mut alone, &stream(), &mut out), Ok(None));
}

/// The sizes of the packets for so much data.
fn packets_of(mut left: u64) -> Vec<u32> {
    let mut sizes = Vec::new();
    while left > 0 {
        let size = data_packet_bytes(left);
        sizes.push(size);
        left -= u64::from(size);
    }
    sizes
}

#[test]
fn data_is_one_packet_or_ends_with_a_large_one() {
    let (mib, kib_64) = (u64::from(MIB), u64::from(KIB_64));
    assert_eq!(packets_of(0), [0; 0]);
    assert_eq!(packets_of(1), [1]);
    assert_eq!(packets_of(mib), [MIB]);
    assert_eq!(packets_of(mib + 1), [MIB + 1]);
    assert_eq!(packets_of(mib + kib_64 - 1), [MIB + KIB_64 - 1]);
    assert_eq!(packets_of(mib + kib_64), [MIB, KIB_64]);
    assert_eq!(packets_of(2 * mib), [MIB, MIB]);
    assert_eq!(packets_of(2 * mib + 5), [MIB, MIB + 5]);
    assert_eq!(packets_of(4 * mib), [MIB; 4]);
    assert_eq!(packets_of((1 << 30) + 1).len(), 1024);
    for left in (mib..4 * mib).step_by(4093) {
        let sizes = packets_of(left);
        let (last, others) = sizes.split_last().unwrap();
        assert!(others.iter().all(|size| *size == MIB));
        assert!((KIB_64..MIB + KIB_64).contains(last), "{left}: {last}");
    }
}

#[test]
fn large_data_is_sent_in_several_packets() {
    let mib = usize::try_from(MIB).unwrap();
    let mut payload = (0..251).collect::<Vec<u8>>().repeat(mib / 80);
    payload.truncate(3 * mib + 7);
    let draft = data(u64::try_from(payload.len()).unwrap());
    let (mut sender, mut out) = (Sender::new(2), vec![0xe3]);
    assert_eq!(begin(&mut sender, &draft, &mut out), Ok(Some(0)));
    assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(1)));
    let (mut rest, mut sizes) = (&payload[..], Vec::new());
    while sender.is_busy(0) {
        let wanted = usize::try_from(sender.data_wanted(0)).unwrap();
        let taken = sender.data(0, rest, &mut out).unwrap();
        assert_eq!((taken, sender.open_packet()), (wanted, None));
        sizes.push(taken);
        rest = &rest[taken..];
        sender.stream(1, &[b"between"], false, &mut out).unwrap();
    }
    assert_eq!((sizes, rest.len()), (vec![mib, mib, mib + 7], 0));
    let seen = decode(&DecoderConfig::default(), out.chunks(10_000));
    let of_0 = seen.iter().filter_map(|one| match one {
        Seen::Data(0, bytes, ..) => Some(&bytes[..]),
        _ => None,
    });
    assert!(of_0.collect::<Vec<_>>().concat() == payload);

    let mut at_once = Vec::new();
    append_payload(&payload, &mut at_once);
    let mut alone = Vec::new();
    let mut sender = Sender::new(1);
    begin(&mut sender, &draft, &mut alone).unwrap();
    let head = alone.len();
    let mut rest = &payload[..];
    while !rest.is_empty() {
        let taken = sender.data(0, rest, &mut alone).unwrap();
        rest = &rest[taken..];
    }
    assert!(alone[head..] == at_once);
}

#[test]
fn nothing_is_appended_within_an_open_packet() {
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    let draft = Draft {
        has_stream: true,
        files: vec![("f".to_owned(), 1)],
        ..data(5)
    };
    assert_eq!(begin(&mut sender, &draft, &mut out), Ok(Some(0)));
    assert_eq!(begin(&mut sender, &data(1), &mut out), Ok(Some(1)));
    out.clear();
    assert_eq!(sender.data(0, b"", &mut out), Ok(0));
    assert_eq!((sender.open_packet(), sender.data_wanted(0)), (None, 5));
    assert_eq!(sender.data(0, b"he", &mut out), Ok(2));
    assert_eq!(
        (sender.open_packet(), sender.data_wanted(0)),
        (Some((0, 3)), 3)
    );
    let open = Err(SendError::PacketOpen);
    assert_eq!(
        begin(&mut sender, &data(1), &mut out),
        Err(SendError::PacketOpen)
    );
    assert_eq!(sender.data(1, b"x", &mut out), Err(SendError::PacketOpen));
    assert_eq!(sender.stream(0, &[b"x"], true, &mut out), open);
    assert_eq!(
        sender.file(0, 0, b"x", &mut out),
        Err(SendError::PacketOpen)
    );
    assert_eq!(sender.end_file(0, 0, &mut out), open);
    assert_eq!(sender.abort(0, &mut out), open);
    assert_eq!(sender.abort(1, &mut out), open);
    assert_eq!(sender.data(0, b"llo and more", &mut out), Ok(3));
    assert_eq!((sender.open_packet(), sender.data_wanted(0)), (None, 0));
    assert_eq!(out, hex("00 e0 05 68656c6c6f"));
}

#[test]
fn pieces_of_a_stream_are_joined_and_followed_by_its_end() {
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    begin(&mut sender, &stream(), &mut out).unwrap();
    out.clear();
    sender
        .stream(0, &[b"one", b"", b"two"], false, &mut out)
        .unwrap();
    sender.stream(0, &[b"", b""], false, &mut out).unwrap();
    sender.stream(0, &[b"three"], true, &mut out).unwrap();
    assert_eq!(out, hex("70 06 6f6e6574776f 70 05 7468726565 80"));
    assert!(!sender.is_busy(0));
    let error = Err(is_unexpected(Content::Stream));
    assert_eq!(sender.stream(0, &[], true, &mut out), error);
}

#[test]
fn files_come_in_any_order_and_each_ends() {
    let draft = Draft {
        files: vec![("a".to_owned(), 3), (String::new(), 0)],
        ..Draft::message(U, "f")
    };
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    begin(&mut sender, &draft, &mut out).unwrap();
    out.clear();
    let short = Err(ContentsError::FileTooShort(0).into());
    assert_eq!(sender.end_file(0, 0, &mut out), short);
    assert_eq!(sender.file(0, 0, b"ab", &mut out), Ok(2));
    sender.end_file(0, 1, &mut out).unwrap();
    let error = |error: ContentsError| Err(SendError::from(error));
    assert_eq!(
        sender.file(0, 1, b"x", &mut out),
        error(ContentsError::FileEnded(1))
    );
    assert_eq!(
        sender.file(0, 2, b"x", &mut out),
        error(ContentsError::FileIndex(2))
    );
    assert_eq!(
        sender.file(0, 0, b"cd", &mut out),
        error(ContentsError::FileTooLong(0))
    );
    assert_eq!(sender.file(0, 0, b"c", &mut out), Ok(1));
    assert_eq!(sender.file(0, 0, b"", &mut out), Ok(0));
    sender.end_file(0, 0, &mut out).unwrap();
    assert_eq!(out, hex("c0 02 6162 d1 01 c0 01 63 d0"));
    assert!(!sender.is_busy(0));
}

#[test]
fn packets_of_files_are_bounded() {
    let size = 40 << 20;
    let draft = Draft {
        files: vec![("f".to_owned(), size)],
        ..Draft::message(U, "f")
    };
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    begin(&mut sender, &draft, &mut out).unwrap();
    let bytes = vec![1; 40 << 20];
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        out.clear();
        let taken = sender.file(0, 0, rest, &mut out).unwrap();
        assert_eq!(taken, 1 << 20);
        assert_eq!(out[..4], hex("c8 000010"));
        rest = &rest[taken..];
    }
    sender.end_file(0, 0, &mut out).unwrap();
    assert!(!sender.is_busy(0));
}

#[test]
fn contents_that_were_not_announced_are_refused() {
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    let none = |content| Err(is_unexpected(content));
    assert_eq!(
        sender.data(0, b"x", &mut out),
        Err(is_unexpected(Content::Data))
    );
    begin(&mut sender, &data(2), &mut out).unwrap();
    begin(&mut sender, &stream(), &mut out).unwrap();
    out.clear();
    assert_eq!(
        sender.stream(0, &[b"x"], false, &mut out),
        none(Content::Stream)
    );
    assert_eq!(sender.end_file(0, 0, &mut out), none(Content::FileEnd));
    assert_eq!(
        sender.file(0, 0, b"", &mut out),
        Err(is_unexpected(Content::File))
    );
    assert_eq!(
        sender.data(1, b"x", &mut out),
        Err(is_unexpected(Content::Data))
    );
    assert_eq!(sender.abort(2, &mut out), Err(SendError::NotInProgress(2)));
    assert!(out.is_empty(), "nothing was appended");
    assert_eq!(sender.data(0, b"xyz", &mut out), Ok(2));
    assert_eq!(
        sender.data(0, b"z", &mut out),
        Err(is_unexpected(Content::Data))
    );
}

#[test]
fn a_head_that_cannot_be_encoded_uses_no_channel() {
    let (mut sender, mut out) = (Sender::new(4), Vec::new());
    begin(&mut sender, &stream(), &mut out).unwrap();
    let before = out.clone();
    let draft = Draft {
        has_stream: true,
        ..Draft::message(U, &"t".repeat(65_536))
    };
    let error = EncodeError::ActionTooLong(65_536);
    assert_eq!(begin(&mut sender, &draft, &mut out), Err(error.into()));
    assert_eq!((sender.in_progress(), &out), (1, &before));
    sender.stream(0, &[b"x"], true, &mut out).unwrap();
    assert_eq!(
        out[before.len()..],
        hex("70 01 78 80"),
        "the channel has not changed"
    );
}

#[test]
fn channels_of_aborted_messages_can_be_used_again() {
    let mut sender = Sender::new(1);
    sender.reuse_aborted_channels();
    let mut out = vec![0xe3];
    for _ in 0..3 {
        assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(Some(0)));
        assert_eq!(begin(&mut sender, &stream(), &mut out), Ok(None));
        sender.abort(0, &mut out).unwrap();
        assert_eq!((sender.is_busy(0), sender.in_progress()), (false, 0));
        assert_eq!(sender.abort(0, &mut out), Err(SendError::NotInProgress(0)));
    }
    let seen = decode(&DecoderConfig::default(), [&out[..]]);
    let given_up = [Seen::Message(0, stream(), false), Seen::Abort(0)];
    assert!(seen[1..].chunks(2).eq([&given_up; 3]), "{seen:?}");
}

#[test]
fn by_default_the_channel_of_an_aborted_message_is_never_used_again() {
    let (mut sender, mut out) = (Sender::new(2), Vec::new());
    begin(&mut sender, &stream(), &mut out).unwrap();
    out.clear();
    sender.abort(0, &mut out).unwrap();
    assert_eq!(out, [0x90]);
    assert_eq!((sender.is_busy(0), sender.in_progress()), (false, 0));
    assert_eq!(sender.abort(0, &mut out), Err(SendError::NotInProgress(0)));
    let error = Err(is_unexpected(Content::Stream));
    assert_eq!(sender.stream(0, &[b"x"], false, &mut out), error);
    for _ in 0..3 {
        assert_eq!(begin(&mut sender, &data(1), &mut out), Ok(Some(1)));
        assert_eq!(begin(&mut sender, &data(1), &mut out), Ok(None));
        sender.data(1, b"x", &mut out).unwrap();
    }
    begin(&mut sender, &data(1), &mut out).unwrap();
    sender.abort(1, &mut out).unwrap();
    assert_eq!(
        begin(&mut sender, &data(1), &mut out),
        Err(SendError::NoChannel)
    );
    sender.reuse_aborted_channels();
    let begun = [(); 3].map(|()| begin(&mut sender, &stream(), &mut out));
    assert_eq!(begun, [Ok(Some(1)), Ok(Some(0)), Ok(None)]);
    assert_eq!(sender.in_progress(), 2);
}
