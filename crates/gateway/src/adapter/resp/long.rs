//! Replies that may be long. Their bytes are counted before they are written; if they do not fit, the command is
//! refused with an error.

use millrace_protocol::resp::{Reply, Version};

use super::limits::FixedRespLimits;
use crate::contract::{Charge, Frame};

/// A reply that grows. Its head is written last, because only then are the counts known.
#[derive(Debug)]
pub(super) struct Long {
    version: Version,
    /// Starts with room for the head.
    bytes: Vec<u8>,
    charge: Charge,
    most: usize,
}

/// Why a reply cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It would exceed the limit of one reply.
    TooLong,
    /// The outboxes of all clients leave too little room.
    NoRoom,
}

impl Long {
    /// An empty reply that may have several parts.
    pub(super) fn new(version: Version, charge: Charge) -> Self {
        Self {
            version,
            bytes: Vec::new(),
            charge,
            most: FixedRespLimits::default().reply_bytes,
        }
    }

    /// A reply with room for one value of this length.
    pub(super) fn of_value(version: Version, charge: Charge, length: usize) -> Result<Self, Unfit> {
        let mut long = Self::new(version, charge);
        long.most = usize::MAX;
        long.make_room(length.saturating_add(AROUND))?;
        Ok(long)
    }

    /// Appends a part that takes at most this many bytes and [`AROUND`].
    pub(super) fn write(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> Result<(), Unfit> {
        self.make_room(length.saturating_add(AROUND))?;
        write(&mut self.reply());
        Ok(())
    }

    /// The writer for the room that was reserved.
    pub(super) fn reply(&mut self) -> Reply<'_> {
        Reply::new(self.version, &mut self.bytes)
    }

    /// Appends encoded bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        self.make_room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(HEAD_ROOM)
    }

    /// Reserves room for this many more bytes, which can then be written without a check.
    pub(super) fn make_room(&mut self, more: usize) -> Result<(), Unfit> {
        let needed = self.bytes.len().max(HEAD_ROOM).saturating_add(more);
        let capacity = self.bytes.capacity();
        if needed > capacity || self.bytes.is_empty() {
            if needed > self.most {
                return Err(Unfit::TooLong);
            }
            // doubles the room where that fits, so that the reply is not reallocated with every part
            let generous = needed.max(capacity.saturating_mul(2).min(self.most));
            let sizes = [generous, needed];
            let size = sizes
                .into_iter()
                .find(|size| self.charge.grow(size.saturating_sub(capacity)));
            let size = size.ok_or(Unfit::NoRoom)?;
            self.bytes.reserve_exact(size - self.bytes.len());
            if self.bytes.is_empty() {
                self.bytes.resize(HEAD_ROOM, 0);
            }
        }
        Ok(())
    }

    /// The complete reply, with this head in front.
    pub(super) fn finish(mut self, head: impl FnOnce(&mut Reply<'_>)) -> Whole {
        let mut front = Vec::with_capacity(HEAD_ROOM);
        head(&mut Reply::new(self.version, &mut front));
        if self.bytes.is_empty() {
            return Whole::Short(front);
        }
        let start = HEAD_ROOM.saturating_sub(front.len());
        if let Some(place) = self.bytes.get_mut(start..HEAD_ROOM) {
            place.copy_from_slice(&front);
        }
        if self.bytes.len() <= SHORT_BYTES {
            self.bytes.drain(..start);
            return Whole::Short(self.bytes);
        }
        Whole::Long(Frame::charged(start, self.bytes, self.charge))
    }
}

/// A complete reply.
#[derive(Debug)]
pub(super) enum Whole {
    /// Sent like any other reply.
    Short(Vec<u8>),
    Long(Frame),
}

impl Unfit {
    /// The error for the client. `too_long` is for a limit that the client can avoid by asking for less.
    pub(super) fn text(self, too_long: &'static str) -> &'static str {
        match self {
            Self::TooLong => too_long,
            Self::NoRoom => NO_ROOM,
        }
    }
}

pub(super) const NO_ROOM: &str =
    "ERR the answer does not fit beside what clients have not read: ask for less, or later";

/// The most bytes that a part adds to its payload: types, lengths, a number.
pub(super) const AROUND: usize = 96;

/// The most bytes of a head: a cursor and two counts.
const HEAD_ROOM: usize = 96;

/// Replies up to this size are written together with their neighbours.
pub(super) const SHORT_BYTES: usize = 64 * 1024;
