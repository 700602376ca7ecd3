//! Encodings whose frames have a head in front of the payload.

use std::fmt;

use millrace_core::Annotation;

use super::definition::EncodingDef;
use super::lead::{self, HEAD_ROOM};
use super::message::Message;

/// An encoding whose frames are those of the lead, with a head in front of the payload. The head shows the mark of a virtual
/// socket, so the payload stays as it is.
#[derive(Clone, Copy)]
pub(crate) struct HeadedDef {
    /// The name for logs.
    pub(crate) name: &'static str,
    /// Bytes of a head beside the channel's name, in nearly all cases.
    pub(crate) around: usize,
    /// Appends the head.
    pub(crate) append: fn(&Message<'_>, &mut Vec<u8>),
    /// Appends the head of a message for one virtual socket.
    pub(crate) append_direct: fn(&Annotation, &mut Vec<u8>),
}

impl HeadedDef {
    /// What all encodings are defined by. Its `append` is not used.
    pub(super) fn definition(self) -> EncodingDef {
        EncodingDef {
            name: self.name,
            names_channel: true,
            most_payload: usize::MAX,
            around: HEAD_ROOM + self.around,
            append: lead::DEF.append,
        }
    }

    /// Appends a message as one frame.
    pub(super) fn append_frame(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        (self.append)(message, out);
        let length = out.len() - start + message.payload.len();
        lead::put_header_at(out, start, (message.kind, length));
        out.extend_from_slice(message.payload);
    }

    /// The head and the payload behind [`HEAD_ROOM`] bytes.
    pub(super) fn with_head(&self, message: &Message<'_>) -> Vec<u8> {
        let names = message.via.map_or(0, |via| via.channel.as_bytes().len());
        let room = HEAD_ROOM + self.around + names + message.payload.len();
        let mut bytes = Vec::with_capacity(room);
        bytes.extend_from_slice(&[0; HEAD_ROOM]);
        (self.append)(message, &mut bytes);
        bytes.extend_from_slice(message.payload);
        bytes
    }
}

impl fmt::Debug for HeadedDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeadedDef").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use millrace_core::{Kind, Name, Space};
    use millrace_protocol::websocket::deflate::WindowBits;

    use super::*;
    use crate::frame::{CompressionTerms, Encodings, Via};

    #[test]
    fn a_head_is_part_of_the_frame_and_of_what_is_compressed() {
        let headed = HeadedDef {
            name: "headed",
            around: 4,
            append: |message, out| {
                out.extend_from_slice(message.via.map_or(b"-", |via| via.channel.as_bytes()));
                out.push(b'\n');
            },
            append_direct: |_, out| out.extend_from_slice(b"mark\n"),
        };
        let encodings = Encodings::new();
        let plain = encodings.headed(headed);
        let terms = CompressionTerms {
            level: 1,
            window: WindowBits::MOST,
            threshold: 0,
            takeover: false,
        };
        let compressed = encodings.compressed_headed(terms, headed).unwrap();
        assert_eq!(encodings.compressed_headed(terms, headed), Some(compressed));
        assert_ne!(encodings.compressed(terms), Some(compressed));
        assert!(plain.names_channel() && compressed.names_channel());
        assert!(encodings.shows_marks(plain) && encodings.shows_marks(compressed));
        assert!(!encodings.shows_marks(Encodings::LEAD));
        let channel = Name::new(Space::Channel, b"name");
        let via = Via {
            channel: &channel,
            pattern: None,
            mark: None,
            from: None,
            number: None,
        };
        for length in [0, 1, 119, 120, 121, 65_530, 65_531, 70_000] {
            let payload = vec![b'p'; length];
            for (via, head) in [(None, &b"-\n"[..]), (Some(via), b"name\n")] {
                let message = Message {
                    kind: Kind::Text,
                    payload: &payload,
                    via,
                };
                let whole = [head, &payload[..]].concat();
                let mut expected = Vec::new();
                lead::append_message(Kind::Text, &whole, &mut expected);
                assert!(encodings.encode(plain, &message).unwrap() == expected);
                let mut out = b"before".to_vec();
                encodings.append_plain(compressed, &message, &mut out);
                assert!(out.strip_prefix(b"before") == Some(&expected));
                assert_eq!(encodings.headed_payload(plain, &message), None);
                let inside = encodings.headed_payload(compressed, &message).unwrap();
                assert!(inside[HEAD_ROOM..] == whole);
                if length > 1000 {
                    let small = encodings.encode(compressed, &message).unwrap();
                    assert!(small.len() < length / 10);
                }
            }
        }
    }
}
