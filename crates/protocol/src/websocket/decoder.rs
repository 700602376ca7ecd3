//! Bytes in, items out.
//!
//! Owns the state of one peer's frames: nothing while it is between messages, a boxed [`Partial`] while
//! something is unfinished. Never copies a frame that is wholly in the input, never claims memory for an
//! announced length, never reads a clock.

use super::assembly::{self, Assembly};
use super::close;
use super::error::DecodeError;
use super::head::{self, Expect, Head};
use super::input::Input;
use super::item::Item;
use super::mask::{self, Key};
use super::opcode::{Kind, Opcode};
use super::rate::Rate;

/// Which side of the connection we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Frames must be masked (RFC 6455 §5.1).
    Server,
    /// Frames must not be masked.
    Client,
}

/// What a decoder accepts. Shared by many decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderConfig {
    /// The most bytes of a message, inclusive, fragmented or not. An empty fragment that is not the last
    /// counts 16 bytes. Default 16 MiB.
    pub message_bytes: usize,
    /// Our side. Default [`Role::Server`].
    pub role: Role,
    /// Pings and pongs per second, sustained; 0 is off. Default 100.
    pub control_per_second: u32,
    /// Pings and pongs at once, at least 1. Default 1000.
    pub control_burst: u32,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            role: Role::Server,
            control_per_second: 100,
            control_burst: 1000,
        }
    }
}

/// The reading half of one WebSocket connection.
#[derive(Debug, Default)]
pub struct Decoder {
    partial: Option<Box<Partial>>,
    control: Rate,
    ended: bool,
}

const _: () = assert!(
    size_of::<Decoder>() <= 24,
    "every idle connection pays for this"
);

impl Decoder {
    /// A decoder before its first frame. Allocates nothing.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next item out of `input`, or `None` once all of `input` is consumed. The item borrows from
    /// the input and the decoder: it is good until the next call. `now_ms` is the time of the read in
    /// milliseconds of any monotonic clock.
    ///
    /// After a close or an error nothing more is yielded and all further input is thrown away.
    #[inline]
    pub fn next<'s, 'a: 's>(
        &'s mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.partial.as_deref_mut().is_some_and(Partial::settle) {
            self.partial = None;
        }
        if self.partial.is_none() && !self.ended {
            match self.whole(input, config, now_ms) {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) if input.remaining().is_empty() => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(self.fail(input, error)),
            }
        }
        self.resume(input, config, now_ms)
    }

    /// The fast path: a frame that is a whole item by itself and wholly in the input. `None` for all else.
    #[inline]
    fn whole<'a>(
        &mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Option<Item<'a>>, DecodeError> {
        let bytes = input.remaining();
        let Some(head) = head::parse(bytes, &Expect::message(config))? else {
            return Ok(None);
        };
        if !head.fin || bytes.len() - head.size < head.payload {
            return Ok(None);
        }
        input.take(head.size);
        let (payload, ascii) = unmasked(input.take(head.payload), head.mask);
        input.count_frame();
        match head.opcode {
            Opcode::Text => assembly::whole(Kind::Text, head.compressed, ascii, payload),
            Opcode::Binary => assembly::whole(Kind::Binary, head.compressed, ascii, payload),
            opcode => self
                .admit(opcode, config, now_ms)
                .and_then(|()| control_item(opcode, payload)),
        }
        .map(Some)
    }

    /// The general path: whatever is unfinished, or will be after this input.
    fn resume<'s, 'a: 's>(
        &'s mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Option<Item<'s>>, DecodeError> {
        if self.ended {
            input.take(usize::MAX);
            return Ok(None);
        }
        match self.advance(input, config, now_ms) {
            Ok(Step::Starved) => Ok(None),
            Ok(Step::Item(item)) => Ok(Some(item)),
            Ok(Step::Control(opcode)) => {
                let payload = self
                    .partial
                    .as_ref()
                    .map_or(&[][..], |partial| &partial.control);
                control_item(opcode, payload).map(Some)
            }
            Err(error) => Err(self.fail(input, error)),
        }
    }

    /// Consumes input up to the end of an item, or all of it.
    fn advance<'a>(
        &mut self,
        input: &mut Input<'a>,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<Step<'a>, DecodeError> {
        let partial = self.partial.get_or_insert_default();
        loop {
            let Some(frame) = partial.current_frame(input, config)? else {
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
                input.count_frame();
            }
            if opcode.is_control() {
                partial.control.extend_from_slice(chunk);
                if awaited == 0 {
                    partial.yielded = true;
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
                return message.finish().map(Step::Item);
            }
        }
    }

    /// Admits a complete control frame, unless there were too many. A close is the last one.
    #[inline]
    fn admit(
        &mut self,
        opcode: Opcode,
        config: &DecoderConfig,
        now_ms: u64,
    ) -> Result<(), DecodeError> {
        if opcode == Opcode::Close {
            self.ended = true;
        } else if !self
            .control
            .admit(config.control_per_second, config.control_burst, now_ms)
        {
            return Err(DecodeError::ControlRate);
        }
        Ok(())
    }

    /// Ends decoding for good.
    #[cold]
    fn fail(&mut self, input: &mut Input<'_>, error: DecodeError) -> DecodeError {
        self.ended = true;
        self.partial = None;
        input.take(usize::MAX);
        error
    }

    /// No partial frame and no unfinished message: nothing for a deadline to watch.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.partial.as_deref().is_none_or(Partial::is_idle)
    }

    /// Bytes received of the unfinished message or frame; 0 when idle.
    pub fn unfinished_bytes(&self) -> usize {
        self.partial.as_deref().map_or(0, Partial::received)
    }

    /// Bytes of memory that the unfinished message or frame holds: at most about twice what was received.
    pub fn held_bytes(&self) -> usize {
        self.partial.as_deref().map_or(0, Partial::held)
    }
}

