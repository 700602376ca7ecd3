//! What a protocol registers about an encoding of its messages.

use std::fmt;

use super::message::Message;

/// An encoding that a protocol registers.
#[derive(Clone, Copy)]
pub(crate) struct EncodingDef {
    /// The name for logs.
    pub(crate) name: &'static str,
    /// Whether frames name the channel and the pattern of a message, so that each subscription needs a frame of its
    /// own.
    pub(crate) names_channel: bool,
    /// The longest payload that it can carry, in bytes. A longer one is dropped for recipients with this encoding, and
    /// counted.
    pub(crate) most_payload: usize,
    /// Bytes that it adds to a payload and names, in nearly all cases.
    pub(crate) around: usize,
    /// Appends a message.
    pub(crate) append: fn(&Message<'_>, &mut Vec<u8>),
}

/// An encoding whose frames contain a word that a listener chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordedDef {
    /// The definition; its `append` is not used.
    pub(crate) def: EncodingDef,
    /// Appends a message with this word.
    pub(crate) append: fn(&str, &Message<'_>, &mut Vec<u8>),
}

impl fmt::Debug for EncodingDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncodingDef").field(&self.name).finish()
    }
}
