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

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

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
    fn ids_print_as_their_number() {
        assert_eq!(SocketId::new(42).unwrap().to_string(), "42");
        assert_eq!(ChannelId::new(7).to_string(), "7");
    }
}
