//! The subscription for which the server sent a message.

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
