//! What is kept of a session's members in a channel: records, each of which says where the one before it is. From the newest
//! one, all members are read by going back. Owns the form of a record, and what it means for a reader.

use super::super::super::jetstream::answers::{self, Failure, NO_MESSAGE};
use super::super::super::jetstream::json;
use super::super::super::jetstream::wire::Message;
use super::super::follow::Page;
use super::super::message::{self, Told};
use super::super::session::Session;
use super::names::Names;

/// What is behind the message of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// The number of the record before it in the stream; 0: there is none.
    pub(super) before: u64,
    /// How many members have changed since all of them were written.
    pub(super) changed: u32,
    /// In how many records.
    pub(super) records: u32,
    /// How many there were then.
    pub(super) size: u32,
    /// When that was, in milliseconds of Unix time.
    pub(super) since_ms: u64,
}

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) told: Told,
    pub(super) tail: Tail,
}

/// What was found in the stream.
pub(super) enum Found {
    /// A record of the log, with its number.
    Record(u64, Record),
    Nothing,
    /// A message of another program, or of another log.
    Foreign(u64),
}

/// Appends the tail to a message.
pub(super) fn write(mut message: Vec<u8>, tail: Tail) -> Vec<u8> {
    message.extend(tail.before.to_le_bytes());
    message.extend(tail.changed.to_le_bytes());
    message.extend(tail.records.to_le_bytes());
    message.extend(tail.size.to_le_bytes());
    message.extend(tail.since_ms.to_le_bytes());
    message
}

/// Parses a record; `None`: another program wrote it.
pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
    let (bytes, since_ms) = bytes.split_last_chunk()?;
    let (bytes, size) = bytes.split_last_chunk()?;
    let (bytes, records) = bytes.split_last_chunk()?;
    let (bytes, changed) = bytes.split_last_chunk()?;
    let (bytes, before) = bytes.split_last_chunk()?;
    Some(Record {
        told: message::parse(bytes)?,
        tail: Tail {
            before: u64::from_le_bytes(*before),
            changed: u32::from_le_bytes(*changed),
            records: u32::from_le_bytes(*records),
            size: u32::from_le_bytes(*size),
            since_ms: u64::from_le_bytes(*since_ms),
        },
    })
}

/// What was found for a log, according to the answer.
pub(super) fn found(
    message: &Message,
    (channel, session): (&[u8], Session),
) -> Result<Found, Failure> {
    match answers::failure(message) {
        Some((NO_MESSAGE, _)) => return Ok(Found::Nothing),
        Some((_, failure)) => return Err(failure),
        None => {}
    }
    let payload = &message.payload;
    let Some(sequence) = json::number(payload, "seq") else {
        let why = "its answer cannot be read".to_owned();
        return Err(Failure::Refused(why));
    };
    let end = Names::log_end(channel, session);
    let subject = json::text(payload, "subject").unwrap_or_default();
    let data = json::bytes(payload, "data").unwrap_or_default();
    let record = parse(&data).filter(|record| record.told.session() == session);
    Ok(match record {
        Some(record) if subject.ends_with(end.as_bytes()) => Found::Record(sequence, record),
        _ => Found::Foreign(sequence),
    })
}

impl Record {
    /// The number of the last change and where it is, as far as everything is complete; `None`: no member is there.
    pub(super) fn complete(&self, sequence: u64) -> Option<(u64, u64)> {
        match &self.told {
            Told::Change(change) => (!change.is_empty).then_some((change.version, sequence)),
            Told::Reset {
                version, is_empty, ..
            } => (!is_empty).then_some((*version, sequence)),
            Told::Part { base, .. } => Some(*base).filter(|base| base.0 != 0),
            Told::Gone(_) => None,
        }
    }

    /// Whether the members are being written anew.
    pub(super) fn is_part(&self) -> bool {
        matches!(self.told, Told::Part { .. })
    }

    /// What a reader learns from it, and where it goes on. `None`: that cannot be.
    pub(super) fn page(self, sequence: u64, is_newest: bool) -> Option<Page> {
        let mut page = Page {
            seats: Vec::new(),
            changes: Vec::new(),
            next: None,
        };
        let mut before = self.tail.before;
        match self.told {
            Told::Change(change) => page.changes = change.seats,
            Told::Reset { .. } => {}
            // it is not complete, and what was before it counts
            Told::Part { base, .. } if is_newest => {
                before = base.1;
                if before == 0 {
                    return None;
                }
            }
            Told::Part { seats, .. } => page.seats = seats,
            Told::Gone(_) => return None,
        }
        if before != 0 {
            page.next = Some(before.to_string().into());
        }
        (before < sequence).then_some(page)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::super::super::message::part;
    use super::super::super::roll::Seat;
    use super::*;

    const SESSION: Session = Session { node: 7, number: 9 };

    const TAIL: Tail = Tail {
        before: 3,
        changed: 2,
        records: 1,
        size: 5,
        since_ms: 1_790_000_000_000,
    };

    fn seat(socket: u64) -> Seat {
        Seat {
            socket,
            since_ms: 1,
            info: None,
        }
    }

    fn change(is_empty: bool) -> Vec<u8> {
        let mut bytes = message::change(SESSION, (1, 2), &[Ok(seat(4)), Err(5)]);
        bytes.push(u8::from(is_empty));
        write(bytes, TAIL)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = parse(&change(false)).unwrap();
        assert_eq!((record.tail, record.complete(8)), (TAIL, Some((2, 8))));
        let page = record.page(8, true).unwrap();
        assert_eq!(page.changes, [Ok(seat(4)), Err(5)]);
        assert_eq!(page.next.as_deref(), Some("3"));
        assert_eq!(parse(&change(true)).unwrap().complete(8), None);
        assert_eq!(
            parse(&change(true)).unwrap().page(3, true),
            None,
            "it would not end"
        );
        assert_eq!(parse(b"foreign"), None);
    }

    #[test]
    fn what_is_not_complete_counts_only_behind_what_is() {
        let bytes = write(part(SESSION, (2, 8), &[seat(4)]), TAIL);
        let of = || parse(&bytes).unwrap();
        assert!(of().is_part());
        assert_eq!(of().complete(9), Some((2, 8)));
        let page = of().page(9, true).unwrap();
        assert_eq!((page.seats, page.next.as_deref()), (vec![], Some("8")));
        let page = of().page(9, false).unwrap();
        assert_eq!(
            (page.seats, page.next.as_deref()),
            (vec![seat(4)], Some("3"))
        );
        let first = parse(&write(part(SESSION, (0, 0), &[]), TAIL)).unwrap();
        assert_eq!(first.complete(9), None);
        assert_eq!(first.page(9, true), None);
    }

    #[test]
    fn what_is_found_belongs_to_the_log() {
        let answer = |subject: &str, data: &[u8]| {
            let data = STANDARD.encode(data);
            let json =
                format!(r#"{{"message":{{"subject":"{subject}","seq":8,"data":"{data}"}}}}"#);
            Message {
                payload: Bytes::from(json),
                ..Message::default()
            }
        };
        let found = |subject: &str, data: &[u8]| found(&answer(subject, data), (b"a", SESSION));
        let own = format!("app!m.a.{SESSION}");
        assert!(matches!(
            found(&own, &change(false)),
            Ok(Found::Record(8, _))
        ));
        assert!(matches!(found(&own, b"x"), Ok(Found::Foreign(8))));
        let other = format!("app!m.b.{SESSION}");
        assert!(matches!(
            found(&other, &change(false)),
            Ok(Found::Foreign(8))
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>) {
            parse(&bytes);
        }
    }
}
