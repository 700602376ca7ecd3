//! Transfers: large bodies that pass between an I/O shard and a worker in steps, as data. Knows nothing of their
//! contents.

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use millrace_core::ShardIndex;

/// Identifies a transfer in its gateway: a count, and the shard that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferId(u64);

/// A step of a transfer that the worker takes.
pub enum Step {
    /// A head with its complete body.
    Whole(Box<Whole>),
    /// A head; pieces follow.
    Begin(Box<Head>),
    /// A piece of the body.
    Piece(Box<Bytes>),
    /// The body is complete.
    End,
    /// The body will never be complete.
    Abort,
    /// The body will never be complete, and the worker does not know: the shard's inbox had no room for a piece.
    Lost,
    /// The worker asks to be told when few bytes of the body are left to write.
    WantRoom,
    /// The worker has room for this many more bytes of the other direction.
    Pull(u32),
}

/// A head, which only its protocol interprets.
pub type Head = dyn Any + Send;

/// A head and its body, in one box.
pub struct Whole<H: ?Sized = Head> {
    pub(crate) body: Bytes,
    pub(crate) head: H,
}

impl TransferId {
    /// The transfer with the number that a worker uses.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number that a worker uses.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The transfer with this count on a shard.
    pub(crate) fn on(shard: ShardIndex, count: u64) -> Self {
        Self(count * SHARDS + u64::try_from(shard.get()).unwrap_or_default())
    }

    /// The shard that owns it.
    pub(crate) fn shard(self) -> Option<ShardIndex> {
        u8::try_from(self.0 % SHARDS).ok().and_then(ShardIndex::new)
    }
}

/// An id is a count times this, plus its shard.
const SHARDS: u64 = 64;

/// Bytes of a body that a worker is sent before it asks for more.
pub(crate) const FIRST_CREDIT: usize = 64 * 1024;

impl Step {
    /// Bytes that the step takes in a shard's inbox; `None`: it has no bytes, and each transfer has few such steps.
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
