//! A message for many sockets: encoded at most once per encoding, and once per subscription in encodings that name the
//! channel.

use std::sync::{Arc, OnceLock};

use ahash::AHashMap;
use millrace_core::{ChannelId, Kind, Name};

use super::block::Block;
use super::encoding::{Encoding, Encodings};
use super::lead::{self, HEAD_ROOM};
use super::ledger::Ledger;
use super::message::{Message, Origin};
use super::shared::Frame;
use crate::sync::Mutex;

/// A message for many sockets. It is stored as its frame in the lead encoding, whose tail is the payload; other frames
/// are made from that on demand.
#[derive(Debug)]
pub(crate) struct Publication {
    kind: Kind,
    lead: Frame,
    payload_start: usize,
    /// Most publications need no other encoding.
    others: OnceLock<Box<Others>>,
}

/// The frames of a publication in other encodings: one for each, and one per subscription if the frame names the
/// channel.
#[derive(Debug, Default)]
struct Others(Mutex<Option<AHashMap<Way, OtherFrame>>>);

/// An encoding, with the recipient list and the address of the channel's name. `None` if the message was sent to
/// sockets alone, or if frames do not name the channel.
type Way = (Encoding, Option<(ChannelId, u64)>);

#[derive(Debug)]
struct OtherFrame {
    /// `None`: the encoding cannot carry it.
    frame: Option<Frame>,
    /// Keeps the name alive, so that no other name gets its address.
    _channel: Option<Name>,
}

impl Publication {
    pub(crate) fn new(kind: Kind, payload: &[u8], ledger: &Arc<Ledger>) -> Self {
        let mut bytes = Vec::with_capacity(payload.len() + HEAD_ROOM);
        lead::append_message(kind, payload, &mut bytes);
        Self {
            kind,
            payload_start: bytes.len() - payload.len(),
            lead: Frame::new(bytes, ledger),
            others: OnceLock::new(),
        }
    }

