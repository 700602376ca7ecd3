//! A message for many sockets: encoded at most once per encoding, and once per subscription in encodings that name the
//! channel. If it is short, it is one allocation: counts, frame and payload together.

mod others;

use std::sync::{Arc, OnceLock};

use millrace_core::Kind;

use super::block::Block;
use super::encoding::{Encoding, Encodings};
use super::late::Late;
use super::lead::{self, HEAD_ROOM};
use super::message::{Message, Origin, Via};
use super::shared::Frame;
use others::Others;

/// A message for many sockets. It is stored as its frame in the lead encoding, whose tail is the payload; other frames
/// are made from that on demand.
#[derive(Clone, Debug)]
pub(crate) struct Publication(Arc<Published<[u8]>>);

#[derive(Debug)]
struct Published<B: ?Sized> {
    kind: Kind,
    /// Whether connections with compression get it as it is.
    uncompressed: bool,
    /// Where the payload begins in the frame.
    payload: usize,
    /// The frame, if the message is long, or once an outbox has queued it.
    frame: OnceLock<Frame>,
    /// Most publications need no other encoding. Dropping an `Arc` is a call only if there is one.
    others: OnceLock<Arc<Others>>,
    /// Where the frame begins in `short`.
    start: usize,
    /// The frame, if the message is short: the end of an array of one of a [few](Published::with_room) lengths.
    short: B,
}

impl Publication {
    pub(crate) fn new(kind: Kind, payload: &[u8]) -> Self {
        let length = HEAD_ROOM + payload.len();
        let Some(mut made) = Published::with_room(length) else {
            let mut bytes = Vec::with_capacity(length);
            bytes.extend_from_slice(&[0; HEAD_ROOM]);
            bytes.extend_from_slice(payload);
            return Self::in_place(kind, bytes);
        };
        let new = Arc::get_mut(&mut made).expect("nobody else has it yet");
        let place = new.short.len() - payload.len();
        if let Some(place) = new.short.get_mut(place..) {
            place.copy_from_slice(payload);
        }
        let start = lead::put_header(kind, &mut new.short, place);
        (new.kind, new.start, new.payload) = (kind, start, place - start);
        Self(made)
    }

    /// Makes a publication of a payload behind [`HEAD_ROOM`] arbitrary bytes, without moving it.
    pub(crate) fn in_place(kind: Kind, bytes: impl Into<Block>) -> Self {
        let mut bytes = bytes.into();
        let head_room = HEAD_ROOM.min(bytes.len());
        let start = lead::put_header(kind, &mut bytes, head_room);
        Self(Arc::new(Published {
            kind,
            uncompressed: false,
            payload: head_room - start,
            frame: OnceLock::from(Frame::starting(start, bytes)),
            others: OnceLock::new(),
            start: 0,
            short: [],
        }))
    }

    /// The same message, which connections with compression get as it is. Only for a message that nobody else has yet.
    pub(crate) fn uncompressed(mut self) -> Self {
        if let Some(held) = Arc::get_mut(&mut self.0) {
            held.uncompressed = true;
        }
        self
    }

    /// The same message, whose subscribers see who has published it. Only for a message that nobody else has yet.
    pub(crate) fn published_by(self, name: String) -> Self {
        let others = Others::published_by(name.into());
        let _new = self.0.others.set(Arc::new(others));
        self
    }

    /// Who has published it, where subscribers see that.
    pub(crate) fn from(&self) -> Option<&str> {
        self.0.others.get().and_then(|others| others.publisher())
    }

    fn via<'a>(&'a self, origin: &Origin<'a>) -> Via<'a> {
        Via {
            from: self.from(),
            ..origin.via
        }
    }

    /// Whether an outbox holds one of its frames.
    pub(crate) fn is_queued(&self) -> bool {
        let others = self.0.others.get();
        self.0.frame.get().is_some_and(Frame::is_shared)
            || others.is_some_and(|others| others.are_queued())
    }

    /// Whether it may be compressed.
    pub(crate) fn compresses(&self) -> bool {
        !self.0.uncompressed
    }

    pub(crate) fn kind(&self) -> Kind {
        self.0.kind
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.lead().get(self.0.payload..).unwrap_or_default()
    }

    /// The bytes of the frame in the lead encoding.
    #[inline]
    pub(crate) fn lead(&self) -> &[u8] {
        let held = &*self.0;
        if held.short.is_empty() {
            return held.frame.get().map(Frame::bytes).unwrap_or_default();
        }
        held.short.get(held.start..).unwrap_or_default()
    }

