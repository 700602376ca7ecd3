//! What this node has written of its members in a channel, and what it writes next, without I/O. Owns how records follow each
//! other.
//!
//! A change names the record before it. All members are written in parts, which count when the last record names them;
//! until then what was before them does, which is removed afterwards.

use super::super::message;
use super::super::own::Written;
use super::super::roll::Seat;
use super::super::session::Session;
use super::names::KEPT_MS;
use super::record::{Found, Tail, write};

/// See the module.
#[derive(Debug)]
pub(super) struct Log {
    session: Session,
    /// The number of the newest record in the stream; 0: there is none.
    newest: u64,
    /// The number of the last change that is complete, and where it is; 0: no member is there.
    complete: (u64, u64),
    tail: Tail,
    /// The tail of the record that is being written.
    next: Tail,
    parts: Option<Parts>,
}

/// The parts of all members that were written. Numbers in the stream.
#[derive(Clone, Copy, Debug)]
struct Parts {
    first: u64,
    last: u64,
    size: u32,
}

/// What is to be written.
#[derive(Debug)]
pub(super) enum What {
    Change {
        /// Of the change before it, and its own.
        numbers: (u64, u64),
        message: Vec<u8>,
        /// How many members change.
        count: u32,
        is_empty: bool,
    },
    Part {
        is_first: bool,
        seats: Vec<Seat>,
        /// It is the last part.
        last: Option<Last>,
    },
}

/// What ends the parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) version: u64,
    /// The change behind which it is the next one.
    pub(super) follows: Option<u64>,
    pub(super) old: Option<Session>,
}

/// What follows after a record was kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another record.
    More,
    /// Nothing. What is in front of this number in the stream does not count any more.
    Done(Written, Option<u64>),
    /// Everything is removed, because no member is left.
    Empty,
}

impl Log {
    pub(super) fn new(session: Session, found: &Found) -> Self {
        let (newest, complete, tail) = match found {
            Found::Nothing => (0, None, Tail::default()),
            Found::Foreign(sequence) => (*sequence, None, Tail::default()),
            Found::Record(sequence, record) => (*sequence, record.complete(*sequence), record.tail),
        };
        Self {
            session,
            newest,
            complete: complete.unwrap_or_default(),
            tail,
            next: Tail::default(),
            parts: None,
        }
    }

    /// Whose log it is.
    pub(super) fn session(&self) -> Session {
        self.session
    }

    /// The number of the newest record.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether all members should be written once more, so that less has to be read.
    pub(super) fn is_long(&self, unix_ms: u64) -> bool {
        let is_old = self.tail.since_ms.saturating_add(KEPT_MS / 3) <= unix_ms;
        // a reader goes back record by record, and waits for each
        let most = LEAST_RECORDS.max(self.tail.size / 64);
        let has_grown =
            self.tail.changed > LEAST_LONG.max(self.tail.size) || self.tail.records > most;
        self.complete.0 != 0 && (is_old || has_grown)
    }

    /// The next record; `None`: it is not behind what is there.
    pub(super) fn record(&mut self, what: &What, unix_ms: u64) -> Option<Vec<u8>> {
        let (message, tail) = match what {
            What::Change {
                numbers,
                message,
                count,
                ..
            } => {
                if numbers.0 != self.complete.0 {
                    return None;
                }
                let tail = if numbers.0 == 0 {
                    Tail {
                        before: 0,
                        changed: *count,
                        records: 1,
                        size: 0,
                        since_ms: unix_ms,
                    }
                } else {
                    Tail {
                        before: self.complete.1,
                        changed: self.tail.changed.saturating_add(*count),
                        records: self.tail.records.saturating_add(1),
                        ..self.tail
                    }
                };
                (message.clone(), tail)
            }
            What::Part {
                is_first,
                seats,
                last,
            } => {
                if *is_first {
                    self.parts = None;
                } else if self.parts.is_none() {
                    return None;
                }
                let tail = Tail {
                    before: self.parts.map_or(0, |parts| parts.last),
                    ..self.tail
                };
                if seats.is_empty() {
                    self.last((*last)?, tail.before, unix_ms)?
                } else {
                    (message::part(self.session, self.complete, seats), tail)
                }
            }
        };
        self.next = tail;
        Some(write(message, tail))
    }

