//! A message as an adapter encodes it: its contents and where it was sent. Owns no bytes.

use millrace_core::{Annotation, ChannelId, Kind, Name, Number};

/// A message to be encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: Kind,
    pub(crate) payload: &'a [u8],
    /// The subscription that it was published to; `None` if it was sent to the socket alone.
    pub(crate) via: Option<Via<'a>>,
}

/// The channel and pattern of a message, for protocols that transmit them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Via<'a> {
    /// The channel; its space distinguishes it from a sharded channel of the same name.
    pub(crate) channel: &'a Name,
    /// The pattern that the recipient is subscribed to; `None` if it is subscribed to the channel itself.
    pub(crate) pattern: Option<&'a Name>,
    /// The mark of the virtual socket that is subscribed, for encodings that [show](super::Encodings::shows_marks) it beside
    /// the payload.
    pub(crate) mark: Option<&'a Annotation>,
    /// The publisher, where subscribers see it.
    pub(crate) from: Option<&'a str>,
    /// The message's number, for a subscription to a channel with history. A publication that has one is in no other
    /// channel with history, so that its frames for a list are those with this number.
    pub(crate) number: Option<&'a Number>,
}

/// The recipient list of a message, and the subscription behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The list of the channel or pattern.
    pub(crate) list: ChannelId,
    pub(crate) via: Via<'a>,
}
