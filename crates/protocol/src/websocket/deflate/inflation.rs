//! Reading from a connection with compression: inflates the messages that have RSV1, and checks their text.

use super::super::config::DecoderConfig;
use super::super::decoder::Decoder;
use super::super::error::DecodeError;
use super::super::input::Input;
use super::super::item::{Item, Payload};
use super::super::opcode::Kind;
use super::super::rsv1::Rsv1;
use super::history::History;
use super::inflater::{InflateError, Inflater};

/// What inflates the next message of a connection.
#[derive(Debug)]
pub struct Inflation<'s, I> {
    /// Any inflater, or what gets one when it is asked: an inflater keeps nothing of a connection.
    pub inflater: &'s mut I,
    /// The text that the peer's messages may refer to, if it was allowed context takeover.
    pub history: Option<&'s mut History>,
}

impl Decoder {
    /// Does the same as [`next`](Self::next) for a connection with compression. A compressed message is inflated once it is
    /// complete, to at most `message_bytes`; until then only its compressed bytes are kept.
    ///
    /// ```
    /// use millrace_protocol::websocket::deflate::{Inflater, Inflation};
    /// use millrace_protocol::websocket::{Decoder, DecoderConfig, Input, Item, Role};
    ///
    /// let mut read = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    /// let config = DecoderConfig { role: Role::Client, ..Default::default() };
    /// let (mut decoder, mut inflater) = (Decoder::new(), Inflater::new());
    /// let inflation = Inflation { inflater: &mut inflater, history: None };
    /// let item = decoder.next_inflated(&mut Input::new(&mut read), &config, 0, inflation)?;
    /// assert!(matches!(item, Some(Item::Message { payload, .. }) if &payload[..] == b"Hello"));
    /// # Ok::<(), millrace_protocol::websocket::DecodeError>(())
    /// ```
    #[inline]
    pub fn next_inflated<'s, 'a: 's, I: AsMut<Inflater>>(
        &'s mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
        inflation: Inflation<'s, I>,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        let bounds = Bounds {
            most: config.message_bytes,
            checks_text: config.checks_text,
        };
        let rsv1 = Allowed {
            inflation,
            bounds,
            compressed: false,
        };
        self.next_with(input, (config, now_ms), rsv1)
    }
}

/// RSV1 is the mark of a compressed message.
struct Allowed<'i, I> {
    inflation: Inflation<'i, I>,
    bounds: Bounds,
    compressed: bool,
}

struct Bounds {
    most: usize,
    checks_text: bool,
}

impl<I: AsMut<Inflater>> Rsv1 for Allowed<'_, I> {
    const IS_ALLOWED: bool = true;

    #[inline]
    fn note(&mut self, compressed: bool) {
        self.compressed = compressed;
    }

    #[inline]
    fn finish<'s, 'a: 's>(self, item: Item<'a>) -> Result<Item<'s>, DecodeError>
    where
        Self: 's,
    {
        match item {
            Item::Message { kind, payload, .. } if self.compressed => {
                self.inflation.inflate(kind, &payload, &self.bounds)
            }
            item => Ok(item),
        }
    }
}

impl<'i, I: AsMut<Inflater>> Inflation<'i, I> {
    fn inflate<'s>(
        self,
        kind: Kind,
        compressed: &[u8],
        bounds: &Bounds,
    ) -> Result<Item<'s>, DecodeError>
    where
        'i: 's,
    {
        let Self { inflater, history } = self;
        let before = history.as_ref().map_or(&[][..], |history| history.bytes());
        let payload = inflater.as_mut().inflate(compressed, before, bounds.most);
        let payload = payload.map_err(|error| match error {
            InflateError::Corrupt => DecodeError::CorruptDeflate,
            InflateError::TooBig => DecodeError::InflatedTooBig,
        })?;
        let ascii = kind == Kind::Text && bounds.checks_text && is_ascii_text(&payload)?;
        if let Some(history) = history {
            history.push(&payload);
        }
        Ok(Item::Message {
            kind,
            ascii,
            payload,
        })
    }
}

/// Whether a text is all ASCII; an error if it is not UTF-8.
fn is_ascii_text(text: &Payload<'_>) -> Result<bool, DecodeError> {
    if text.is_ascii() {
        return Ok(true);
    }
    match simdutf8::basic::from_utf8(text) {
        Ok(_) => Ok(false),
        Err(_) => Err(DecodeError::InvalidUtf8),
    }
}
