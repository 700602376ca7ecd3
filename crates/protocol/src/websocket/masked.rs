//! A message returned under its sender's mask, for a caller that relays it under another key: it is unmasked and masked
//! again in the pass that copies it.
//!
//! Owns the key of each byte. Never checks text: the decoder has done that, where it is required.

use super::config::DecoderConfig;
use super::encode::append_head;
use super::head::{self, Expect};
use super::input::Input;
use super::item::{Item, Payload};
use super::mask::{self, Key};
use super::opcode::{Kind, Opcode};
use super::rsv1::Refused;

/// The bytes of a message under its sender's masking key. Bytes can be [taken](Self::take) off its beginning.
#[derive(Debug)]
pub struct Masked<'a> {
    bytes: Bytes<'a>,
    /// The number of bytes that were taken.
    start: usize,
    /// The key, rotated to the byte at `start`; zero if the bytes are not masked.
    key: Key,
}

#[derive(Debug)]
enum Bytes<'a> {
    /// The message was one frame and lies wholly in the input.
    Lent(&'a mut [u8]),
    /// The decoder has already unmasked the message.
    Plain(Payload<'a>),
}

impl<'a> Masked<'a> {
    fn plain(payload: Payload<'a>) -> Self {
        Self {
            bytes: Bytes::Plain(payload),
            start: 0,
            key: PLAIN,
        }
    }

    /// Takes the first `COUNT` bytes off and returns them unmasked. `None` if there are fewer; then nothing is taken.
    #[inline]
    pub fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let mut taken = *self.rest().first_chunk::<COUNT>()?;
        mask::apply(&mut taken, self.key);
        self.key = mask::advance(self.key, COUNT);
        self.start += COUNT;
        Some(taken)
    }

    /// Unmasks the remaining bytes.
    pub fn unmask(&mut self) -> &[u8] {
        let key = std::mem::replace(&mut self.key, PLAIN);
        if let Bytes::Lent(bytes) = &mut self.bytes
            && let Some(rest) = bytes.get_mut(self.start..)
        {
            mask::apply(rest, key);
        }
        self.rest()
    }

    /// Appends the remaining bytes as an unfragmented frame, masked if there is a `key`, in one pass over the bytes.
    #[inline]
    pub fn append_frame(&self, out: &mut Vec<u8>, opcode: Opcode, key: Option<Key>) {
        append_head(out, (opcode, true), key, self.len());
        self.append_to(out, key);
    }

    /// Appends the remaining bytes, masked if there is a `key`, in one pass over the bytes.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>, key: Option<Key>) {
        let both = mask::combine(self.key, key.unwrap_or(PLAIN));
        mask::append(out, self.rest(), both);
    }

    /// The number of remaining bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.rest().len()
    }

    /// Whether no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The remaining bytes as they were received.
    #[inline]
    fn rest(&self) -> &[u8] {
        let bytes: &[u8] = match &self.bytes {
            Bytes::Lent(bytes) => bytes,
            Bytes::Plain(payload) => payload,
        };
        bytes.get(self.start..).unwrap_or_default()
    }
}

impl<'a> Item<'a> {
    /// Converts an item whose message is already unmasked.
    pub fn handed_on(self) -> Item<'a, Masked<'a>> {
        match self {
            Item::Message {
                kind,
                ascii,
                payload,
            } => Item::Message {
                kind,
                ascii,
                payload: Masked::plain(payload),
            },
            Item::Ping(payload) => Item::Ping(payload),
            Item::Pong(payload) => Item::Pong(payload),
            Item::Close { code, reason } => Item::Close { code, reason },
        }
    }
}

/// Returns a message that is one frame, lies wholly in the input and needs no check. `None` for everything else,
/// including errors; then nothing is taken.
#[inline]
pub(super) fn whole<'a>(
    input: &mut Input<'a>,
    config: &DecoderConfig,
) -> Option<Item<'a, Masked<'a>>> {
    let bytes = input.remaining();
    let head = head::parse(bytes, &Expect::message::<Refused>(config)).ok()??;
    let kind = match head.opcode {
        Opcode::Binary => Kind::Binary,
        Opcode::Text if !config.checks_text => Kind::Text,
        _ => return None,
    };
    if !head.fin || head.compressed || bytes.len() - head.size < head.payload {
        return None;
    }
    input.take(head.size);
    let payload = Masked {
        bytes: Bytes::Lent(input.take(head.payload)),
        start: 0,
        key: head.mask.unwrap_or(PLAIN),
    };
    input.count_frame();
    Some(Item::Message {
        kind,
        ascii: false,
        payload,
    })
}

/// The key that changes nothing.
const PLAIN: Key = [0; 4];

#[cfg(test)]
mod tests;
