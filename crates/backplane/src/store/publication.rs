//! A message as it is in the store and as it is published there. Owns the bytes, which `publish.lua` puts together: hostile
//! bytes are no message, and nothing is reserved from a length that they announce.

use bytes::Bytes;
use millrace_core::{Epoch, Kind};

use super::feed::{Append, Entry};
use crate::envelope::is_text;

/// Names a message, whatever its position: two messages never have the same. All zero: there is no message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Id {
    /// The node that published it.
    pub(super) node: u64,
    /// A number that this node gives once.
    pub(super) number: u64,
}

impl Id {
    pub(super) fn to_bytes(self) -> [u8; ID_BYTES] {
        let mut bytes = [0; ID_BYTES];
        let numbers = [self.node, self.number].map(u64::to_le_bytes);
        bytes.copy_from_slice(numbers.as_flattened());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = Self::take(bytes)?;
        rest.is_empty().then_some(id)
    }

    fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&node, rest) = bytes.split_first_chunk()?;
        let (&number, rest) = rest.split_first_chunk()?;
        let id = Self {
            node: u64::from_le_bytes(node),
            number: u64::from_le_bytes(number),
        };
        Some((id, rest))
    }
}

/// A message with what proves its place in its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    /// The epoch at its publication. In the stream it may be that of earlier numbers, which went on.
    pub(super) epoch: Epoch,
    /// The message before it.
    pub(super) before: Id,
    pub(super) id: Id,
    pub(super) entry: Entry,
}

/// What was published on a channel's topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Published(Published),
    /// The channel has another epoch.
    Renewed,
}

/// Parses what was published or read; `None`: another program wrote it. `own` is the number of this node, whose marks
/// are its own.
pub(super) fn parse(bytes: &Bytes, own: u64) -> Option<Told> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (&[version, what], rest) = rest.split_first_chunk()?;
    let (epoch, rest) = rest.split_first_chunk::<EPOCH_BYTES>()?;
    let epoch = Epoch::parse(epoch)?;
    match (version, what) {
        (VERSION, PUBLISHED) => message(epoch, bytes, rest, own).map(Told::Published),
        (VERSION, RENEWED) => rest.is_empty().then_some(Told::Renewed),
        _ => None,
    }
}

fn message(epoch: Epoch, bytes: &Bytes, rest: &[u8], own: u64) -> Option<Published> {
    let (&offset, rest) = rest.split_first_chunk()?;
    let (&unix_ms, rest) = rest.split_first_chunk()?;
    let (before, rest) = Id::take(rest)?;
    let (id, rest) = Id::take(rest)?;
    let (&[flags], rest) = rest.split_first_chunk()?;
    let (&socket, rest) = rest.split_first_chunk()?;
    let (&mark, payload) = rest.split_first_chunk()?;
    let kind = if flags & BINARY == 0 {
        Kind::Text
    } else {
        Kind::Binary
    };
    let offset = u64::from_le_bytes(offset);
    let is_valid = offset > 0
        && offset < u64::MAX
        && flags & !(BINARY | FROM_SOCKET) == 0
        && (kind == Kind::Binary || is_text(payload));
    let mark = u64::from_le_bytes(mark);
    is_valid.then(|| Published {
        epoch,
        before,
        id,
        entry: Entry {
            offset,
            unix_ms: u64::from_le_bytes(unix_ms),
            kind,
            payload: bytes.slice_ref(payload),
            from: (flags & FROM_SOCKET != 0).then(|| (id.node, u64::from_le_bytes(socket))),
            mark: if id.node == own { mark } else { 0 },
        },
    })
}

/// What the script puts between the id and the payload.
pub(super) fn head(message: &Append) -> [u8; 17] {
    let mut flags = 0;
    if message.kind == Kind::Binary {
        flags |= BINARY;
    }
    if message.from.is_some() {
        flags |= FROM_SOCKET;
    }
    let socket = message.from.unwrap_or_default().to_le_bytes();
    let mut head = [0; 17];
    let bytes = [flags].into_iter().chain(socket);
    let bytes = bytes.chain(message.mark.to_le_bytes());
    for (place, byte) in head.iter_mut().zip(bytes) {
        *place = byte;
    }
    head
}

/// Appends what the script makes, for a store that runs no scripts.
pub(super) fn write(published: &Published, message: &Append, out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[VERSION, PUBLISHED]);
    out.extend_from_slice(published.epoch.to_string().as_bytes());
    out.extend_from_slice(&published.entry.offset.to_le_bytes());
    out.extend_from_slice(&published.entry.unix_ms.to_le_bytes());
    out.extend_from_slice(&published.before.to_bytes());
    out.extend_from_slice(&published.id.to_bytes());
    out.extend_from_slice(&head(message));
    out.extend_from_slice(&message.payload);
}

