//! Encodes sends and publications as whole Sockety messages on channel 0, which the session does not use for its own.
//! All recipients of a publication get one frame, hence the same message id.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use millrace_core::Kind;
use millrace_protocol::sockety::{
    FileList, Head, Id, Subject, append_data_head, append_head, append_switch, data_packet_bytes,
};

use super::options::{PublishForm, SocketyOptions};
use crate::contract::{Encoding, EncodingDef, Encodings, Message, WordedDef};

/// Registers the encoding of a listener, whose options choose the action of publications. `None`: the gateway has too
/// many encodings.
pub(super) fn encoding(encodings: &Encodings, options: &SocketyOptions) -> Option<Encoding> {
    let def = match options.publish_form {
        PublishForm::Message => MESSAGE,
        PublishForm::Raw => RAW,
    };
    encodings.worded(def, &options.publish_action)
}

const MESSAGE: WordedDef = WordedDef {
    def: DEF,
    append: |action, message, out| append_message(action, new_id(), message, out),
};

const RAW: WordedDef = WordedDef {
    def: EncodingDef {
        name: "sockety-raw",
        names_channel: false,
        ..DEF
    },
    append: |action, message, out| {
        append_publication(action, new_id(), &[message.payload], out);
    },
};

/// The encoding of messages, but always with the same id, so that two frames of one message can be compared.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn encoding_with_one_id(encodings: &Encodings) -> Encoding {
    let def = WordedDef {
        def: EncodingDef {
            name: "sockety-one-id",
            ..DEF
        },
        append: |action, message, out| append_message(action, Id::v4([0; 16]), message, out),
    };
    let encoding = encodings.worded(def, "publish");
    encoding.expect("a stage has a handful")
}

const DEF: EncodingDef = EncodingDef {
    name: "sockety",
    names_channel: true,
    most_payload: 0xffff_ffff,
    around: 64,
    append: |_, _| {},
};

/// Encodes the data as an array: the channel, or nil for a message that was sent to this socket alone; the payload; and
/// the pattern, if the recipient is subscribed to one.
fn append_message(action: &str, id: Id, message: &Message<'_>, out: &mut Vec<u8>) {
    let pattern = message.via.and_then(|via| via.pattern);
    let mut front = Vec::with_capacity(FRONT_BYTES);
    front.push(if pattern.is_some() { 0x93 } else { 0x92 });
    match message.via {
        None => front.push(NIL),
        Some(via) => append_name(via.channel.as_bytes(), &mut front),
    }
    append_length(message.kind, message.payload.len(), &mut front);
    let mut behind = Vec::new();
    if let Some(pattern) = pattern {
        append_name(pattern.as_bytes(), &mut behind);
    }
    append_publication(action, id, &[&front, message.payload, &behind], out);
}

/// Appends a name as text if it is valid UTF-8, otherwise as bytes.
fn append_name(name: &[u8], out: &mut Vec<u8>) {
    let kind = match str::from_utf8(name) {
        Ok(_) => Kind::Text,
        Err(_) => Kind::Binary,
    };
    append_length(kind, name.len(), out);
    out.extend_from_slice(name);
}

/// Appends the `MessagePack` header for this many bytes. The limit of the encoding refuses what is too long for it.
fn append_length(kind: Kind, length: usize, out: &mut Vec<u8>) {
    let is_text = kind == Kind::Text;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let [.., third, low] = length.to_be_bytes();
    match length {
        0..32 if is_text => out.push(0xa0 | low),
        0..0x100 => out.extend_from_slice(&[if is_text { 0xd9 } else { 0xc4 }, low]),
        0x100..0x1_0000 => {
            out.extend_from_slice(&[if is_text { 0xda } else { 0xc5 }, third, low]);
        }
        _ => {
            out.push(if is_text { 0xdb } else { 0xc6 });
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
}

/// Appends a whole message with these pieces as its data.
fn append_publication(action: &str, id: Id, pieces: &[&[u8]], out: &mut Vec<u8>) {
    let length = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let mut left = u64::try_from(length).unwrap_or(u64::MAX);
    let head = Head {
        subject: Subject::Action(action),
        id,
        expects_response: false,
        has_stream: false,
        data_size: left,
        files: FileList::default(),
    };
    let appended = append_switch(0, out).and_then(|()| append_head(&head, out));
    debug_assert!(
        appended.is_ok(),
        "the options say how long an action may be, and the data is short"
    );
    // bytes that the current packet still needs
    let mut lacks = 0;
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            if lacks == 0 {
                let size = data_packet_bytes(left);
                append_data_head(size, out);
                lacks = usize::try_from(size).unwrap_or(usize::MAX);
                left = left.saturating_sub(size.into());
            }
            let (now, later) = rest.split_at(lacks.min(rest.len()));
            out.extend_from_slice(now);
            lacks -= now.len();
            rest = later;
        }
    }
}

/// A random id: hashes with keys from the system's source of randomness.
fn new_id() -> Id {
    let half = |number: u64| u128::from(RandomState::new().hash_one(number));
    Id::v4((half(0) << 64 | half(1)).to_be_bytes())
}

const NIL: u8 = 0xc0;