    /// The frame in the lead encoding. Outboxes of readers that keep up need only its [bytes](Self::lead), if it is
    /// short.
    pub(crate) fn frame(&self) -> &Frame {
        let frame = &self.0.frame;
        frame.get_or_init(|| Frame::uncounted(self.lead().to_vec()))
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
        self.0
            .others
            .get_or_init(Arc::default)
            .get_or_make(encoding, key, || {
                let message = Message {
                    kind: self.kind(),
                    payload: self.payload(),
                    via: origin.map(|origin| self.via(origin)),
                };
                let bytes = encodings.encode(encoding, &message)?;
                Some(Frame::uncounted(bytes))
            })
    }

    /// The message that is compressed in this encoding, if it has a head; made at most once, or once for each `origin`.
    pub(crate) fn headed(
        &self,
        encodings: &Encodings,
        encoding: Encoding,
        origin: Option<&Origin<'_>>,
    ) -> Option<Self> {
        if !encodings.shows_marks(encoding) {
            return None;
        }
        let key = origin.map(|origin| (origin.list, origin.via.channel));
        self.0
            .others
            .get_or_init(Arc::default)
            .get_or_head(encoding, key, || {
                let message = Message {
                    kind: self.kind(),
                    payload: self.payload(),
                    via: origin.map(|origin| self.via(origin)),
                };
                let bytes = encodings.headed_payload(encoding, &message)?;
                Some(Self::in_place(self.kind(), bytes))
            })
    }

    /// The frame in an encoding that compresses, and whether this is the first call for it: then the caller has to
    /// [fill](Late::fill) it.
    pub(crate) fn claim(&self, encoding: Encoding) -> (Late, bool) {
        self.0.others.get_or_init(Arc::default).claim(encoding)
    }
}

impl Published<[u8]> {
    /// An empty publication with room for this many bytes; `None` if they are too many for one allocation.
    fn with_room(bytes: usize) -> Option<Arc<Self>> {
        // no length wastes more than a third, but the shortest
        Some(match bytes {
            0..=64 => Published::<[u8; 64]>::empty(),
            65..=96 => Published::<[u8; 96]>::empty(),
            97..=128 => Published::<[u8; 128]>::empty(),
            129..=192 => Published::<[u8; 192]>::empty(),
            193..=256 => Published::<[u8; 256]>::empty(),
            257..=384 => Published::<[u8; 384]>::empty(),
            385..=512 => Published::<[u8; 512]>::empty(),
            513..=768 => Published::<[u8; 768]>::empty(),
            769..=1056 => Published::<[u8; 1056]>::empty(),
            1057..=1536 => Published::<[u8; 1536]>::empty(),
            1537..=LONGEST => Published::<[u8; LONGEST]>::empty(),
            _ => return None,
        })
    }
}

impl<const N: usize> Published<[u8; N]> {
    /// As a default value it is made in its place in memory.
    fn empty() -> Arc<Published<[u8]>> {
        Arc::<Self>::default()
    }
}

impl<const N: usize> Default for Published<[u8; N]> {
    #[inline]
    fn default() -> Self {
        Self {
            kind: Kind::Binary,
            uncompressed: false,
            payload: 0,
            frame: OnceLock::new(),
            others: OnceLock::new(),
            start: 0,
            short: [0; N],
        }
    }
}

/// The most bytes of a short message. Outboxes of readers that keep up copy such a frame; they queue longer ones by
/// reference.
const LONGEST: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::EncodingDef;

    #[test]
    fn a_payload_becomes_a_frame_in_place() {
        for length in (0..3000).chain([65_535, 65_536]) {
            let mut bytes = vec![0xee; HEAD_ROOM];
            bytes.resize(HEAD_ROOM + length, b'p');
            let publication = Publication::in_place(Kind::Binary, bytes);
            let copied = Publication::new(Kind::Binary, &vec![b'p'; length]);
            assert_eq!(publication.payload(), copied.payload());
            assert_eq!(publication.lead(), copied.lead());
            assert_eq!(publication.frame().bytes(), copied.frame().bytes());
            assert_eq!(copied.frame().bytes(), copied.lead());
        }
    }

    #[test]
    fn a_publication_is_encoded_once_per_encoding() {
        let publication = Publication::new(Kind::Text, b"hello");
        assert_eq!(publication.lead(), b"\x81\x05hello");
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
        let longer = Publication::new(Kind::Text, b"hello!");
        assert!(longer.other(&encodings, shout, None).is_none());
    }
}
