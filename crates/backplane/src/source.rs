//! Where a message comes from: the subscription that it is delivered for.

/// Where a message comes from, by names as they are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// The subscription to the channel.
    Channel(&'a [u8]),
    /// … of the other name space.
    Sharded(&'a [u8]),
    /// The subscription to this pattern, which the channel fits.
    Pattern(&'a [u8], &'a [u8]),
    /// A subscription to everything, on behalf of all patterns.
    Any(&'a [u8]),
    /// What nodes tell each other.
    Control,
}
