//! A connection that JavaScript code of the protocol uses as a stream: it is told of the connection, writes to it, asks
//! when that was written, and closes it after that. Knows no framing.

use std::borrow::Cow;

use crate::contract::{CloseMode, CloseReason, Context, Event, Instruction, Operation, Peer, Wake};

/// See the module.
#[derive(Debug)]
pub(super) struct Stream {
    /// The fields of its first event, until the event is sent.
    opened: Box<[u8]>,
    /// Whether it closes as soon as everything is written.
    is_closing: bool,
}

impl Stream {
    pub(super) fn new(peer: &Peer) -> Self {
        Self {
            opened: peer.fields(),
            is_closing: false,
        }
    }

    /// Whether further input is ignored.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    pub(super) fn wake(&mut self, why: &Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                let opened = std::mem::take(&mut self.opened);
                // no input is read here, so the flow does not matter
                let _flow = cx.event(Event::TcpOpened, &opened, Cow::Borrowed(&[]));
                Ok(())
            }
            Wake::Told(instruction) => self.told(*instruction, cx),
            Wake::Written => self.written(cx),
            _ => Ok(()),
        }
    }

    fn told(
        &mut self,
        instruction: Instruction<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        match instruction.operation() {
            Some(Operation::TcpWrite) if !self.is_closing => {
                let bytes = instruction.payload();
                if !bytes.is_empty() {
                    // no piece of a stream may be dropped
                    cx.send_part(|out| out.extend_from_slice(bytes));
                }
                if !instruction.fields().is_empty() && !cx.when_written() {
                    return self.written(cx);
                }
            }
            Some(Operation::TcpClose) => {
                self.is_closing = true;
                if !cx.when_written() {
                    return self.written(cx);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Everything before the last note is written.
    fn written(&self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        if self.is_closing {
            return Err(CLOSED);
        }
        cx.report(Event::TcpWritten, &[], &[]);
        Ok(())
    }
}

/// The application closed the stream.
const CLOSED: CloseReason = CloseReason::new(1000, "", CloseMode::Final);
