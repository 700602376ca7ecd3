//! The frames of a publication in other encodings than the lead.

use ahash::AHashMap;
use millrace_core::{ChannelId, Name};

use crate::frame::encoding::Encoding;
use crate::frame::late::Late;
use crate::frame::publication::Publication;
use crate::frame::shared::Frame;
use crate::sync::Mutex;

/// The frames of a publication in other encodings: one for each, and one per subscription if the frame names the
/// channel.
#[derive(Debug, Default)]
pub(super) struct Others {
    frames: Mutex<Option<AHashMap<Way, OtherFrame>>>,
    /// Who has published the message, where subscribers see that. Few messages have it, so it has no place of its own.
    publisher: Option<Box<str>>,
}

/// An encoding, with the recipient list and the address of the channel's name. `None` if the message was sent to
/// sockets alone, or if frames do not name the channel.
type Way = (Encoding, Option<(ChannelId, u64)>);

#[derive(Debug)]
struct OtherFrame {
    /// `None`: the encoding cannot carry it.
    frame: Option<Frame>,
    /// The frame if the encoding compresses.
    late: Option<Late>,
    /// The message with its head if the encoding compresses that.
    headed: Option<Publication>,
    /// Keeps the name alive, so that no other name gets its address.
    _channel: Option<Name>,
}

impl Others {
    pub(super) fn published_by(name: Box<str>) -> Self {
        Self {
            frames: Mutex::default(),
            publisher: Some(name),
        }
    }

    pub(super) fn publisher(&self) -> Option<&str> {
        self.publisher.as_deref()
    }

    /// Whether an outbox holds one of these frames.
    pub(super) fn are_queued(&self) -> bool {
        let frames = self.frames.lock();
        let mut all = frames.iter().flat_map(|frames| frames.values());
        all.any(|one| {
            one.frame.as_ref().is_some_and(Frame::is_shared)
                || one.late.as_ref().is_some_and(Late::is_shared)
                || one.headed.as_ref().is_some_and(Publication::is_queued)
        })
    }

    /// Threads that request a frame at the same time wait for it instead of making it again.
    pub(super) fn get_or_make(
        &self,
        encoding: Encoding,
        origin: Option<(ChannelId, &Name)>,
        make: impl FnOnce() -> Option<Frame>,
    ) -> Option<Frame> {
        let make = || OtherFrame {
            frame: make(),
            ..OtherFrame::of(origin)
        };
        self.known(encoding, origin, make, |known| known.frame.clone())
    }

    /// Like [`get_or_make`](Self::get_or_make), for the message with its head.
    pub(super) fn get_or_head(
        &self,
        encoding: Encoding,
        origin: Option<(ChannelId, &Name)>,
        make: impl FnOnce() -> Option<Publication>,
    ) -> Option<Publication> {
        let make = || OtherFrame {
            headed: make(),
            ..OtherFrame::of(origin)
        };
        self.known(encoding, origin, make, |known| known.headed.clone())
    }

    fn known<R>(
        &self,
        encoding: Encoding,
        origin: Option<(ChannelId, &Name)>,
        make: impl FnOnce() -> OtherFrame,
        read: impl FnOnce(&OtherFrame) -> R,
    ) -> R {
        let way = (
            encoding,
            origin.map(|(list, channel)| (list, channel.address())),
        );
        let mut frames = self.frames.lock();
        let frames = frames.get_or_insert_with(AHashMap::default);
        read(frames.entry(way).or_insert_with(make))
    }

    /// The frame in an encoding that compresses, and whether this is the first call, whose caller has to make it.
    pub(super) fn claim(&self, encoding: Encoding) -> (Late, bool) {
        let mut frames = self.frames.lock();
        let frames = frames.get_or_insert_with(AHashMap::default);
        let mut first = false;
        let known = frames
            .entry((encoding, None))
            .or_insert_with(|| OtherFrame::of(None));
        let late = known.late.get_or_insert_with(|| {
            first = true;
            Late::new()
        });
        (late.clone(), first)
    }
}

impl OtherFrame {
    /// One without anything in it.
    fn of(origin: Option<(ChannelId, &Name)>) -> Self {
        Self {
            frame: None,
            late: None,
            headed: None,
            _channel: origin.map(|(_, channel)| channel.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use millrace_core::Space;

    use super::*;
    use crate::frame::{EncodingDef, Encodings};

    fn two_that_name_the_channel() -> [Encoding; 2] {
        let encodings = Encodings::new();
        let def = EncodingDef {
            name: "named",
            names_channel: true,
            most_payload: usize::MAX,
            around: 0,
            append: |_, _| {},
        };
        [(); 2].map(|()| encodings.add(def))
    }

    #[test]
    fn a_frame_that_names_the_channel_is_encoded_once_per_list_and_channel() {
        let others = Others::default();
        let registered = two_that_name_the_channel();
        let channels = [b"a", b"b"].map(|name| Name::new(Space::Channel, name));
        let made = Cell::new(0);
        let frame = |encoding, origin| {
            let frame = others.get_or_make(encoding, origin, || {
                made.set(made.get() + 1);
                Some(Frame::uncounted(vec![made.get()]))
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
        let registered = two_that_name_the_channel();
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