    /// What ends the parts.
    fn last(&self, last: Last, before: u64, unix_ms: u64) -> Option<(Vec<u8>, Tail)> {
        let size = self.parts.map_or(0, |parts| parts.size);
        let message = match last.follows {
            Some(follows) if follows != self.complete.0 => return None,
            Some(follows) => {
                let mut message = message::change(self.session, (follows, last.version), &[]);
                message.push(0);
                message
            }
            None => {
                let mut message = message::reset(self.session, last.version);
                message.push(u8::from(size == 0));
                message
            }
        };
        let tail = Tail {
            before,
            changed: 0,
            records: 0,
            size,
            since_ms: unix_ms,
        };
        Some((message, tail))
    }

    /// The record was kept under this number.
    pub(super) fn kept(&mut self, what: &mut What, sequence: u64) -> Next {
        self.newest = sequence;
        match what {
            What::Change {
                numbers, is_empty, ..
            } => {
                self.parts = None;
                self.tail = self.next;
                self.complete = (numbers.1, sequence);
                if *is_empty {
                    return Next::Empty;
                }
                Next::Done(Written::Done, None)
            }
            What::Part {
                is_first,
                seats,
                last,
            } => {
                let written = std::mem::take(seats);
                if !written.is_empty() {
                    let first = self.parts.map_or(sequence, |parts| parts.first);
                    let count = u32::try_from(written.len()).unwrap_or(u32::MAX);
                    let size = self.parts.map_or(0, |parts| parts.size);
                    self.parts = Some(Parts {
                        first,
                        last: sequence,
                        size: size.saturating_add(count),
                    });
                    *is_first = false;
                    return match last {
                        Some(_) => Next::More,
                        None => Next::Done(Written::Done, None),
                    };
                }
                let parts = self.parts.take();
                self.tail = self.next;
                self.complete = (last.map_or(0, |last| last.version), sequence);
                let follows = last.and_then(|last| last.follows);
                if parts.is_none() && follows.is_none() {
                    return Next::Empty;
                }
                let first = parts.map_or(sequence, |parts| parts.first);
                Next::Done(Written::Done, Some(first))
            }
        }
    }

    /// Everything was removed.
    pub(super) fn emptied(&mut self, is_removed: bool) {
        self.complete = (0, 0);
        if is_removed {
            self.newest = 0;
        }
    }
}

/// So many members change at least before all are written again.
const LEAST_LONG: u32 = 1024;

/// In so many records at least.
const LEAST_RECORDS: u32 = 128;

#[cfg(test)]
mod tests {
    use super::super::record::parse;
    use super::*;

    const SESSION: Session = Session { node: 1, number: 2 };

    fn seats(sockets: &[u64]) -> Vec<Seat> {
        let seat = |socket: &u64| Seat {
            socket: *socket,
            since_ms: 1,
            info: None,
        };
        sockets.iter().map(seat).collect()
    }

    fn change(numbers: (u64, u64), count: u32, is_empty: bool) -> What {
        let mut message = message::change(SESSION, numbers, &[]);
        message.push(u8::from(is_empty));
        What::Change {
            numbers,
            message,
            count,
            is_empty,
        }
    }

    fn part(is_first: bool, sockets: &[u64], last: Option<(u64, Option<u64>)>) -> What {
        let last = last.map(|(version, follows)| Last {
            version,
            follows,
            old: None,
        });
        What::Part {
            is_first,
            seats: seats(sockets),
            last,
        }
    }

    #[test]
    fn a_change_follows_the_last_one_and_what_is_left_is_removed() {
        let mut log = Log::new(SESSION, &Found::Nothing);
        assert!(log.record(&change((3, 4), 1, false), 9).is_none());
        let mut first = change((0, 1), 2, false);
        let record = parse(&log.record(&first, 9).unwrap()).unwrap();
        assert_eq!((record.tail.before, record.tail.changed), (0, 2));
        assert_eq!(log.kept(&mut first, 70), Next::Done(Written::Done, None));
        let mut second = change((1, 2), 1, true);
        let record = parse(&log.record(&second, 10).unwrap()).unwrap();
        assert_eq!((record.tail.before, record.tail.changed), (70, 3));
        assert_eq!((record.tail.since_ms, log.newest()), (9, 70));
        assert_eq!(log.kept(&mut second, 71), Next::Empty);
        log.emptied(true);
        assert_eq!((log.newest(), log.is_long(u64::MAX)), (0, false));
    }