/// More than most names and the bytes around them.
const FRONT_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use millrace_core::{Name, Space};
    use millrace_protocol::sockety::{Decoder, DecoderConfig, Item};

    use super::super::options::MOST_ACTION_BYTES;
    use super::*;
    use crate::contract::Options;
    use crate::frame::Via;

    /// The action, the data and the id of the only message in a frame.
    fn decoded(frame: &[u8]) -> (String, Vec<u8>, Id) {
        let wire = [&[0xe3, 7][..], frame].concat();
        let (mut input, mut decoder) = (&wire[..], Decoder::new());
        let config = DecoderConfig::default();
        let (mut told, mut data) = (None, Vec::new());
        while let Some(item) = decoder.next(&mut input, &config).unwrap() {
            match item {
                Item::Header { .. } => {}
                Item::Message { channel, head, .. } => {
                    assert_eq!(channel, 0, "although the wire was on another channel");
                    let Subject::Action(action) = head.subject else {
                        panic!("a response")
                    };
                    assert_eq!(told.replace((action.to_owned(), head.id)), None);
                    assert!(!head.expects_response && !head.has_stream);
                }
                Item::Data { bytes, .. } => data.extend_from_slice(bytes),
                other => panic!("{other:?}"),
            }
        }
        assert!(!decoder.is_busy());
        let (action, id) = told.unwrap();
        (action, data, id)
    }

    fn encode(form: PublishForm, kind: Kind, payload: &[u8], via: Option<Via<'_>>) -> Vec<u8> {
        let encodings = Encodings::new();
        let defaults = SocketyOptions::read(&Options::new()).unwrap();
        let options = SocketyOptions {
            publish_form: form,
            ..defaults
        };
        let encoding = encoding(&encodings, &options).unwrap();
        let message = Message { kind, payload, via };
        encodings.encode(encoding, &message).unwrap()
    }

    #[test]
    fn the_action_is_an_option_of_the_listener() {
        let encodings = Encodings::new();
        let with = |action: &str| {
            let given = Options::new().text("publishAction", action);
            encoding(&encodings, &SocketyOptions::read(&given).unwrap()).unwrap()
        };
        let message = Message {
            kind: Kind::Text,
            payload: b"hi",
            via: None,
        };
        assert_eq!(with("news"), with("news"), "one frame for both");
        for action in ["news", "", &"x".repeat(255), &"x".repeat(MOST_ACTION_BYTES)] {
            let frame = encodings.encode(with(action), &message).unwrap();
            assert_eq!(decoded(&frame).0, action);
        }
    }

    #[test]
    fn a_publication_names_its_channel_first() {
        let channel = Name::new(Space::Channel, b"news");
        let pattern = Name::new(Space::Pattern, b"n*");
        let via = |pattern| {
            Some(Via {
                channel: &channel,
                pattern,
                mark: None,
                from: None,
                number: None,
            })
        };
        for (kind, via, expected) in [
            (Kind::Text, via(None), &b"\x92\xa4news\xa2hi"[..]),
            (Kind::Binary, via(None), b"\x92\xa4news\xc4\x02hi"),
            (Kind::Text, via(Some(&pattern)), b"\x93\xa4news\xa2hi\xa2n*"),
            (Kind::Text, None, b"\x92\xc0\xa2hi"),
        ] {
            let frame = encode(PublishForm::Message, kind, b"hi", via);
            let (action, data, _) = decoded(&frame);
            assert_eq!((&*action, &*data), ("publish", expected));
        }
    }

    #[test]
    fn a_raw_publication_is_its_payload() {
        for payload in [&b"hi"[..], b""] {
            let frame = encode(PublishForm::Raw, Kind::Text, payload, None);
            let (action, data, _) = decoded(&frame);
            assert_eq!((&*action, &*data), ("publish", payload));
        }
    }

    #[test]
    fn a_long_payload_comes_in_several_packets() {
        let payload: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let frame = encode(PublishForm::Raw, Kind::Binary, &payload, None);
        assert!(decoded(&frame).1 == payload);
        let frame = encode(PublishForm::Message, Kind::Binary, &payload, None);
        let (_, data, _) = decoded(&frame);
        let (front, rest) = data.split_at(7);
        assert_eq!(front[..3], [0x92, NIL, 0xc6]);
        assert_eq!(front[3..], 12_000_000_u32.to_be_bytes());
        assert!(rest == payload);
    }

    #[test]
    fn lengths_are_encoded_in_the_shortest_form() {
        let front = |kind, length| {
            let mut out = Vec::new();
            append_length(kind, length, &mut out);
            out
        };
        for (length, text, binary) in [
            (0, &[0xa0][..], &[0xc4, 0][..]),
            (31, &[0xbf], &[0xc4, 31]),
            (32, &[0xd9, 32], &[0xc4, 32]),
            (255, &[0xd9, 255], &[0xc4, 255]),
            (256, &[0xda, 1, 0], &[0xc5, 1, 0]),
            (65_536, &[0xdb, 0, 1, 0, 0], &[0xc6, 0, 1, 0, 0]),
        ] {
            assert_eq!(front(Kind::Text, length), text);
            assert_eq!(front(Kind::Binary, length), binary);
        }
    }

    #[test]
    fn a_channel_that_is_not_utf8_is_encoded_as_bytes() {
        let mut out = Vec::new();
        append_name(b"\xff", &mut out);
        assert_eq!(out, b"\xc4\x01\xff");
    }

    #[test]
    fn each_message_has_an_id_of_version_4_of_its_own() {
        let ids = [(); 3].map(|()| new_id());
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        for id in ids {
            assert_eq!((id.as_bytes()[6] >> 4, id.as_bytes()[8] >> 6), (4, 0b10));
        }
    }
}
