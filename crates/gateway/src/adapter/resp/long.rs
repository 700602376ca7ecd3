//! Replies that may be long: their bytes are counted before there is room for them, and where they do not fit, the
//! command is refused with an error.

use millrace_protocol::resp::{Reply, Version};

use super::limits::FixedRespLimits;
use crate::contract::{Charge, Frame};

/// A reply that grows: everything behind its head, whose counts are known last.
#[derive(Debug)]
pub(super) struct Long {
    version: Version,
    /// Behind room for the head.
    bytes: Vec<u8>,
    charge: Charge,
    most: usize,
}

/// Why it cannot be longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// No reply may be.
    TooLong,
    /// What is held for all clients leaves too little.
    NoRoom,
}

impl Long {
    /// Of several parts; none.
    pub(super) fn new(version: Version, charge: Charge) -> Self {
        Self {
            version,
            bytes: Vec::new(),
            charge,
            most: FixedRespLimits::default().reply_bytes,
        }
    }

    /// With room for one value, however long that is.
    pub(super) fn of_value(version: Version, charge: Charge, length: usize) -> Result<Self, Unfit> {
        let mut long = Self::new(version, charge);
        long.most = usize::MAX;
        long.make_room(length.saturating_add(AROUND))?;
        Ok(long)
    }

    /// Appends what takes at most so many bytes and [`AROUND`].
    pub(super) fn write(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut Reply<'_>),
    ) -> Result<(), Unfit> {
        self.make_room(length.saturating_add(AROUND))?;
        write(&mut self.reply());
        Ok(())
    }

    /// Writes into the room that was made.
    pub(super) fn reply(&mut self) -> Reply<'_> {
        Reply::new(self.version, &mut self.bytes)
    }

    /// Appends bytes as they are.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        self.make_room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(HEAD_ROOM)
    }

    /// Claims room for this much more, so that it can be written without a further look.
    pub(super) fn make_room(&mut self, more: usize) -> Result<(), Unfit> {
        let needed = self.bytes.len().max(HEAD_ROOM).saturating_add(more);
        let capacity = self.bytes.capacity();
        if needed > capacity || self.bytes.is_empty() {
            if needed > self.most {
                return Err(Unfit::TooLong);
            }
            // twice as much where that fits, so that it does not grow with every part
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

    /// The whole of it, behind this head.
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

/// A reply that is done.
#[derive(Debug)]
pub(super) enum Whole {
    /// As any other reply.
    Short(Vec<u8>),
    Long(Frame),
}

impl Unfit {
    /// What the client is told; `too_long` where there is a way to ask for less.
    pub(super) fn text(self, too_long: &'static str) -> &'static str {
        match self {
            Self::TooLong => too_long,
            Self::NoRoom => NO_ROOM,
        }
    }
}

pub(super) const NO_ROOM: &str =
    "ERR the answer does not fit beside what clients have not read: ask for less, or later";

/// What is said around a part beside its bytes, at most: kinds, lengths, a number.
pub(super) const AROUND: usize = 96;

/// Bytes of a head, at most: a cursor and two counts.
const HEAD_ROOM: usize = 96;

/// Replies up to this size are written with those around them.
pub(super) const SHORT_BYTES: usize = 64 * 1024;
