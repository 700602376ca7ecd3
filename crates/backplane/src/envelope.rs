//! The envelope of messages between nodes: the kind of the message, its publisher and its number. Owns the
//! bytes; knows no link and keeps nothing.
//!
//! A payload that does not begin with [`MAGIC`] is plain: another program has published it. Text never
//! begins with it, because its first byte is invalid in UTF-8, and other bytes begin with it only on
//! purpose.

use std::ops::Deref;

use millrace_core::Kind;

/// The content of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A message for the channel's subscribers.
    Message(Kind),
    /// A message that a client of the publishing node has published. Subscribers see the id of its socket.
    ByClient(Kind, u64),
    /// A control message of nodes.
    Control,
}

impl Content {
    /// The kind of a message, and the socket of a client that has published it. `None`: a control message.
    pub(crate) fn message(self) -> Option<(Kind, Option<u64>)> {
        match self {
            Self::Message(kind) => Some((kind, None)),
            Self::ByClient(kind, socket) => Some((kind, Some(socket))),
            Self::Control => None,
        }
    }
}

/// The publisher of a message, and the message's position in the publisher's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The publishing node.
    pub(crate) node: u64,
    /// The run of numbers of the publishing node. A later run has a higher number.
    pub(crate) stream: u64,
    /// The number within this run: from 1 on, without gaps.
    pub(crate) number: u64,
}

/// A payload that came from the backplane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived<'a> {
    /// From a program that is not a node.
    Plain(&'a [u8]),
    /// From a node.
    Wrapped(Content, Stamp, &'a [u8]),
    /// An invalid envelope: truncated, of another version, or with a text that is not UTF-8.
    Malformed,
}

/// The most bytes before the payload of a message between nodes.
pub(crate) const HEAD_BYTES: usize = MAGIC.len() + 2 + 4 * 8;

/// The beginning of an envelope. The payload follows it.
pub(crate) struct Head {
    bytes: [u8; HEAD_BYTES],
    length: usize,
}

impl Deref for Head {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Makes the beginning of an envelope.
pub(crate) fn head(content: Content, stamp: Stamp) -> Head {
    let (what, socket) = match content {
        Content::Message(Kind::Text) => (0, None),
        Content::Message(Kind::Binary) => (1, None),
        Content::Control => (2, None),
        Content::ByClient(Kind::Text, socket) => (3, Some(socket)),
        Content::ByClient(Kind::Binary, socket) => (4, Some(socket)),
    };
    let mut head = Head {
        bytes: [0; HEAD_BYTES],
        length: HEAD_BYTES - if socket.is_some() { 0 } else { 8 },
    };
    let numbers = [
        stamp.node,
        stamp.stream,
        stamp.number,
        socket.unwrap_or_default(),
    ];
    let numbers = numbers.map(u64::to_le_bytes);
    let kind = [VERSION, what];
    let bytes = MAGIC.iter().chain(&kind).chain(numbers.as_flattened());
    for (place, byte) in head.bytes.iter_mut().zip(bytes) {
        *place = *byte;
    }
    head
}

/// Parses a payload.
pub(crate) fn open(payload: &[u8]) -> Arrived<'_> {
    let Some(rest) = payload.strip_prefix(&MAGIC) else {
        return Arrived::Plain(payload);
    };
    unwrap(rest).unwrap_or(Arrived::Malformed)
}

/// Parses the rest of an envelope; `None` if it is malformed.
fn unwrap(rest: &[u8]) -> Option<Arrived<'_>> {
    let (&[version, what], rest) = rest.split_first_chunk()?;
    let (&node, rest) = rest.split_first_chunk()?;
    let (&stream, rest) = rest.split_first_chunk()?;
    let (&number, body) = rest.split_first_chunk()?;
    let (content, body) = match (version, what) {
        (VERSION, 0) => (Content::Message(Kind::Text), body),
        (VERSION, 1) => (Content::Message(Kind::Binary), body),
        (VERSION, 2) => (Content::Control, body),
        (VERSION, 3 | 4) => {
            let kind = if what == 3 { Kind::Text } else { Kind::Binary };
            let (&socket, body) = body.split_first_chunk()?;
            (Content::ByClient(kind, u64::from_le_bytes(socket)), body)
        }
        _ => return None,
    };
    if let Some((Kind::Text, _)) = content.message()
        && !is_text(body)
    {
        return None;
    }
    let stamp = Stamp {
        node: u64::from_le_bytes(node),
        stream: u64::from_le_bytes(stream),
        number: u64::from_le_bytes(number),
    };
    Some(Arrived::Wrapped(content, stamp, body))
}

/// Whether a payload may be delivered as text.
pub(crate) fn is_text(payload: &[u8]) -> bool {
    simdutf8::basic::from_utf8(payload).is_ok()
}

/// The first bytes of every envelope.
pub(crate) const MAGIC: [u8; 8] = *b"\xffmillrac";

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAMP: Stamp = Stamp {
        node: 0x0102_0304_0506_0708,
        stream: 2,
        number: 3,
    };

    fn wrapped(content: Content, body: &[u8]) -> Vec<u8> {
        let mut bytes = head(content, STAMP).to_vec();
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn an_envelope_decodes_to_its_content() {
        for content in [
            Content::Message(Kind::Text),
            Content::Message(Kind::Binary),
            Content::Control,
            Content::ByClient(Kind::Text, 5),
            Content::ByClient(Kind::Binary, u64::MAX),
        ] {
            let bytes = wrapped(content, b"hello");
            assert_eq!(open(&bytes), Arrived::Wrapped(content, STAMP, b"hello"));
        }
    }

    #[test]
    fn a_truncated_envelope_is_malformed() {
        for content in [
            Content::Message(Kind::Binary),
            Content::ByClient(Kind::Binary, 5),
        ] {
            let bytes = wrapped(content, b"");
            for end in MAGIC.len()..bytes.len() {
                assert_eq!(open(&bytes[..end]), Arrived::Malformed, "{end}");
            }
            for end in 0..MAGIC.len() {
                assert_eq!(open(&bytes[..end]), Arrived::Plain(&bytes[..end]), "{end}");
            }
        }
    }

    #[test]
    fn other_versions_and_contents_are_malformed() {
        for (place, byte) in [(8, 0), (8, 2), (9, 5), (9, 255)] {
            let mut bytes = wrapped(Content::Message(Kind::Binary), b"hello");
            bytes[place] = byte;
            assert_eq!(open(&bytes), Arrived::Malformed);
        }
    }

    #[test]
    fn a_text_that_is_not_utf8_is_malformed() {
        for content in [
            Content::Message(Kind::Text),
            Content::ByClient(Kind::Text, 5),
        ] {
            let bytes = wrapped(content, b"\xff");
            assert_eq!(open(&bytes), Arrived::Malformed);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_mistaken_for_an_envelope(text in ".*") {
            prop_assert_eq!(open(text.as_bytes()), Arrived::Plain(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>, follows: Vec<u8>) {
            let mut hostile = MAGIC[..bytes.len() % 9].to_vec();
            hostile.extend_from_slice(&follows);
            for payload in [&bytes, &hostile] {
                if let Arrived::Plain(plain) = open(payload) {
                    prop_assert_eq!(plain, &payload[..]);
                    prop_assert!(!payload.starts_with(&MAGIC));
                }
            }
        }
    }
}
