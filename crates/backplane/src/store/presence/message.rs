//! What nodes tell each other about members: the bytes on a channel's topic, and those of a member in the store. Hostile bytes
//! are no message, and nothing is reserved from a length that they announce.

use millrace_core::SocketId;
use millrace_core::limits::INFO_BYTES;

use super::roll::Seat;
use super::session::Session;

/// What was published on a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Change(Change),
    /// The members of a session were written anew, up to this change. `is_empty`: there are none.
    Reset {
        session: Session,
        version: u64,
        is_empty: bool,
    },
    /// Some of the members of a session, which are being written anew. Until they are complete, what it has written before
    /// counts.
    Part {
        session: Session,
        /// The number of the change in front of it, and where that is; 0: there is none.
        base: (u64, u64),
        seats: Vec<Seat>,
    },
    /// A session has ended.
    Gone(Session),
}

impl Told {
    /// Whom it is about.
    pub(super) fn session(&self) -> Session {
        match self {
            Self::Change(change) => change.session,
            Self::Reset { session, .. } | Self::Part { session, .. } | Self::Gone(session) => {
                *session
            }
        }
    }
}

/// Some members of a session have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) session: Session,
    /// The number of the change before it; 0: there was no member.
    pub(super) before: u64,
    /// Its own number.
    pub(super) version: u64,
    /// `Err`: the socket has left.
    pub(super) seats: Vec<Result<Seat, u64>>,
    /// No member is left.
    pub(super) is_empty: bool,
}

impl Change {
    /// About what it takes.
    pub(super) fn bytes(&self) -> usize {
        let info = |seat: &Result<Seat, u64>| {
            let info = seat.as_ref().ok().and_then(|seat| seat.info.as_deref());
            size_of::<Seat>() + info.map_or(0, str::len)
        };
        self.seats.iter().map(info).sum()
    }
}

/// Writes a change, as far as the script does not.
pub(super) fn change(
    session: Session,
    (before, version): (u64, u64),
    seats: &[Result<Seat, u64>],
) -> Vec<u8> {
    let mut bytes = head(CHANGE, session);
    put(&mut bytes, before);
    put(&mut bytes, version);
    for seat in seats {
        match seat {
            Err(socket) => {
                bytes.push(LEFT);
                put(&mut bytes, *socket);
            }
            Ok(seat) => put_seat(&mut bytes, seat),
        }
    }
    bytes
}

/// Writes some of the members of a session. `base`: the number of the change in front of it, and where that is.
pub(super) fn part(session: Session, base: (u64, u64), seats: &[Seat]) -> Vec<u8> {
    let mut bytes = head(PART, session);
    put(&mut bytes, base.0);
    put(&mut bytes, base.1);
    for seat in seats {
        put_seat(&mut bytes, seat);
    }
    bytes
}

fn put_seat(bytes: &mut Vec<u8>, seat: &Seat) {
    bytes.push(HERE);
    put(bytes, seat.socket);
    let value = value(seat);
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&value);
}

/// Writes that the members were written anew, as far as the script does not.
pub(super) fn reset(session: Session, version: u64) -> Vec<u8> {
    let mut bytes = head(RESET, session);
    put(&mut bytes, version);
    bytes
}

/// Writes that a session has ended.
pub(super) fn gone(session: Session) -> Vec<u8> {
    head(GONE, session)
}

/// Parses what was published; `None`: another program did.
pub(super) fn parse(bytes: &[u8]) -> Option<Told> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (&[version, what], mut rest) = rest.split_first_chunk()?;
    let (node, number) = (take(&mut rest)?, take(&mut rest)?);
    let session = Session { node, number };
    if version != VERSION || node == 0 {
        return None;
    }
    match what {
        CHANGE => {
            let (before, version) = (take(&mut rest)?, take(&mut rest)?);
            let (flag, rest) = rest.split_last()?;
            let is_empty = flagged(*flag)?;
            let seats = seats(rest)?;
            (version > before).then_some(Told::Change(Change {
                session,
                before,
                version,
                seats,
                is_empty,
            }))
        }
        RESET => {
            let version = take(&mut rest)?;
            let [flag] = rest else { return None };
            Some(Told::Reset {
                session,
                version,
                is_empty: flagged(*flag)?,
            })
        }
        PART => {
            let base = (take(&mut rest)?, take(&mut rest)?);
            let seats = seats(rest)?.into_iter().collect::<Result<_, _>>();
            Some(Told::Part {
                session,
                base,
                seats: seats.ok()?,
            })
        }
        GONE => rest.is_empty().then_some(Told::Gone(session)),
        _ => None,
    }
}

fn seats(mut rest: &[u8]) -> Option<Vec<Result<Seat, u64>>> {
    let mut seats = Vec::new();
    while let Some((kind, behind)) = rest.split_first() {
        rest = behind;
        let socket = take(&mut rest)?;
        SocketId::new(socket)?;
        match *kind {
            LEFT => seats.push(Err(socket)),
            HERE => {
                let (length, behind) = rest.split_first_chunk()?;
                let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
                let (value, behind) = behind.split_at_checked(length)?;
                rest = behind;
                seats.push(Ok(seat(socket, value)?));
            }
            _ => return None,
        }
    }
    Some(seats)
}

