//! A message of a stream: one or more publications of a channel, or only where its numbers are. Owns the bytes. Hostile
//! bytes are no record, and nothing is reserved from a length that they announce.
//!
//! Each record names the ones before it by their sequence numbers in the stream, so that many can be read at once.

use bytes::Bytes;
use millrace_core::Epoch;

use super::super::feed::Append;
use super::super::publication::{self, Id, Published, Told};

/// Where the numbers of a channel are behind a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) epoch: Epoch,
    pub(super) offset: u64,
    /// The time of the last publication.
    pub(super) unix_ms: u64,
    /// What names the last publication.
    pub(super) id: Id,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) state: State,
    /// The sequence numbers of the records before it in its channel, the last one first.
    pub(super) before: Vec<u64>,
    /// None: it says only where the numbers are.
    pub(super) messages: Vec<Published>,
}

/// The newest record of a channel: its sequence number in the stream, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// 0: the channel has no record.
    pub(super) sequence: u64,
    pub(super) state: State,
    pub(super) before: Vec<u64>,
    /// Whether another program has written the message with that number. The record is the first of those before it.
    pub(super) is_foreign: bool,
}

impl Head {
    /// That of a channel without a record. Its numbers begin in this epoch.
    pub(super) fn nothing(epoch: Epoch) -> Self {
        Self {
            sequence: 0,
            state: State {
                epoch,
                offset: 0,
                unix_ms: 0,
                id: Id::default(),
            },
            before: Vec::new(),
            is_foreign: false,
        }
    }

    pub(super) fn of(sequence: u64, record: &Record) -> Self {
        Self {
            sequence,
            state: record.state,
            before: record.before.clone(),
            is_foreign: false,
        }
    }

    /// The same with a message of another program behind it.
    pub(super) fn behind_foreign(self, sequence: u64) -> Self {
        Self {
            sequence,
            before: self.chain(),
            is_foreign: true,
            ..self
        }
    }

    /// What the next record names as the ones before it.
    pub(super) fn chain(&self) -> Vec<u64> {
        let is_record = |sequence: &u64| *sequence > 0 && !self.is_foreign;
        let own = Some(self.sequence).filter(is_record);
        let all = own.into_iter().chain(self.before.iter().copied());
        all.take(MOST_BEFORE).collect()
    }
}

impl State {
    /// The next publication of this node, with the number behind this one.
    pub(super) fn next(self, id: Id, now_ms: u64, message: &Append, node: u64) -> Published {
        Published {
            epoch: self.epoch,
            before: self.id,
            id,
            entry: super::super::feed::Entry {
                offset: self.offset.saturating_add(1),
                unix_ms: now_ms.max(self.unix_ms),
                kind: message.kind,
                payload: message.payload.clone(),
                from: message.from.map(|socket| (node, socket)),
                mark: message.mark,
            },
        }
    }

    /// Where the numbers are behind a publication.
    pub(super) fn behind(message: &Published) -> Self {
        Self {
            epoch: message.epoch,
            offset: message.entry.offset,
            unix_ms: message.entry.unix_ms,
            id: message.id,
        }
    }
}

/// Appends the beginning of a record with publications. Behind it comes each of them, by [`put`].
pub(super) fn begin(before: &[u64], out: &mut Vec<u8>) {
    open(MESSAGES, before, out);
}

/// Appends a publication.
pub(super) fn put(published: &Published, message: &Append, out: &mut Vec<u8>) {
    let length = publication::HEAD_BYTES + message.payload.len();
    // a message is at most as long as the bound of this node, which is a number of 32 bits
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    publication::write(published, message, out);
}

/// The record that only says where the numbers are.
pub(super) fn mark(state: &State, before: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    open(STATE, before, &mut out);
    out.extend_from_slice(&state.epoch.get().to_le_bytes());
    out.extend_from_slice(&state.offset.to_le_bytes());
    out.extend_from_slice(&state.unix_ms.to_le_bytes());
    out.extend_from_slice(&state.id.to_bytes());
    out
}

fn open(what: u8, before: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(&MAGIC);
    let before = before.get(..MOST_BEFORE).unwrap_or(before);
    let count = u8::try_from(before.len()).unwrap_or_default();
    out.extend_from_slice(&[VERSION, what, count]);
    for sequence in before {
        out.extend_from_slice(&sequence.to_le_bytes());
    }
}

/// Parses a message of a stream; `None`: another program wrote it. `own` is the number of this node.
pub(super) fn parse(bytes: &Bytes, own: u64) -> Option<Record> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (&[version, what, count], mut rest) = rest.split_first_chunk()?;
    let mut before = Vec::new();
    for _ in 0..count {
        let (&sequence, behind) = rest.split_first_chunk()?;
        before.push(u64::from_le_bytes(sequence));
        rest = behind;
    }
    // each is older than the one before it
    let is_older = |pair: &[u64]| matches!(pair, [newer, older] if older < newer);
    if version != VERSION || before.len() > MOST_BEFORE || !before.windows(2).all(is_older) {
        return None;
    }
    match what {
        MESSAGES => messages(bytes, rest, before, own),
        STATE => Some(Record {
            state: state(rest)?,
            before,
            messages: Vec::new(),
        }),
        _ => None,
    }
}

