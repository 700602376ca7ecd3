//! The subscription for which the server sent a message.

use crate::local::Destination;

/// The subscription for which the server sent a message, with names as on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// The subscription to the channel.
    Channel(&'a [u8]),
    /// The subscription to the sharded channel.
    Sharded(&'a [u8]),
    /// The subscription to this pattern, which matches the channel.
    Pattern(&'a [u8], &'a [u8]),
    /// A subscription to everything, on behalf of all patterns.
    Any(&'a [u8]),
    /// The subscription to control messages.
    Control,
}

impl<'a> Source<'a> {
    /// The recipients of its messages on this node.
    pub(crate) fn destination(self) -> Destination<'a> {
        match self {
            Self::Channel(channel) => Destination::Channel(channel),
            Self::Sharded(channel) => Destination::Sharded(channel),
            Self::Pattern(pattern, channel) => Destination::Pattern { pattern, channel },
            Self::Any(channel) => Destination::Patterns(channel),
            Self::Control => Destination::Channel(b""),
        }
    }
}
