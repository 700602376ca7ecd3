//! A connection that the protocol's own code in JavaScript has as a stream: it is told of it, says what is written to it, asks
//! when that has left, and ends it behind that. Knows no framing.

use std::borrow::Cow;

use crate::contract::{CloseMode, CloseReason, Context, Event, Instruction, Operation, Peer, Wake};

/// See the module.
#[derive(Debug)]
pub(super) struct Stream {
    /// The fields of its first event, until that is told.
    opened: Box<[u8]>,
    /// It ends when all that was written has left.
    is_closing: bool,
}

impl Stream {
    pub(super) fn new(peer: &Peer) -> Self {
        Self {
            opened: peer.fields(),
            is_closing: false,
        }
    }

    /// Whether nobody wants to know what still comes.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    pub(super) fn wake(&mut self, why: &Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                let opened = std::mem::take(&mut self.opened);
                // nothing is read here that could wait
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
                    // of a stream nothing may be dropped
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

    /// All that was asked about has left.
    fn written(&self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        if self.is_closing {
            return Err(CLOSED);
        }
        cx.report(Event::TcpWritten, &[], &[]);
        Ok(())
    }
}

/// The application has closed it.
const CLOSED: CloseReason = CloseReason::new(1000, "", CloseMode::Final);
