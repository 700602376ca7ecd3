//! A protocol for tests: each line asks the session for one effect of the contract.

use std::borrow::Cow;
use std::task::Waker;

use millrace_core::{Kind, SocketId};

use crate::contract::{
    CloseMode, CloseReason, Context, Encodings, Event, Flow, Goodbye, Instruction, LateReply,
    Liveness, Operation, Session, Step, Taken, Traits, TransferId, Wake,
};

/// See the module. A line that is not a command is a message for the worker.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// A line whose end has not arrived.
    begun: Vec<u8>,
    transfer: Option<TransferId>,
    /// Whether it checks itself whether the peer is alive.
    minds: bool,
    /// Whether it sends an opening, and nothing when it is open.
    greets: bool,
    /// Whether it closes when the peer has sent its last byte.
    leaves: bool,
}

impl Probe {
    /// A probe that checks itself whether its peer is alive.
    pub(super) fn minding() -> Self {
        Self {
            minds: true,
            ..Self::default()
        }
    }

    /// A probe with an opening.
    pub(super) fn greeting() -> Self {
        Self {
            greets: true,
            ..Self::default()
        }
    }

    /// Sends this many bytes of the open transfer; without a number the empty last piece.
    fn piece(&self, length: &[u8], cx: &mut Context<'_>) -> Flow {
        let id = self.transfer.unwrap();
        let length: usize = String::from_utf8_lossy(length).parse().unwrap_or(0);
        cx.piece(id, Cow::Owned(vec![b'p'; length]), length == 0)
    }

    /// Handles a step of the worker in the open transfer.
    fn step(&mut self, id: TransferId, step: Step, cx: &mut Context<'_>) {
        assert_eq!(self.transfer, Some(id));
        match step {
            Step::Piece(piece) => cx.send_part(|out| out.extend_from_slice(&piece)),
            Step::WantRoom => cx.room(id),
            Step::Pull(bytes) => say(cx, &format!("pulled {bytes}")),
            Step::End | Step::Abort | Step::Lost => {
                cx.close_transfer(id);
                self.transfer = None;
                say(cx, &format!("{step:?}"));
            }
            Step::Whole(_) | Step::Begin(_) => say(cx, "a head"),
        }
    }

    /// Handles one line.
    fn line(&mut self, line: &[u8], cx: &mut Context<'_>) -> Result<Flow, CloseReason> {
        cx.alive();
        match line {
            b"/later" => {
                let at = cx.now() + 50;
                cx.reply_in_order(LateReply::Short(b"later\n"[..].into()), at);
                return Ok(Flow::Stop);
            }
            b"/leave" => self.leaves = true,
            b"/ping" => say(cx, "pong"),
            b"/event" => return Ok(cx.event(Event::Probe, b"fields", Cow::Borrowed(b"payload"))),
            b"/sign" => return Ok(cx.event(Event::Probe, b"", Cow::Borrowed(b""))),
            b"/open" => {
                let id = cx.open_transfer();
                self.transfer = Some(id);
                say(cx, &format!("transfer {}", id.get()));
            }
            b"/close" => {
                if let Some(id) = self.transfer.take() {
                    cx.close_transfer(id);
                }
            }
            b"/credit" => {
                let id = self.transfer.unwrap();
                say(cx, &cx.credit(id).to_string());
            }
            b"/hold" => {
                cx.hold_input(true);
                return Ok(Flow::Stop);
            }
            b"/mind" => cx.wake_at(cx.now() + 1000),
            b"/watch" => wake_thrice(&cx.waker()),
            b"/wrong" => return Err(CloseReason::new(1002, "wrong", CloseMode::Final)),
            _ if line.starts_with(b"/piece ") => return Ok(self.piece(&line[7..], cx)),
            _ => {
                let text = Cow::Borrowed(line);
                return Ok(cx.message(Kind::Text, line.is_ascii(), text));
            }
        }
        Ok(cx.done(line.len()))
    }
}

/// Handles an instruction of the worker.
fn told(instruction: Instruction<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
    assert_eq!(instruction.operation(), Some(Operation::Probe));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (fields, payload) = (text(instruction.fields()), text(instruction.payload()));
    if payload == "leave" {
        return Err(CloseReason::new(1000, "", CloseMode::Handshake));
    }
    if payload == "go on" {
        cx.hold_input(false);
    }
    cx.send(|out| out.extend_from_slice(format!("told {fields} {payload}\n").as_bytes()));
    Ok(())
}

/// Replies with a line.
fn say(cx: &mut Context<'_>, line: &str) {
    cx.reply(|out| {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    });
}

/// Wakes the session from another thread, before its call ends.
fn wake_thrice(waker: &Waker) {
    let waker = waker.clone();
    let thread = std::thread::spawn(move || (0..3).for_each(|_| waker.wake_by_ref()));
    thread.join().unwrap();
}

impl Session for Probe {
    fn traits(&self) -> Traits {
        Traits {
            liveness: if self.minds {
                Liveness::Own
            } else {
                Liveness::Asks
            },
            goodbye: Goodbye::Said,
            feeds_worker: true,
            half_close: true,
            encoding: Encodings::LEAD,
        }
    }

    fn append_opening(&mut self, _: SocketId, out: &mut Vec<u8>) {
        if self.greets {
            out.extend_from_slice(b"hello\n");
        }
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        let mut rest = &*bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            self.begun.extend_from_slice(line);
            rest = &behind[1..];
            let line = std::mem::take(&mut self.begun);
            if self.line(&line, cx)? == Flow::Stop {
                return Ok(Taken {
                    bytes: length - rest.len(),
                    unfinished: false,
                });
            }
        }
        self.begun.extend_from_slice(rest);
        Ok(Taken {
            bytes: length,
            unfinished: !self.begun.is_empty(),
        })
    }

    fn input_ended(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        if self.leaves {
            return Err(CloseReason::by_peer(Some(1000), ""));
        }
        say(cx, "ended");
        Ok(())
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened if self.greets => {}
            Wake::Written => say(cx, "written"),
            Wake::Opened => say(cx, "opened"),
            Wake::Posted => say(cx, "posted"),
            Wake::Room => say(cx, "room"),
            Wake::Told(instruction) => return told(instruction, cx),
            Wake::Transfer(id, step) => self.step(id, step, cx),
            Wake::Time if cx.is_paused() => say(cx, "not read"),
            Wake::Time => say(cx, "silent"),
            Wake::Resumed => say(cx, "resumed"),
            Wake::Entered(_, entering) => {
                let entered = &entering.entered;
                let at = entered.position.map(|position| position.offset);
                say(cx, &format!("entered {at:?} {:?}", entered.recovered));
            }
            Wake::Called(_) | Wake::WorkerGone => {}
            Wake::Gap(_, last) => say(cx, &format!("gap to {}", last.offset)),
        }
        Ok(())
    }

    fn append_ping(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"alive?\n");
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("closed {}\n", reason.code).as_bytes());
    }

    fn unfinished(&self) -> usize {
        self.begun.len()
    }
}
