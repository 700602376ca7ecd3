//! Each vector decodes to its description, and the description encodes to the same bytes.

use std::collections::BTreeMap;

use millrace_protocol::sockety::{
    ABORT, DecodeError, DecoderConfig, GO_AWAY, HEARTBEAT, STREAM_END, Sender, append_begin,
    append_body, append_continue, append_data_head, append_fast_reply, append_file_end,
    append_file_head, append_head, append_header, append_stream_head, append_switch,
};

use crate::seen::{Draft, Seen, decode, hex};
use crate::vectors::{Packet, Vector, vectors};

/// The items that a decoder must return for a vector's stream, from the description of the vector.
fn expected(vector: &Vector) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut state = Expected::default();
    for (_, packet) in vector.whole().lines {
        if let Some(one) = state.see(packet) {
            one.join(&mut seen);
        }
    }
    seen
}

/// The messages in progress in a vector. Each channel carries one message at a time, and no file precedes its message.
#[derive(Default)]
struct Expected {
    channel: u16,
    /// The missing contents of the message on each channel.
    owed: BTreeMap<u16, Owed>,
    /// A head that is continued, and the number of bytes that are missing.
    head: Option<(Draft, usize)>,
}

#[derive(Default)]
struct Owed {
    data: u64,
    stream: bool,
    files: usize,
}

impl Expected {
    fn see(&mut self, packet: Packet) -> Option<Seen> {
        let channel = self.channel;
        Some(match packet {
            Packet::Header(channels) => Seen::Header(channels),
            Packet::Switch(channel) => {
                self.channel = channel;
                return None;
            }
            Packet::Message(draft, None) => self.begin(draft),
            Packet::Message(draft, Some(first)) => {
                let length = draft.with(|head| {
                    let mut body = Vec::new();
                    append_body(head, &mut body).unwrap();
                    body.len()
                });
                self.head = Some((draft, length - first));
                return None;
            }
            Packet::Continue(more) => {
                let (draft, lacks) = self.head.take().unwrap();
                if lacks > more {
                    self.head = Some((draft, lacks - more));
                    return None;
                }
                self.begin(draft)
            }
            Packet::Data(_, bytes) => {
                let owed = self.owed.get_mut(&channel).unwrap();
                owed.data -= u64::try_from(bytes.len()).unwrap();
                let left = owed.data;
                Seen::Data(channel, bytes, left, self.settle())
            }
            Packet::Stream(_, bytes) => Seen::Stream(channel, bytes),
            Packet::StreamEnd => {
                self.owed.get_mut(&channel).unwrap().stream = false;
                Seen::StreamEnd(channel, self.settle())
            }
            Packet::File(index, _, bytes) => Seen::File(channel, index, bytes),
            Packet::FileEnd(index) => {
                self.owed.get_mut(&channel).unwrap().files -= 1;
                Seen::FileEnd(channel, index, self.settle())
            }
            Packet::FastReply(code, id) => Seen::FastReply(code, id),
            Packet::Heartbeat => Seen::Heartbeat,
            Packet::GoAway => Seen::GoAway,
            Packet::Abort => Seen::Abort(channel),
            Packet::Refused(first) => Seen::Error(DecodeError::UnknownType(first)),
        })
    }

    fn begin(&mut self, draft: Draft) -> Seen {
        let owed = Owed {
            data: draft.data_size,
            stream: draft.has_stream,
            files: draft.files.len(),
        };
        self.owed.insert(self.channel, owed);
        Seen::Message(self.channel, draft, self.settle())
    }

    fn settle(&self) -> bool {
        let owed = &self.owed[&self.channel];
        owed.data == 0 && !owed.stream && owed.files == 0
    }
}

/// Encodes a packet. `body` is the rest of a head that comes in pieces.
fn write(packet: &Packet, body: &mut Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    match packet {
        Packet::Header(channels) => append_header(*channels, &mut out),
        Packet::Switch(channel) => append_switch(*channel, &mut out).unwrap(),
        Packet::Message(draft, None) => draft.with(|head| append_head(head, &mut out).unwrap()),
        Packet::Message(draft, Some(first)) => draft.with(|head| {
            append_body(head, body).unwrap();
            let rest = body.split_off(*first);
            append_begin(head, body, &mut out).unwrap();
            *body = rest;
        }),
        Packet::Continue(more) => {
            let rest = body.split_off(*more);
            append_continue(body, &mut out).unwrap();
            *body = rest;
        }
        Packet::Data(size, bytes) => {
            append_data_head(*size, &mut out);
            out.extend(bytes);
        }
        Packet::Stream(size, bytes) => {
            append_stream_head(*size, &mut out);
            out.extend(bytes);
        }
        Packet::StreamEnd => out.push(STREAM_END),
        Packet::File(index, size, bytes) => {
            append_file_head(*index, *size, &mut out).unwrap();
            out.extend(bytes);
        }
        Packet::FileEnd(index) => append_file_end(*index, &mut out).unwrap(),
        Packet::FastReply(code, id) => append_fast_reply(*code, *id, &mut out).unwrap(),
        Packet::Heartbeat => out.push(HEARTBEAT),
        Packet::GoAway => out.push(GO_AWAY),
        Packet::Abort => out.push(ABORT),
        Packet::Refused(_) => panic!("a refused packet is never encoded"),
    }
    out
}

