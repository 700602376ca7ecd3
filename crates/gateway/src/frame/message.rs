//! A message as an adapter encodes it: what it is, and where it was sent. Owns no bytes.

use millrace_core::{ChannelId, Kind, Name};

/// One message on its way onto a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: Kind,
    pub(crate) payload: &'a [u8],
    /// The subscription that it comes by; `None` where it was sent to the socket alone.
    pub(crate) via: Option<Via<'a>>,
}

/// Where a message was sent, for protocols that say so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Via<'a> {
    /// The channel, which its space tells from a sharded one.
    pub(crate) channel: &'a Name,
    /// The pattern by which the recipient is subscribed; `None` where it is to the channel itself.
    pub(crate) pattern: Option<&'a Name>,
}

/// Which recipient list a message goes to, and how it came there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The list of the channel or pattern.
    pub(crate) list: ChannelId,
    pub(crate) via: Via<'a>,
}