    /// Makes a publication of a payload behind [`HEAD_ROOM`] arbitrary bytes, without moving it.
    pub(crate) fn in_place(kind: Kind, bytes: impl Into<Block>, ledger: &Arc<Ledger>) -> Self {
        let mut bytes = bytes.into();
        let head_room = HEAD_ROOM.min(bytes.len());
        let start = lead::put_header(kind, &mut bytes, head_room);
        Self {
            kind,
            payload_start: head_room - start,
            lead: Frame::starting(start, bytes, ledger),
            others: OnceLock::new(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.lead
            .bytes()
            .get(self.payload_start..)
            .unwrap_or_default()
    }

    /// The frame in the lead encoding.
    pub(crate) fn lead(&self) -> &Frame {
        &self.lead
    }

    /// The frame in another encoding, made at most once, or once for each `origin` if frames name the channel. `None`:
    /// the encoding cannot carry it.
    pub(crate) fn other(
        &self,
        encodings: &Encodings,
        encoding: Encoding,
        origin: Option<&Origin<'_>>,
    ) -> Option<Frame> {
        let origin = origin.filter(|_| encoding.names_channel());
        let key = origin.map(|origin| (origin.list, origin.via.channel));
        self.others
            .get_or_init(Box::default)
            .get_or_make(encoding, key, || {
                let message = Message {
                    kind: self.kind,
                    payload: self.payload(),
                    via: origin.map(|origin| origin.via),
                };
                let bytes = encodings.encode(encoding, &message)?;
                Some(Frame::new(bytes, self.lead.ledger()))
            })
    }
}

impl Others {
    /// Threads that request a frame at the same time wait for it instead of making it again.
    fn get_or_make(
        &self,
        encoding: Encoding,
        origin: Option<(ChannelId, &Name)>,
        make: impl FnOnce() -> Option<Frame>,
    ) -> Option<Frame> {
        let way = (
            encoding,
            origin.map(|(list, channel)| (list, channel.address())),
        );
        let mut frames = self.0.lock();
        let frames = frames.get_or_insert_with(AHashMap::default);
        let known = frames.entry(way).or_insert_with(|| OtherFrame {
            frame: make(),
            _channel: origin.map(|(_, channel)| channel.clone()),
        });
        known.frame.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::EncodingDef;
    use millrace_core::Space;
    use std::cell::Cell;

    #[test]
    fn a_payload_becomes_a_frame_in_place() {
        let ledger = Arc::new(Ledger::new());
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let mut bytes = vec![0xee; HEAD_ROOM];
            bytes.resize(HEAD_ROOM + length, b'p');
            let publication = Publication::in_place(Kind::Binary, bytes, &ledger);
            let copied = Publication::new(Kind::Binary, &vec![b'p'; length], &ledger);
            assert_eq!(publication.payload(), copied.payload());
            let frames = [&publication, &copied].map(Publication::lead);
            assert_eq!(frames[0].bytes(), frames[1].bytes());
            assert_eq!(frames[0].len(), frames[1].len());
        }
        assert_eq!(ledger.held(), 0);
    }

    #[test]
    fn a_publication_is_encoded_once_per_encoding() {
        let ledger = Arc::new(Ledger::new());
        let publication = Publication::new(Kind::Text, b"hello", &ledger);
        assert_eq!(publication.lead().bytes(), b"\x81\x05hello");
        let encodings = Encodings::new();
        let shout = encodings.add(EncodingDef {
            name: "shout",
            names_channel: false,
            most_payload: 5,
            around: 1,
            append: |message, out| {
                out.extend_from_slice(message.payload);
                out.push(b'!');
            },
        });
        let [first, second] = [(); 2].map(|()| publication.other(&encodings, shout, None).unwrap());
        assert!(std::ptr::eq(first.bytes(), second.bytes()));
        assert_eq!(first.bytes(), b"hello!");
        let longer = Publication::new(Kind::Text, b"hello!", &ledger);
        assert!(longer.other(&encodings, shout, None).is_none());
    }

    #[test]
    fn a_frame_that_names_the_channel_is_encoded_once_per_list_and_channel() {
        let ledger = Arc::new(Ledger::new());
        let others = Others::default();
        let encodings = Encodings::new();
        let def = EncodingDef {
            name: "named",
            names_channel: true,
            most_payload: usize::MAX,
            around: 0,
            append: |_, _| {},
        };
        let registered = [(); 2].map(|()| encodings.add(def));
        let channels = [b"a", b"b"].map(|name| Name::new(Space::Channel, name));
        let made = Cell::new(0);
        let frame = |encoding, origin| {
            let frame = others.get_or_make(encoding, origin, || {
                made.set(made.get() + 1);
                Some(Frame::new(vec![made.get()], &ledger))
            });
            frame.unwrap()
        };
        let lists = [1, 1 << 63].map(ChannelId::new);
        for round in 0..2 {
            let mut expected = 0;
            for encoding in registered {
                for origin in [
                    None,
                    Some((lists[0], &channels[0])),
                    Some((lists[1], &channels[0])),
                    Some((lists[1], &channels[1])),
                ] {
                    expected += 1;
                    assert_eq!(frame(encoding, origin).bytes(), [expected], "round {round}");
                }
            }
        }
        assert_eq!(made.get(), 8);
    }

    /// Comparing each frame with all frames made before would take half a trillion comparisons, so this test would not
    /// end.
    #[test]
    fn publishing_to_many_matching_patterns_is_linear() {
        let others = Others::default();
        let encodings = Encodings::new();
        let def = EncodingDef {
            name: "named",
            names_channel: true,
            most_payload: usize::MAX,
            around: 0,
            append: |_, _| {},
        };
        let registered = [(); 2].map(|()| encodings.add(def));
        let channel = Name::new(Space::Channel, b"a");
        let made = Cell::new(0);
        for _again in 0..2 {
            for list in 0..500_000 {
                let origin = Some((ChannelId::new(list), &channel));
                for encoding in registered {
                    let frame = others.get_or_make(encoding, origin, || {
                        made.set(made.get() + 1);
                        None
                    });
                    assert!(frame.is_none());
                }
            }
            assert_eq!(made.get(), 1_000_000, "each frame is made once");
        }
    }
}