fn messages(bytes: &Bytes, rest: &[u8], before: Vec<u64>, own: u64) -> Option<Record> {
    let (mut rest, mut messages) = (rest, Vec::<Published>::new());
    while let Some((&length, behind)) = rest.split_first_chunk() {
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let (one, behind) = behind.split_at_checked(length)?;
        let Some(Told::Published(message)) = publication::parse(&bytes.slice_ref(one), own) else {
            return None;
        };
        let is_next = messages.last().is_none_or(|last| {
            (last.epoch, last.id) == (message.epoch, message.before)
                && last.entry.offset.checked_add(1) == Some(message.entry.offset)
        });
        if !is_next {
            return None;
        }
        messages.push(message);
        rest = behind;
    }
    let state = State::behind(messages.last()?);
    rest.is_empty().then_some(Record {
        state,
        before,
        messages,
    })
}

fn state(rest: &[u8]) -> Option<State> {
    let (&epoch, rest) = rest.split_first_chunk()?;
    let (&offset, rest) = rest.split_first_chunk()?;
    let (&unix_ms, rest) = rest.split_first_chunk()?;
    let offset = u64::from_le_bytes(offset);
    (offset < u64::MAX).then_some(State {
        epoch: Epoch::new(u64::from_le_bytes(epoch)),
        offset,
        unix_ms: u64::from_le_bytes(unix_ms),
        id: Id::parse(rest)?,
    })
}

/// The beginning of every record. No text begins with it.
const MAGIC: [u8; 8] = *b"\xffrecords";

const VERSION: u8 = 1;

const MESSAGES: u8 = 1;

const STATE: u8 = 2;

/// How many records before it a record names.
pub(super) const MOST_BEFORE: usize = 16;

/// The most bytes in front of the publications.
pub(super) const RECORD_BYTES: usize = MAGIC.len() + 3 + 8 * MOST_BEFORE;

/// The bytes of a publication beside its payload.
pub(super) const MESSAGE_BYTES: usize = 4 + publication::HEAD_BYTES;

#[cfg(test)]
mod tests {
    use millrace_core::{HistoryTerms, Kind};
    use proptest::prelude::*;

    use super::*;

    const OWN: u64 = 7;

    fn append(text: &str) -> Append {
        Append {
            channel: (*b"room").into(),
            terms: HistoryTerms {
                messages: 1,
                age_ms: 1,
            },
            kind: Kind::Text,
            payload: Bytes::copy_from_slice(text.as_bytes()),
            from: Some(9),
            key: None,
            mark: 11,
        }
    }

    fn id(number: u64) -> Id {
        Id { node: OWN, number }
    }

    /// A record with these texts, and what it says.
    fn written(texts: &[&str]) -> (Vec<u8>, Record) {
        let head = Head {
            sequence: 9,
            before: vec![4, 3],
            ..Head::nothing(Epoch::new(255))
        };
        let (mut bytes, mut state, mut messages) = (Vec::new(), head.state, Vec::new());
        begin(&head.chain(), &mut bytes);
        for (number, text) in texts.iter().enumerate() {
            let message = append(text);
            let id = id(u64::try_from(number).unwrap() + 1);
            let published = state.next(id, 5, &message, OWN);
            put(&published, &message, &mut bytes);
            state = State::behind(&published);
            messages.push(published);
        }
        let before = vec![9, 4, 3];
        let record = Record {
            state,
            before,
            messages,
        };
        (bytes, record)
    }

    #[test]
    fn a_record_has_what_was_put_into_it() {
        let (bytes, record) = written(&["a", "", "c"]);
        assert_eq!(parse(&Bytes::from(bytes), OWN), Some(record.clone()));
        assert_eq!((record.state.offset, record.state.id), (3, id(3)));
        let mark = mark(&record.state, &record.before);
        let expected = Record {
            messages: vec![],
            ..record
        };
        assert_eq!(parse(&Bytes::from(mark), OWN), Some(expected));
    }

    #[test]
    fn a_record_names_only_the_last_ones_before_it() {
        let mut head = Head::nothing(Epoch::new(1));
        assert_eq!(head.chain(), [0; 0]);
        for sequence in 1..=40 {
            head = Head {
                sequence,
                before: head.chain(),
                ..head
            };
        }
        assert_eq!(head.chain(), (25..=40).rev().collect::<Vec<_>>());
    }

    #[test]
    fn truncated_and_other_bytes_are_no_record() {
        let (bytes, record) = written(&["a"]);
        let mark = mark(&record.state, &[]);
        for whole in [&bytes, &mark] {
            for end in 0..whole.len() {
                assert_eq!(parse(&Bytes::copy_from_slice(&whole[..end]), OWN), None);
            }
        }
        // version, what it is, the number of those before it, their order, the length
        for (place, byte) in [(8, 2), (9, 3), (10, 200), (11, 1), (35, 255)] {
            let mut changed = bytes.clone();
            changed[place] = byte;
            assert_eq!(parse(&Bytes::from(changed), OWN), None, "{place}");
        }
        let doubled = [&bytes[..], &bytes[35..]].concat();
        assert_eq!(parse(&Bytes::from(doubled), OWN), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>, cut in 0_usize..200, place in 0_usize..150, byte: u8) {
            let (mut hostile, _) = written(&["some", "texts"]);
            hostile[place] = byte;
            parse(&Bytes::from(hostile.clone()), OWN);
            hostile.truncate(cut);
            hostile.extend(&bytes);
            parse(&Bytes::from(hostile), OWN);
            parse(&Bytes::from(bytes), OWN);
        }
    }
}
