//! Decodes bytes to items.
//!
//! Owns the state of the peer's frames: nothing between messages, a boxed [`Partial`] while a frame or message is
//! unfinished. Never copies a frame that lies wholly in the input, never allocates for an announced length, never
//! reads a clock.

use super::assembly;
use super::config::DecoderConfig;
use super::error::DecodeError;
use super::head::{self, Expect};
use super::input::Input;
use super::item::{Item, control_item};
use super::mask;
use super::masked::{self, Masked};
use super::opcode::{Kind, Opcode};
use super::partial::{Frame, Partial};
use super::rate::Rate;
use super::rsv1::{Refused, Rsv1};
use super::simple;

/// The receiving half of one WebSocket connection.
#[derive(Debug, Default)]
pub struct Decoder {
    partial: Option<Box<Partial>>,
    control: Rate,
}

const _: () = assert!(
    size_of::<Decoder>() <= 16,
    "every idle connection pays for this"
);

impl Decoder {
    /// Makes a decoder for a new connection. Allocates nothing.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the next item of `input`, or `None` when all of `input` is consumed. The item borrows from the input
    /// and the decoder, so it is valid until the next call. `now_ms` is the time of the read in milliseconds of any
    /// monotonic clock.
    ///
    /// After a close or an error nothing more is yielded and all further input is discarded.
    #[inline]
    pub fn next<'s, 'a: 's>(
        &'s mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        self.next_with(input, (config, now_ms), Refused)
    }

    /// Returns the next item as `rsv1` wants it.
    #[inline]
    pub(super) fn next_with<'s, 'a: 's, R: Rsv1 + 's>(
        &'s mut self,
        input: &mut Input<'a>,
        (config, now_ms): (&DecoderConfig, u64),
        mut rsv1: R,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.partial.as_deref_mut().is_some_and(Partial::settle) {
            self.partial = None;
        }
        if self.partial.is_none() && !self.control.is_ended() {
            match self.whole(input, (config, now_ms), &mut rsv1) {
                Ok(Some(item)) if !R::IS_ALLOWED => return Ok(Some(item)),
                Ok(Some(item)) => {
                    let item = rsv1.finish(item);
                    return item.map(Some).map_err(|error| self.fail(input, error));
                }
                Ok(None) if input.remaining().is_empty() => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(self.fail(input, error)),
            }
        }
        self.resume(input, (config, now_ms), rsv1)
    }

    /// Does the same as [`next`](Self::next) for a caller that relays messages: a message that is one frame and lies
    /// wholly in the input is returned unchanged, under its sender's mask. Text that must be checked, and a message
    /// that comes in parts, is unmasked.
    ///
    /// ```
    /// use millrace_protocol::websocket::{Decoder, DecoderConfig, Input, Item, Opcode, append_part};
    ///
    /// let (mut read, mut passed_on) = (Vec::new(), Vec::new());
    /// append_part(&mut read, Opcode::Binary, true, Some([1, 2, 3, 4]), b"\x00\x07hello");
    ///
    /// let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    /// let item = decoder.next_masked(&mut Input::new(&mut read), &config, 0)?;
    /// let Some(Item::Message { mut payload, .. }) = item else { panic!() };
    /// assert_eq!(payload.take(), Some([0, 7]));
    /// payload.append_frame(&mut passed_on, Opcode::Binary, Some([9, 9, 9, 9]));
    ///
    /// let mut expected = Vec::new();
    /// append_part(&mut expected, Opcode::Binary, true, Some([9, 9, 9, 9]), b"hello");
    /// assert_eq!(passed_on, expected);
    /// # Ok::<(), millrace_protocol::websocket::DecodeError>(())
    /// ```
    #[inline]
    pub fn next_masked<'s, 'a: 's>(
        &'s mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Option<Item<'s, Masked<'s>>>, DecodeError> {
        if self.partial.as_deref_mut().is_some_and(Partial::settle) {
            self.partial = None;
        }
        if self.partial.is_none()
            && !self.control.is_ended()
            && let Some(message) = masked::whole(input, config)
        {
            return Ok(Some(message));
        }
        let item = self.next(input, config, now_ms)?;
        Ok(item.map(Item::handed_on))
    }

    /// The fast path: a frame that is a complete item and lies wholly in the input. `None` for everything else.
    #[inline]
    fn whole<'a, R: Rsv1>(
        &mut self,
        input: &mut Input<'a>,
        (config, now_ms): (&DecoderConfig, u64),
        rsv1: &mut R,
    ) -> Result<Option<Item<'a>>, DecodeError> {
        let bytes = input.remaining();
        let head = if let Some(head) = simple::simple(bytes, config) {
            head
        } else {
            let Some(head) = head::parse(bytes, &Expect::message::<R>(config))? else {
                return Ok(None);
            };
            if !head.fin || bytes.len() - head.size < head.payload {
                return Ok(None);
            }
            head
        };
        input.take(head.size);
        let (payload, ascii) = mask::remove(input.take(head.payload), head.mask);
        let item = match head.opcode {
            Opcode::Text => assembly::whole(
                Kind::Text,
                (head.compressed, config.checks_text),
                ascii,
                payload,
            )?,
            Opcode::Binary => {
                assembly::whole(Kind::Binary, (head.compressed, false), ascii, payload)?
            }
            opcode => {
                self.admit(opcode, config, now_ms)?;
                control_item(opcode, payload)?
            }
        };
        input.count_frame();
        rsv1.note(head.compressed);
        Ok(Some(item))
    }

    /// The general path: an item that is unfinished, or will be after this input.
    fn resume<'s, 'a: 's, R: Rsv1 + 's>(
        &'s mut self,
        input: &mut Input<'a>,
        (config, now_ms): (&DecoderConfig, u64),
        rsv1: R,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.control.is_ended() {
            input.take(usize::MAX);
            return Ok(None);
        }
        match self.advance(input, (config, now_ms), rsv1) {
            Ok(Step::Starved) => Ok(None),
            Ok(Step::Item(item)) => Ok(Some(item)),
            Ok(Step::Control(opcode)) => {
                let payload = self
                    .partial
                    .as_ref()
                    .map_or(&[][..], |partial| &partial.control);
                let item = control_item(opcode, payload)?;
                input.count_frame();
                Ok(Some(item))
            }
            Err(error) => Err(self.fail(input, error)),
        }
    }

    /// Consumes input up to the end of an item, or all of it.
    fn advance<'s, 'a: 's, R: Rsv1 + 's>(
        &mut self,
        input: &mut Input<'a>,
        (config, now_ms): (&DecoderConfig, u64),
        mut rsv1: R,
    ) -> Result<Step<'s>, DecodeError> {
        let partial = self.partial.get_or_insert_default();
        loop {
            let Some(frame) = partial.current_frame::<R>(input, config)? else {
                return Ok(Step::Starved);
            };
            let (chunk, ascii) = frame.take(input);
            let Frame {
                opcode,
                fin,
                awaited,
                ..
            } = *frame;
            if awaited == 0 {
                partial.frame = None;
            }
            if opcode.is_control() {
                partial.control.extend_from_slice(chunk);
                if awaited == 0 {
                    partial.yielded = true;
                    if opcode == Opcode::Close {
                        partial.message = None; // it will never be finished
                    }
                    self.admit(opcode, config, now_ms)?;
                    return Ok(Step::Control(opcode));
                }
            } else if let Some(message) = &mut partial.message {
                let bound = if fin { 0 } else { config.message_bytes };
                message.push(chunk, ascii, awaited, bound)?;
            }
            if awaited > 0 {
                return Ok(Step::Starved);
            }
            if fin && let Some(message) = partial.message.take() {
                self.partial = None;
                rsv1.note(message.compressed);
                let item = message.finish()?;
                input.count_frame();
                return rsv1.finish(item).map(Step::Item);
            }
            input.count_frame();
        }
    }

    /// Returns a complete control frame, unless there were too many. A close ends decoding.
    #[inline]
    fn admit(
        &mut self,
        opcode: Opcode,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<(), DecodeError> {
        if opcode == Opcode::Close {
            self.control.end();
        } else if !self
            .control
            .admit(config.control_per_second, config.control_burst, now_ms)
        {
            return Err(DecodeError::ControlRate);
        }
        Ok(())
    }

    /// Ends decoding.
    #[cold]
    fn fail(&mut self, input: &mut Input<'_>, error: DecodeError) -> DecodeError {
        self.control.end();
        self.partial = None;
        input.take(usize::MAX);
        error
    }

    /// Whether no frame and no message is unfinished, so that no deadline is needed.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.partial.as_deref().is_none_or(Partial::is_idle)
    }

    /// The bytes received of the unfinished message or frame; 0 when idle.
    pub fn unfinished_bytes(&self) -> usize {
        self.partial.as_deref().map_or(0, Partial::received)
    }

    /// Takes out what has arrived of the unfinished message, for callers that pass it on before it is complete: the kind,
    /// and at least one byte. The rest follows by the next calls, and the last part as the message. Text is cut between
    /// two characters. `None`: nothing has arrived since the last call.
    ///
    /// ```
    /// use millrace_protocol::websocket::{Decoder, DecoderConfig, Input, Item, Kind, Opcode, append_part};
    ///
    /// let mut read = Vec::new();
    /// append_part(&mut read, Opcode::Binary, true, Some([1, 2, 3, 4]), b"hello");
    /// let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
    /// let (first, rest) = read.split_at_mut(9);
    ///
    /// assert_eq!(decoder.next(&mut Input::new(first), &config, 0)?, None);
    /// assert_eq!(decoder.take_part(), Some((Kind::Binary, b"hel".to_vec())));
    /// let item = decoder.next(&mut Input::new(rest), &config, 0)?;
    /// assert!(matches!(item, Some(Item::Message { payload, .. }) if &payload[..] == b"lo"));
    /// # Ok::<(), millrace_protocol::websocket::DecodeError>(())
    /// ```
    pub fn take_part(&mut self) -> Option<(Kind, Vec<u8>)> {
        let message = self.partial.as_mut()?.message.as_mut()?;
        message.take_part()
    }

    /// The memory that the unfinished message or frame holds: at most about twice the bytes received.
    pub fn held_bytes(&self) -> usize {
        self.partial.as_deref().map_or(0, Partial::held)
    }
}

/// The result of [`Decoder::advance`].
enum Step<'a> {
    /// All input is consumed.
    Starved,
    Item(Item<'a>),
    /// A control frame whose payload is in [`Partial::control`].
    Control(Opcode),
}

#[cfg(test)]
mod part_tests;

#[cfg(test)]
mod tests;