/// What [`Decoder::advance`] came to.
enum Step<'a> {
    /// All input is consumed.
    Starved,
    Item(Item<'a>),
    /// A control frame whose payload is in [`Partial::control`].
    Control(Opcode),
}

/// What is unfinished.
#[derive(Debug, Default)]
struct Partial {
    /// The first `head_length` bytes of a frame whose head is not complete.
    head: [u8; head::LONGEST],
    head_length: usize,
    /// The frame whose head is complete and whose payload is not.
    frame: Option<Frame>,
    /// The message it belongs to, or whose next fragment is awaited.
    message: Option<Assembly>,
    /// Payload of an unfinished control frame, or of the one just yielded.
    control: Vec<u8>,
    /// `control` was yielded: it goes with the next call.
    yielded: bool,
}

/// A frame whose payload is arriving.
#[derive(Debug, Clone, Copy)]
struct Frame {
    opcode: Opcode,
    fin: bool,
    /// Rotated to the next byte of the payload.
    mask: Option<Key>,
    /// Bytes of the payload still to come.
    awaited: usize,
}

impl Frame {
    /// Takes what has arrived of the payload, unmasked. Also says whether it is all ASCII.
    #[inline]
    fn take<'a>(&mut self, input: &mut Input<'a>) -> (&'a [u8], bool) {
        let bytes = input.take(self.awaited);
        let count = bytes.len();
        let taken = unmasked(bytes, self.mask);
        self.awaited -= count;
        self.mask = self.mask.map(|key| mask::advance(key, count));
        taken
    }
}

impl Partial {
    /// The frame that is arriving; reads its head first if need be. `None`: the head is not complete.
    #[inline]
    fn current_frame(
        &mut self,
        input: &mut Input<'_>,
        config: &DecoderConfig,
    ) -> Result<Option<&mut Frame>, DecodeError> {
        if self.frame.is_none() {
            let Some(head) = self.next_head(input, config)? else {
                return Ok(None);
            };
            match head.opcode {
                Opcode::Text => self.message = Some(Assembly::new(Kind::Text, head.compressed)),
                Opcode::Binary => self.message = Some(Assembly::new(Kind::Binary, head.compressed)),
                _ => {}
            }
            if let (false, Some(message)) = (head.opcode.is_control(), &mut self.message) {
                message.charged = message.charged.saturating_add(head.charge());
            }
            let Head {
                opcode,
                fin,
                mask,
                payload: awaited,
                ..
            } = head;
            self.frame = Some(Frame {
                opcode,
                fin,
                mask,
                awaited,
            });
        }
        Ok(self.frame.as_mut())
    }

    /// Reads a head from the bytes kept and the input.
    fn next_head(
        &mut self,
        input: &mut Input<'_>,
        config: &DecoderConfig,
    ) -> Result<Option<Head>, DecodeError> {
        let expect = match &self.message {
            Some(message) => Expect::continuation(config, message.charged),
            None => Expect::message(config),
        };
        let kept = self.head_length;
        let (_, free) = self.head.split_at_mut(kept);
        let added = free.len().min(input.remaining().len());
        for (to, from) in free.iter_mut().zip(input.remaining()) {
            *to = *from;
        }
        let bytes = self.head.get(..kept + added).unwrap_or_default();
        let head = head::parse(bytes, &expect)?;
        if let Some(head) = &head {
            input.take(head.size - kept);
            self.head_length = 0;
        } else {
            input.take(added);
            self.head_length += added;
        }
        Ok(head)
    }

    /// Forgets what was yielded. True if nothing else is unfinished.
    fn settle(&mut self) -> bool {
        if self.yielded {
            self.yielded = false;
            self.control.clear();
        }
        self.is_idle()
    }

    fn is_idle(&self) -> bool {
        self.head_length == 0 && self.frame.is_none() && self.message.is_none()
    }

    fn received(&self) -> usize {
        let control = if self.yielded { 0 } else { self.control.len() };
        self.head_length + control + self.message.as_ref().map_or(0, Assembly::received)
    }

    fn held(&self) -> usize {
        size_of::<Self>()
            + self.control.capacity()
            + self.message.as_ref().map_or(0, Assembly::held)
    }
}

/// Unmasks in place. Also says whether the result is all ASCII.
#[inline]
fn unmasked(bytes: &mut [u8], mask: Option<Key>) -> (&[u8], bool) {
    let ascii = match mask {
        Some(key) => mask::apply(bytes, key),
        None => bytes.is_ascii(),
    };
    (bytes, ascii)
}

/// The item of a complete control frame.
#[inline]
fn control_item(opcode: Opcode, payload: &[u8]) -> Result<Item<'_>, DecodeError> {
    match opcode {
        Opcode::Ping => Ok(Item::Ping(payload)),
        Opcode::Pong => Ok(Item::Pong(payload)),
        _ => close_item(payload),
    }
}

/// The item of a close frame (RFC 6455 §5.5.1).
fn close_item(payload: &[u8]) -> Result<Item<'_>, DecodeError> {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return match payload {
            [] => Ok(Item::Close {
                code: None,
                reason: "",
            }),
            _ => Err(DecodeError::CloseTruncated),
        };
    };
    let code = u16::from_be_bytes(*code);
    if !close::is_valid_on_wire(code) {
        return Err(DecodeError::CloseCode(code));
    }
    let reason = str::from_utf8(reason).map_err(|_| DecodeError::CloseReason)?;
    Ok(Item::Close {
        code: Some(code),
        reason,
    })
}
