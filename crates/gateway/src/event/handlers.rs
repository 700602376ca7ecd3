//! Which handlers a worker has, as a set of bits. [`kinds`](super::kinds) lists the handlers.

use std::ops::BitOr;

/// Which handlers a worker's module exports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handlers(u32);

impl Handlers {
    /// No handlers.
    pub const NONE: Self = Self(0);

    pub(super) const fn bit(bit: u32) -> Self {
        Self(bit)
    }

    /// The handlers for these bits, as JavaScript encodes them.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The handlers of both sets.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The handlers that are not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether it answers requests and has no handler that is told of WebSockets.
    pub(crate) const fn only_answers(self) -> bool {
        self.contains(Self::REQUEST) && self.0 & Self::OF_WEBSOCKETS.0 == 0
    }

    /// Each of these is told of WebSockets.
    const OF_WEBSOCKETS: Self = Self::OPEN
        .with(Self::TEXT)
        .with(Self::BINARY)
        .with(Self::MESSAGE_STREAM)
        .with(Self::CLOSE)
        .with(Self::CONGESTED)
        .with(Self::DRAIN)
        .with(Self::PING)
        .with(Self::PONG)
        .with(Self::SUBSCRIBE)
        .with(Self::PUBLISH)
        .with(Self::CALL);

    /// Whether it has all handlers of `others`.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Handlers {
    type Output = Self;

    fn bitor(self, others: Self) -> Self {
        self.with(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_what_was_added() {
        let set = Handlers::TEXT | Handlers::CLOSE;
        assert!(set.contains(Handlers::TEXT) && set.contains(Handlers::NONE));
        assert!(!set.contains(Handlers::OPEN));
        assert!(!set.contains(Handlers::TEXT | Handlers::OPEN));
        assert_eq!(set.without(Handlers::TEXT), Handlers::CLOSE);
        assert_eq!(Handlers::from_bits(1 << 1 | 1 << 3), set);
    }

    #[test]
    fn one_handler_of_websockets_is_enough_to_be_told_of_them() {
        let answers = Handlers::REQUEST | Handlers::NODE_REQUEST;
        assert!(answers.only_answers());
        assert!((answers | Handlers::SPLICE_CONNECT).only_answers());
        assert!(!(answers | Handlers::CLOSE).only_answers());
        assert!(!(answers | Handlers::PONG).only_answers());
        assert!(!(answers | Handlers::CALL).only_answers());
        assert!(!Handlers::NONE.only_answers());
    }
}
