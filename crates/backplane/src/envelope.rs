//! What a message is wrapped in between nodes: its kind, who published it, and its number. Owns the bytes;
//! knows no link and keeps nothing.
//!
//! A payload that does not begin with [`MAGIC`] is plain: somebody who is no node published it. Text never
//! begins so, because its first byte is none of UTF-8, and bytes do so only on purpose.

use millrace_core::Kind;

/// What is in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A message for the channel's subscribers.
    Message(Kind),
    /// Something that nodes tell each other.
    Control,
}

/// Who published, and where in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The publishing node.
    pub(crate) node: u64,
    /// Which of the node's runs of numbers; a later one is higher.
    pub(crate) stream: u64,
    /// From 1 on, without gaps, in this run.
    pub(crate) number: u64,
}

/// What came from the backplane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived<'a> {
    /// From somebody who is no node.
    Plain(&'a [u8]),
    /// From a node.
    Wrapped(Content, Stamp, &'a [u8]),
    /// Neither: an envelope that is cut, of another version, or with a text that is not UTF-8.
    Malformed,
}

/// Bytes in front of each message between nodes.
pub(crate) const HEAD_BYTES: usize = MAGIC.len() + 2 + 3 * 8;

/// The envelope's front; the payload follows it.
pub(crate) fn head(content: Content, stamp: Stamp) -> [u8; HEAD_BYTES] {
    let what = match content {
        Content::Message(Kind::Text) => 0,
        Content::Message(Kind::Binary) => 1,
        Content::Control => 2,
    };
    let mut head = [0; HEAD_BYTES];
    let numbers = [stamp.node, stamp.stream, stamp.number].map(u64::to_le_bytes);
    let kind = [VERSION, what];
    let bytes = MAGIC.iter().chain(&kind).chain(numbers.as_flattened());
    for (place, byte) in head.iter_mut().zip(bytes) {
        *place = *byte;
    }
    head
}

/// Tells what a payload is.
pub(crate) fn open(payload: &[u8]) -> Arrived<'_> {
    let Some(rest) = payload.strip_prefix(&MAGIC) else {
        return Arrived::Plain(payload);
    };
    unwrap(rest).unwrap_or(Arrived::Malformed)
}

/// `None`: malformed.
fn unwrap(rest: &[u8]) -> Option<Arrived<'_>> {
    let (&[version, what], rest) = rest.split_first_chunk()?;
    let (&node, rest) = rest.split_first_chunk()?;
    let (&stream, rest) = rest.split_first_chunk()?;
    let (&number, body) = rest.split_first_chunk()?;
    let content = match (version, what) {
        (VERSION, 0) if is_text(body) => Content::Message(Kind::Text),
        (VERSION, 1) => Content::Message(Kind::Binary),
        (VERSION, 2) => Content::Control,
        _ => return None,
    };
    let stamp = Stamp {
        node: u64::from_le_bytes(node),
        stream: u64::from_le_bytes(stream),
        number: u64::from_le_bytes(number),
    };
    Some(Arrived::Wrapped(content, stamp, body))
}

/// Whether it may go out as a text.
pub(crate) fn is_text(payload: &[u8]) -> bool {
    simdutf8::basic::from_utf8(payload).is_ok()
}

/// How every envelope begins.
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
    fn what_is_wrapped_is_found_again() {
        for content in [
            Content::Message(Kind::Text),
            Content::Message(Kind::Binary),
            Content::Control,
        ] {
            let bytes = wrapped(content, b"hello");
            assert_eq!(open(&bytes), Arrived::Wrapped(content, STAMP, b"hello"));
        }
    }

    #[test]
    fn no_cut_of_an_envelope_is_one() {
        let bytes = wrapped(Content::Message(Kind::Binary), b"");
        for end in MAGIC.len()..bytes.len() {
            assert_eq!(open(&bytes[..end]), Arrived::Malformed, "{end}");
        }
        for end in 0..MAGIC.len() {
            assert_eq!(open(&bytes[..end]), Arrived::Plain(&bytes[..end]), "{end}");
        }
    }

    #[test]
    fn other_versions_and_contents_are_malformed() {
        for (place, byte) in [(8, 0), (8, 2), (9, 3), (9, 255)] {
            let mut bytes = wrapped(Content::Message(Kind::Binary), b"hello");
            bytes[place] = byte;
            assert_eq!(open(&bytes), Arrived::Malformed);
        }
    }

    #[test]
    fn a_text_that_is_none_is_malformed() {
        let bytes = wrapped(Content::Message(Kind::Text), b"\xff");
        assert_eq!(open(&bytes), Arrived::Malformed);
    }

    proptest! {
        #[test]
        fn no_text_is_taken_for_an_envelope(text in ".*") {
            prop_assert_eq!(open(text.as_bytes()), Arrived::Plain(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_something(bytes: Vec<u8>, follows: Vec<u8>) {
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