/// The beginning of everything that is published. No text begins with it.
const MAGIC: [u8; 8] = *b"\xffhistory";

const VERSION: u8 = 1;

const PUBLISHED: u8 = 1;

const RENEWED: u8 = 2;

const BINARY: u8 = 1;

const FROM_SOCKET: u8 = 2;

const EPOCH_BYTES: usize = 16;

const ID_BYTES: usize = 16;

/// The bytes before a payload.
pub(super) const HEAD_BYTES: usize = MAGIC.len() + 2 + EPOCH_BYTES + 2 * 8 + 2 * ID_BYTES + 17;

#[cfg(test)]
mod tests {
    use millrace_core::HistoryTerms;
    use proptest::prelude::*;

    use super::*;

    const OWN: u64 = 7;

    const ID: Id = Id {
        node: OWN,
        number: 0x0102_0304_0506_0708,
    };

    fn append(kind: Kind, payload: &[u8]) -> Append {
        Append {
            channel: (*b"room").into(),
            terms: HistoryTerms {
                messages: 1,
                age_ms: 1,
            },
            kind,
            payload: Bytes::copy_from_slice(payload),
            from: Some(9),
            key: None,
            mark: 11,
        }
    }

    /// The bytes that the script makes.
    fn written(message: &Append) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([VERSION, PUBLISHED]);
        bytes.extend(b"00000000000000ff");
        bytes.extend(3_u64.to_le_bytes());
        bytes.extend(1_790_000_000_000_u64.to_le_bytes());
        bytes.extend(Id::default().to_bytes());
        bytes.extend(ID.to_bytes());
        bytes.extend(head(message));
        assert_eq!(bytes.len(), HEAD_BYTES);
        bytes.extend(&message.payload);
        bytes
    }

    fn parsed(bytes: Vec<u8>, own: u64) -> Option<Told> {
        parse(&Bytes::from(bytes), own)
    }

    #[test]
    fn a_message_has_what_was_published() {
        for kind in [Kind::Text, Kind::Binary] {
            let message = append(kind, b"hello");
            let expected = |mark| {
                Some(Told::Published(Published {
                    epoch: Epoch::new(255),
                    before: Id::default(),
                    id: ID,
                    entry: Entry {
                        offset: 3,
                        unix_ms: 1_790_000_000_000,
                        kind,
                        payload: Bytes::from_static(b"hello"),
                        from: Some((OWN, 9)),
                        mark,
                    },
                }))
            };
            assert_eq!(parsed(written(&message), OWN), expected(11));
            let Some(Told::Published(published)) = expected(11) else {
                unreachable!("it is one")
            };
            let mut bytes = Vec::new();
            write(&published, &message, &mut bytes);
            assert_eq!(bytes, written(&message));
            assert_eq!(parsed(written(&message), OWN + 1), expected(0));
        }
        assert_eq!(Id::parse(&ID.to_bytes()), Some(ID));
        assert_eq!(Id::parse(b""), None);
    }

    #[test]
    fn truncated_and_other_bytes_are_no_message() {
        let whole = written(&append(Kind::Text, b""));
        for end in 0..whole.len() {
            assert_eq!(parsed(whole[..end].to_vec(), OWN), None, "{end}");
        }
        // version, what it is, a digit of the epoch, the offset, the flags
        let changes = [(8, 2), (9, 3), (10, b'g'), (26, 0), (74, 4), (74, 255)];
        for (place, byte) in changes {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            assert_eq!(parsed(bytes, OWN), None, "{place}");
        }
        assert_eq!(parsed(written(&append(Kind::Text, b"\xff")), OWN), None);
        assert_eq!(parsed(b"hello".to_vec(), OWN), None);
    }

    #[test]
    fn another_epoch_is_told() {
        let told = b"\xffhistory\x01\x0200000000000000ff".to_vec();
        assert_eq!(parsed(told.clone(), OWN), Some(Told::Renewed));
        assert_eq!(parsed([told, b"x".to_vec()].concat(), OWN), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>, cut in 0_usize..HEAD_BYTES, place in 0_usize..HEAD_BYTES, byte: u8) {
            let mut hostile = written(&append(Kind::Binary, &bytes));
            hostile[place] = byte;
            parsed(hostile.clone(), OWN);
            hostile.truncate(cut);
            hostile.extend(&bytes);
            parsed(hostile, OWN);
            parsed(bytes, OWN);
        }
    }
}
