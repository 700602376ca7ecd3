//! What a protocol registers of the form in which its messages go onto the wire.

use std::fmt;

use super::message::Message;

/// What a protocol registers.
#[derive(Clone, Copy)]
pub(crate) struct EncodingDef {
    /// As in logs.
    pub(crate) name: &'static str,
    /// Whether frames say by which channel, and which pattern, a message came: then there is one for each.
    pub(crate) names_channel: bool,
    /// The longest payload that it can carry, in bytes: what is longer is dropped for its recipients, and counted.
    pub(crate) most_payload: usize,
    /// Bytes that it puts around a payload and names, nearly always at most.
    pub(crate) around: usize,
    /// Appends a message.
    pub(crate) append: fn(&Message<'_>, &mut Vec<u8>),
}

/// What a protocol registers of a form in which a word stands that a listener chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordedDef {
    /// How it appends is not used.
    pub(crate) def: EncodingDef,
    /// Appends a message with that word.
    pub(crate) append: fn(&str, &Message<'_>, &mut Vec<u8>),
}

impl fmt::Debug for EncodingDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncodingDef").field(&self.name).finish()
    }
}
