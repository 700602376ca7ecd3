//! A message for many sockets: encoded at most once per wire encoding, and where that says the channel once for each way
//! it came by.

use std::sync::{Arc, OnceLock};

use millrace_core::{ChannelId, Kind, Name};

use super::ledger::Ledger;
use super::message::{Message, Origin};
use super::shared::Frame;
use crate::adapter::{Encoding, websocket};
use crate::sync::Mutex;

/// A message for many sockets. Kept as its WebSocket frame, whose tail is the payload; other
/// encodings are made from that when somebody asks.
#[derive(Debug)]
pub(crate) struct Publication {
    kind: Kind,
    websocket: Frame,
    payload_start: usize,
    /// Mostly nobody asks for any.
    others: OnceLock<Box<Others>>,
}

/// The frames of a publication in other encodings than WebSocket's.
#[derive(Debug, Default)]
struct Others {
    silent: [OnceLock<Frame>; Encoding::SILENT - 1],
    named: Named,
}

/// The frames that say where a message was sent: one for each encoding and way that was asked for.
#[derive(Debug, Default)]
struct Named(Mutex<Vec<NamedFrame>>);

#[derive(Debug)]
struct NamedFrame {
    encoding: usize,
    /// The recipient list and the channel; `None` where it was sent to sockets alone.
    origin: Option<(ChannelId, Name)>,
    frame: Frame,
}

impl Publication {
    pub(crate) fn new(kind: Kind, payload: &[u8], ledger: &Arc<Ledger>) -> Self {
        let mut bytes = Vec::with_capacity(payload.len() + HEAD_ROOM);
        websocket::append_message(kind, payload, &mut bytes);
        Self {
            kind,
            payload_start: bytes.len() - payload.len(),
            websocket: Frame::new(bytes, ledger),
            others: OnceLock::new(),
        }
    }

    /// Of a payload behind [`HEAD_ROOM`] bytes of anything: it stays where it is.
    pub(crate) fn in_place(kind: Kind, mut bytes: Vec<u8>, ledger: &Arc<Ledger>) -> Self {
        let head_room = HEAD_ROOM.min(bytes.len());
        let start = websocket::put_header(kind, &mut bytes, head_room);
        Self {
            kind,
            payload_start: head_room - start,
            websocket: Frame::starting(start, bytes, ledger),
            others: OnceLock::new(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.websocket
            .bytes()
            .get(self.payload_start..)
            .unwrap_or_default()
    }

    /// The frame in this encoding, which does not say the channel; made at most once.
    pub(crate) fn frame(&self, encoding: Encoding) -> &Frame {
        if encoding == Encoding::WebSocket {
            return &self.websocket;
        }
        match self.others().silent.get(encoding.index() - 1) {
            None => &self.websocket,
            Some(other) => other.get_or_init(|| self.encoded(encoding, None)),
        }
    }

    /// The frame in an encoding that says the channel; made at most once for each `origin`.
    pub(crate) fn named_frame(&self, encoding: Encoding, origin: Option<&Origin<'_>>) -> Frame {
        let key = origin.map(|origin| (origin.list, origin.via.channel));
        self.others()
            .named
            .get_or_make(encoding.index(), key, || self.encoded(encoding, origin))
    }

    fn others(&self) -> &Others {
        self.others.get_or_init(Box::default)
    }

    fn encoded(&self, encoding: Encoding, origin: Option<&Origin<'_>>) -> Frame {
        let message = Message {
            kind: self.kind,
            payload: self.payload(),
            via: origin.map(|origin| origin.via),
        };
        Frame::new(encoding.encode(&message), self.websocket.ledger())
    }
}

impl Named {
    /// Others who ask at the same time wait for the frame instead of making it again.
    fn get_or_make(
        &self,
        encoding: usize,
        origin: Option<(ChannelId, &Name)>,
        make: impl FnOnce() -> Frame,
    ) -> Frame {
        let mut frames = self.0.lock();
        let known = frames.iter().find(|known| {
            known.encoding == encoding
                && match (&known.origin, origin) {
                    (None, None) => true,
                    (Some((list, channel)), Some(origin)) => {
                        *list == origin.0 && channel.is(origin.1)
                    }
                    _ => false,
                }
        });
        if let Some(known) = known {
            return known.frame.clone();
        }
        let frame = make();
        frames.push(NamedFrame {
            encoding,
            origin: origin.map(|(list, channel)| (list, channel.clone())),
            frame: frame.clone(),
        });
        frame
    }
}

/// Room for a header in front of a payload that becomes a frame where it is, in bytes.
pub const HEAD_ROOM: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use millrace_core::Space;
    use std::cell::Cell;

    #[test]
    fn a_payload_becomes_a_frame_where_it_is() {
        let ledger = Arc::new(Ledger::new());
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let mut bytes = vec![0xee; HEAD_ROOM];
            bytes.resize(HEAD_ROOM + length, b'p');
            let publication = Publication::in_place(Kind::Binary, bytes, &ledger);
            let copied = Publication::new(Kind::Binary, &vec![b'p'; length], &ledger);
            assert_eq!(publication.payload(), copied.payload());
            let frames = [&publication, &copied].map(|one| one.frame(Encoding::WebSocket));
            assert_eq!(frames[0].bytes(), frames[1].bytes());
            assert_eq!(frames[0].len(), frames[1].len());
        }
        assert_eq!(ledger.held(), 0);
    }

    #[test]
    fn a_publication_is_encoded_once_per_encoding() {
        let ledger = Arc::new(Ledger::new());
        let publication = Publication::new(Kind::Text, b"hello", &ledger);
        let first = publication.frame(Encoding::WebSocket).clone();
        let second = publication.frame(Encoding::WebSocket).clone();
        assert!(std::ptr::eq(first.bytes(), second.bytes()));
        assert_eq!(first.bytes(), b"\x81\x05hello");
    }

    #[test]
    fn what_says_the_channel_is_encoded_once_per_list_and_channel() {
        let ledger = Arc::new(Ledger::new());
        let named = Named::default();
        let channels = [b"a", b"b"].map(|name| Name::new(Space::Channel, name));
        let made = Cell::new(0);
        let frame = |encoding, origin| {
            named.get_or_make(encoding, origin, || {
                made.set(made.get() + 1);
                Frame::new(vec![made.get()], &ledger)
            })
        };
        let lists = [1, 1 << 63].map(ChannelId::new);
        for round in 0..2 {
            let mut expected = 0;
            for encoding in [2, 3] {
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
}
