//! What a decoder keeps between two reads: an incomplete head, frame or message.
//!
//! Owns the bytes that cannot be borrowed from the input. Exists only while something is unfinished.

use super::assembly::Assembly;
use super::config::DecoderConfig;
use super::error::DecodeError;
use super::head::{self, Expect, Head};
use super::input::Input;
use super::mask::{self, Key};
use super::opcode::{Kind, Opcode};
use super::rsv1::{self, Rsv1};

/// The unfinished parts.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// The first `head_length` bytes of an incomplete head.
    head: [u8; head::LONGEST],
    head_length: usize,
    /// The frame whose head is complete and whose payload is incomplete.
    pub(super) frame: Option<Frame>,
    /// The message that the frame belongs to, or whose next fragment is awaited.
    pub(super) message: Option<Assembly>,
    /// The payload of an unfinished control frame, or of the one just yielded.
    pub(super) control: Vec<u8>,
    /// `control` was yielded and is freed by the next call.
    pub(super) yielded: bool,
}

/// A frame whose payload is arriving.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) opcode: Opcode,
    pub(super) fin: bool,
    /// The key, rotated to the next byte of the payload.
    mask: Option<Key>,
    /// The bytes of the payload that are still to come.
    pub(super) awaited: usize,
}

impl Frame {
    /// Takes the received part of the payload, unmasked. Returns it and whether it is all ASCII.
    #[inline]
    pub(super) fn take<'a>(&mut self, input: &mut Input<'a>) -> (&'a [u8], bool) {
        let bytes = input.take(self.awaited);
        let count = bytes.len();
        let taken = mask::remove(bytes, self.mask);
        self.awaited -= count;
        self.mask = self.mask.map(|key| mask::advance(key, count));
        taken
    }
}

impl Partial {
    /// Returns the frame that is being received, and reads its head first if necessary. `None` means
    /// that the head is incomplete.
    #[inline]
    pub(super) fn current_frame<R: Rsv1>(
        &mut self,
        input: &mut Input<'_>,
        config: &DecoderConfig,
    ) -> Result<Option<&mut Frame>, DecodeError> {
        if self.frame.is_none() {
            let Some(head) = self.next_head::<R>(input, config)? else {
                return Ok(None);
            };
            match head.opcode {
                Opcode::Text => {
                    self.message = Some(Assembly::new(
                        Kind::Text,
                        head.compressed,
                        config.checks_text,
                    ));
                }
                Opcode::Binary => {
                    self.message = Some(Assembly::new(Kind::Binary, head.compressed, false));
                }
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

    /// Reads a head from the kept bytes and the input.
    fn next_head<R: Rsv1>(
        &mut self,
        input: &mut Input<'_>,
        config: &DecoderConfig,
    ) -> Result<Option<Head>, DecodeError> {
        let expect = match &self.message {
            Some(message) if R::IS_ALLOWED && message.compressed => {
                let most = rsv1::most_compressed(config.message_bytes);
                Expect::continuation::<R>(config, most, message.charged)
            }
            Some(message) => {
                Expect::continuation::<R>(config, config.message_bytes, message.charged)
            }
            None => Expect::message::<R>(config),
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

    /// Frees what was yielded. Returns whether nothing else is unfinished.
    pub(super) fn settle(&mut self) -> bool {
        if self.yielded {
            self.yielded = false;
            self.control.clear();
        }
        self.is_idle()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.head_length == 0 && self.frame.is_none() && self.message.is_none()
    }

    pub(super) fn received(&self) -> usize {
        let control = if self.yielded { 0 } else { self.control.len() };
        self.head_length + control + self.message.as_ref().map_or(0, Assembly::received)
    }

    pub(super) fn held(&self) -> usize {
        size_of::<Self>()
            + self.control.capacity()
            + self.message.as_ref().map_or(0, Assembly::held)
    }
}