#[test]
fn there_are_82_of_them() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 82);
    let bytes: usize = vectors.iter().map(|vector| vector.bytes().len()).sum();
    assert_eq!(bytes, 4786);
    assert!(vectors.iter().all(|vector| !vector.lines.is_empty()));
}

#[test]
fn each_vector_decodes_to_its_description() {
    let config = DecoderConfig::default();
    for vector in vectors() {
        let seen = decode(&config, [&vector.stream()[..]]);
        assert_eq!(seen, expected(&vector), "{}", vector.name);
    }
}

#[test]
fn each_vector_encodes_to_the_same_bytes() {
    for vector in vectors().iter().filter(|vector| !vector.is_mistake()) {
        let mut body = Vec::new();
        for (bytes, packet) in &vector.lines {
            assert_eq!(
                &write(packet, &mut body),
                bytes,
                "{}: {packet:?}",
                vector.name
            );
        }
        assert!(body.is_empty());
    }
}

#[test]
fn faulty_vectors_decode_as_they_were_sent() {
    let mistakes: Vec<_> = vectors().into_iter().filter(Vector::is_mistake).collect();
    let last = |vector: &Vector| expected(vector).pop().unwrap();
    let ends: Vec<_> = mistakes.iter().map(last).collect();
    let unknown = Seen::Error(DecodeError::UnknownType(0xff));
    assert_eq!(ends, [Seen::Header(256), unknown.clone(), unknown]);
    let mut out = Vec::new();
    append_header(256, &mut out);
    assert_eq!(out, hex("e20001"), "the valid form of the header");
}

/// The vectors whose senders chose packets as our sender does: heads in one piece, and one file after the other.
#[test]
fn a_sender_chooses_the_same_packets() {
    let mut compared = 0;
    for vector in vectors() {
        let lines: Vec<_> = match vector.lines.split_first() {
            Some(((_, Packet::Header(_)), rest)) => rest.to_vec(),
            _ => vector.lines.clone(),
        };
        let is_whole = |(_, packet): &(Vec<u8>, Packet)| match packet {
            Packet::Switch(channel) => *channel < 2,
            Packet::Message(_, first) => first.is_none(),
            Packet::Data(size, bytes) | Packet::File(_, size, bytes) => {
                usize::try_from(*size) == Ok(bytes.len())
            }
            Packet::Stream(..) | Packet::StreamEnd | Packet::FileEnd(_) => true,
            _ => false,
        };
        let begins = lines
            .iter()
            .any(|(_, packet)| matches!(packet, Packet::Message(..)));
        if !begins || !lines.iter().all(is_whole) {
            continue;
        }
        let (mut sender, mut out, mut channel) = (Sender::new(4096), Vec::new(), 0);
        for (_, packet) in &lines {
            match packet {
                Packet::Switch(next) => channel = *next,
                Packet::Message(draft, _) => {
                    let begun = draft.with(|head| sender.begin(head, &mut out));
                    assert_eq!(begun, Ok(Some(channel)));
                }
                Packet::Data(_, bytes) => {
                    let taken = sender.data(channel, bytes, &mut out);
                    assert_eq!(taken, Ok(bytes.len()));
                }
                Packet::File(index, _, bytes) => {
                    let taken = sender.file(channel, *index, bytes, &mut out);
                    assert_eq!(taken, Ok(bytes.len()));
                }
                Packet::FileEnd(index) => sender.end_file(channel, *index, &mut out).unwrap(),
                Packet::Stream(_, bytes) => {
                    sender.stream(channel, &[bytes], false, &mut out).unwrap();
                }
                _ => sender.stream(channel, &[], true, &mut out).unwrap(),
            }
        }
        let bytes: Vec<u8> = lines.into_iter().flat_map(|(bytes, _)| bytes).collect();
        assert_eq!(out, bytes, "{}", vector.name);
        compared += 1;
    }
    assert_eq!(compared, 39);
}
