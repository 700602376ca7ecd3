//! Transfers: large bodies that pass between an I/O shard and a worker in steps, as data. Knows nothing of what they carry.

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use millrace_core::ShardIndex;

/// Names a transfer on its gateway: a count, and the shard that it lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferId(u64);

/// A step that the worker takes.
pub enum Step {
    /// A head with all of what belongs to it.
    Whole(Box<Whole>),
    /// A head; pieces follow.
    Begin(Box<Head>),
    /// A piece of the body.
    Piece(Box<Bytes>),
    /// The body is complete.
    End,
    /// It will never be complete.
    Abort,
    /// Nor this one, which the worker does not know: the shard had no room for a piece of it.
    Lost,
    /// The worker wants to be told when few bytes of it are left to be written.
    WantRoom,
    /// The worker has room for so many more bytes of what comes the other way.
    Pull(u32),
}

/// A head: only its protocol knows what it is.
pub type Head = dyn Any + Send;

/// A head and its body, in one box.
pub struct Whole<H: ?Sized = Head> {
    pub(crate) body: Bytes,
    pub(crate) head: H,
}

impl TransferId {
    /// The one that a worker knows by this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// As a worker knows it.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The one with this count on a shard.
    pub(crate) fn on(shard: ShardIndex, count: u64) -> Self {
        Self(count * SHARDS + u64::try_from(shard.get()).unwrap_or_default())
    }

    /// The shard that it lies on.
    pub(crate) fn shard(self) -> Option<ShardIndex> {
        u8::try_from(self.0 % SHARDS).ok().and_then(ShardIndex::new)
    }
}

/// An id is a count times this, plus its shard.
const SHARDS: u64 = 64;

/// Bytes of a body that a worker is sent without having asked for them.
pub(crate) const FIRST_CREDIT: usize = 64 * 1024;

impl Step {
    /// Bytes of it that wait in a shard's inbox; `None`: it has none, and there are few of its kind for each transfer.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self {
            Self::Whole(whole) => Some(whole.body.len()),
            Self::Piece(piece) => Some(piece.len()),
            Self::Begin(_) => Some(0),
            Self::End | Self::Abort | Self::Lost | Self::WantRoom | Self::Pull(_) => None,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(_) => f.write_str("Whole"),
            Self::Begin(_) => f.write_str("Begin"),
            Self::Piece(piece) => f.debug_tuple("Piece").field(piece).finish(),
            Self::End => f.write_str("End"),
            Self::Abort => f.write_str("Abort"),
            Self::Lost => f.write_str("Lost"),
            Self::WantRoom => f.write_str("WantRoom"),
            Self::Pull(bytes) => f.debug_tuple("Pull").field(bytes).finish(),
        }
    }
}

impl<H: ?Sized> fmt::Debug for Whole<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole")
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_shard() {
        let shard = ShardIndex::new(63).unwrap();
        let id = TransferId::on(shard, 5);
        assert_eq!(id.get(), 5 * 64 + 63);
        assert_eq!(id.shard(), Some(shard));
        assert_eq!(TransferId::new(id.get()), id);
    }
}