/// The name of a member in its hash.
pub(super) fn field(socket: u64) -> [u8; 8] {
    socket.to_le_bytes()
}

/// A member as it is in its hash.
pub(super) fn value(seat: &Seat) -> Vec<u8> {
    let info = seat.info.as_deref().unwrap_or_default();
    [&seat.since_ms.to_le_bytes()[..], info.as_bytes()].concat()
}

/// A member that was read; `None`: another program wrote it.
pub(super) fn member(field: &[u8], value: &[u8]) -> Option<Seat> {
    let socket = u64::from_le_bytes(field.try_into().ok()?);
    SocketId::new(socket)?;
    seat(socket, value)
}

fn seat(socket: u64, mut value: &[u8]) -> Option<Seat> {
    let since_ms = take(&mut value)?;
    let info = str::from_utf8(value).ok()?;
    (info.len() <= INFO_BYTES).then(|| Seat {
        socket,
        since_ms,
        info: (!info.is_empty()).then(|| info.into()),
    })
}

fn head(what: u8, session: Session) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([VERSION, what]);
    put(&mut bytes, session.node);
    put(&mut bytes, session.number);
    bytes
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

fn flagged(flag: u8) -> Option<bool> {
    match flag {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// The beginning of everything that is published. No text begins with it.
const MAGIC: [u8; 8] = *b"\xffmembers";

const VERSION: u8 = 1;

const CHANGE: u8 = 1;
const RESET: u8 = 2;
const GONE: u8 = 3;
const PART: u8 = 4;

const LEFT: u8 = 0;
const HERE: u8 = 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: Session = Session { node: 7, number: 9 };

    fn seats_of(infos: &[Option<&str>]) -> Vec<Result<Seat, u64>> {
        let seat = |(socket, info): (u64, Option<&str>)| Seat {
            socket,
            since_ms: 1_790_000_000_000,
            info: info.map(Into::into),
        };
        let infos = infos.iter().copied();
        (1..).zip(infos).map(seat).map(Ok).collect()
    }

    #[test]
    fn a_change_is_read_as_it_was_written() {
        let mut seats = seats_of(&[Some("{\"name\":\"Ada\"}"), None]);
        seats.push(Err(12));
        let mut bytes = change(SESSION, (3, 4), &seats);
        bytes.push(1);
        let expected = Change {
            session: SESSION,
            before: 3,
            version: 4,
            seats,
            is_empty: true,
        };
        assert_eq!(parse(&bytes), Some(Told::Change(expected)));
        // any other end is another message, or none
        for end in 0..bytes.len() {
            let is_other = match parse(&bytes[..end]) {
                None => true,
                Some(Told::Change(change)) => change.seats.len() < 3,
                Some(_) => false,
            };
            assert!(is_other, "{end}");
        }
    }

    #[test]
    fn other_messages_are_read_as_they_were_written() {
        let mut bytes = reset(SESSION, 5);
        assert_eq!(parse(&bytes), None);
        bytes.push(0);
        let expected = Told::Reset {
            session: SESSION,
            version: 5,
            is_empty: false,
        };
        assert_eq!(parse(&bytes), Some(expected));
        assert_eq!(parse(&gone(SESSION)), Some(Told::Gone(SESSION)));
        let seats: Vec<_> = seats_of(&[Some("1"), None]).into_iter().flatten().collect();
        let expected = Told::Part {
            session: SESSION,
            base: (3, 70),
            seats: seats.clone(),
        };
        assert_eq!(parse(&part(SESSION, (3, 70), &seats)), Some(expected));
        bytes.push(0);
        assert_eq!(parse(&bytes), None);
    }

    #[test]
    fn a_member_is_read_as_it_was_written_and_bounded() {
        for seat in seats_of(&[Some("1"), None]).into_iter().flatten() {
            let found = member(&field(seat.socket), &value(&seat));
            assert_eq!(found, Some(seat));
        }
        let long = "x".repeat(INFO_BYTES + 1);
        let long = [&[0; 8], long.as_bytes()].concat();
        assert_eq!(member(&field(1), &long), None);
        assert!(member(&field(1), &long[..long.len() - 1]).is_some());
        assert_eq!(member(&field(0), &[0; 8]), None);
        assert_eq!(member(&field(1 << 53), &[0; 8]), None);
        assert_eq!(member(b"foreign", &[0; 8]), None);
        assert_eq!(member(&field(1), b"\0\0\0\0\0\0\0\0\xff"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>, what in 0_u8..5, length: u32) {
            parse(&bytes);
            let mut hostile = head(what, SESSION);
            hostile.extend_from_slice(&bytes);
            parse(&hostile);
            let mut long = change(SESSION, (0, 1), &[]);
            long.push(HERE);
            put(&mut long, 1);
            long.extend_from_slice(&length.to_le_bytes());
            long.extend_from_slice(&bytes);
            parse(&long);
        }
    }
}
