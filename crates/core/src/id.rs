//! Ids of sockets and channels. Owns their valid range; never allocates an id.

use std::fmt;
use std::num::NonZeroU64;

use crate::limits::SOCKET_ID_END;

/// The id of a real or virtual socket: 1 to 2^53 − 1, unique for the life of the process, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(NonZeroU64);

impl SocketId {
    /// The id with this number; `None` for 0 and for 2^53 and above. A socket with this id need not
    /// exist.
    pub const fn new(id: u64) -> Option<Self> {
        match NonZeroU64::new(id) {
            Some(id) if id.get() < SOCKET_ID_END => Some(Self(id)),
            _ => None,
        }
    }

    /// The least id.
    pub(crate) const LEAST: Self = Self(NonZeroU64::MIN);

    /// The greatest id.
    pub(crate) const MOST: Self = Self(NonZeroU64::MIN.saturating_add(SOCKET_ID_END - 2));

    /// The number, 1 to 2^53 − 1.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for SocketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a channel for as long as it has subscriptions; never reused, not even for the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(u64);

impl ChannelId {
    /// The id with this number. It identifies a channel only if the core allocated it.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The same id, with the terms of its channel in bits that no number reaches.
    #[must_use]
    pub(crate) fn with_terms(self, terms: Option<TermsIndex>) -> Self {
        let terms = terms.map_or(0, |terms| u64::from(terms.number()) + 1);
        Self(self.0 | terms << TERMS_SHIFT)
    }

    /// The terms of the channel; `None`: it has none, or this is the list of a pattern.
    pub fn terms(self) -> Option<TermsIndex> {
        let terms = (self.0 >> TERMS_SHIFT) & TERMS_MASK;
        let index = u8::try_from(terms).ok()?.checked_sub(1)?;
        TermsIndex::new(index)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The number of a channel's terms, 0 to 63: their place in the list that the application gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermsIndex(u8);

impl TermsIndex {
    /// How many terms there can be.
    pub const END: u8 = 64;

    /// The terms with this number; `None` from 64 on.
    pub const fn new(index: u8) -> Option<Self> {
        if index < Self::END {
            Some(Self(index))
        } else {
            None
        }
    }

    /// The number, for indexing.
    pub fn get(self) -> usize {
        usize::from(self.0)
    }

    /// The number as it is in a channel's id.
    pub(crate) const fn number(self) -> u8 {
        self.0
    }
}

/// The place of the terms in a channel's id: below the highest bit, which patterns have, and above 2^56 channels.
const TERMS_SHIFT: u32 = 56;
const TERMS_MASK: u64 = 0x7f;

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_ids_are_exact_in_a_javascript_number() {
        assert_eq!(SocketId::new(0), None);
        assert_eq!(SocketId::new(1).map(SocketId::get), Some(1));
        assert_eq!(
            SocketId::new((1 << 53) - 1).map(SocketId::get),
            Some((1 << 53) - 1)
        );
        assert_eq!(SocketId::new(1 << 53), None);
        assert_eq!(SocketId::new(u64::MAX), None);
    }

    #[test]
    fn an_optional_socket_id_is_as_small_as_the_id() {
        assert_eq!(size_of::<Option<SocketId>>(), 8);
    }

    #[test]
    fn a_channel_id_carries_every_terms() {
        let id = ChannelId::new(9);
        assert_eq!(id.with_terms(None), id);
        assert_eq!((id.terms(), ChannelId::new(1 << 63).terms()), (None, None));
        let all = (0..TermsIndex::END).map(|index| TermsIndex::new(index).unwrap());
        let ids: Vec<_> = all
            .map(|terms| (terms, id.with_terms(Some(terms))))
            .collect();
        for (terms, id) in &ids {
            assert_eq!((id.terms(), id.get() >> 63), (Some(*terms), 0));
        }
    }

    #[test]
    fn ids_print_as_their_number() {
        assert_eq!(SocketId::new(42).unwrap().to_string(), "42");
        assert_eq!(ChannelId::new(7).to_string(), "7");
    }
}