    #[test]
    fn parts_count_when_the_last_record_names_them() {
        let mut log = Log::new(SESSION, &Found::Foreign(60));
        let mut first = part(true, &[1, 2], None);
        let record = parse(&log.record(&first, 9).unwrap()).unwrap();
        assert!(record.is_part() && record.tail.before == 0);
        assert_eq!(log.kept(&mut first, 70), Next::Done(Written::Done, None));
        let mut second = part(false, &[3], Some((5, None)));
        let record = parse(&log.record(&second, 9).unwrap()).unwrap();
        assert_eq!(record.tail.before, 70);
        assert_eq!(log.kept(&mut second, 71), Next::More);
        let record = parse(&log.record(&second, 9).unwrap()).unwrap();
        assert_eq!((record.tail.before, record.tail.size), (71, 3));
        assert_eq!(record.complete(72), Some((5, 72)));
        assert_eq!(
            log.kept(&mut second, 72),
            Next::Done(Written::Done, Some(70))
        );
        // the same once more, in a shorter form: what is complete counts until the end
        let mut again = part(true, &[1], Some((6, Some(5))));
        let record = parse(&log.record(&again, 9).unwrap()).unwrap();
        assert_eq!(record.complete(73), Some((5, 72)));
        assert_eq!(log.kept(&mut again, 73), Next::More);
        let record = parse(&log.record(&again, 9).unwrap()).unwrap();
        assert_eq!(record.complete(74), Some((6, 74)));
        assert_eq!(
            log.kept(&mut again, 74),
            Next::Done(Written::Done, Some(73))
        );
        // a change may come behind parts that nobody has ended
        let mut lost = part(true, &[1], None);
        log.record(&lost, 9).unwrap();
        log.kept(&mut lost, 75);
        let record = parse(&log.record(&change((6, 7), 1, false), 9).unwrap()).unwrap();
        assert_eq!((record.tail.before, log.newest()), (74, 75));
    }

    #[test]
    fn nothing_at_all_is_removed_at_once() {
        let mut log = Log::new(SESSION, &Found::Nothing);
        assert!(log.record(&part(false, &[1], None), 9).is_none());
        let mut none = part(true, &[], Some((5, None)));
        let record = parse(&log.record(&none, 9).unwrap()).unwrap();
        assert_eq!(record.complete(70), None);
        assert_eq!(log.kept(&mut none, 70), Next::Empty);
    }

    #[test]
    fn a_log_is_long_when_more_has_changed_than_is_there_or_when_it_is_old() {
        let mut log = Log::new(SESSION, &Found::Nothing);
        let mut many = change((0, 1), LEAST_LONG, false);
        log.record(&many, 9).unwrap();
        log.kept(&mut many, 70);
        assert!(!log.is_long(9) && log.is_long(9 + KEPT_MS / 3));
        let mut more = change((1, 2), 1, false);
        log.record(&more, 9).unwrap();
        log.kept(&mut more, 71);
        assert!(log.is_long(9));
    }

    #[test]
    fn a_log_is_long_when_it_has_many_records() {
        let mut log = Log::new(SESSION, &Found::Nothing);
        for version in 1..=u64::from(LEAST_RECORDS) {
            let mut one = change((version - 1, version), 1, false);
            log.record(&one, 9).unwrap();
            log.kept(&mut one, 70 + version);
            assert!(!log.is_long(9));
        }
        let last = u64::from(LEAST_RECORDS);
        let mut more = change((last, last + 1), 1, false);
        log.record(&more, 9).unwrap();
        log.kept(&mut more, 900);
        assert!(log.is_long(9));
        let mut all = part(true, &[1], Some((last + 2, Some(last + 1))));
        log.record(&all, 9).unwrap();
        log.kept(&mut all, 901);
        log.record(&all, 9).unwrap();
        log.kept(&mut all, 902);
        assert!(!log.is_long(9));
    }
}
