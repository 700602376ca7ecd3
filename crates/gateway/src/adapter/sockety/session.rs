//! The session of one connection: the peer's header, heartbeats and silence, and the end of the connection after the
//! peer's last byte.

use std::sync::Arc;

use millrace_core::SocketId;
use millrace_protocol::sockety::{
    DecodeError, Decoder, DecoderConfig, GO_AWAY, HEARTBEAT, Item, append_header,
};

use super::clock::{Clock, Due};
use super::fields;
use super::inbound::{self, Inbound};
use super::options::Writable;
use super::outbound::{self, Outbound};
use crate::contract::{
    CloseMode, CloseReason, Context, Encoding, Event, Flow, Goodbye, Instruction, Liveness,
    Operation, Session, Step, Taken, Traits, TransferId, Wake,
};

/// What the connections of a listener share.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) decoder: DecoderConfig,
    pub(super) encoding: Encoding,
    /// Whether the peer may receive publications.
    pub(super) publications: bool,
    pub(super) writable: Writable,
    pub(super) send_go_away: bool,
    /// The most bytes of contents that may wait for the worker.
    pub(super) buffered_bytes: usize,
    /// Milliseconds until the peer's header must have arrived, and of silence after which the connection ends; 0 is
    /// off.
    pub(super) header_timeout: u64,
    pub(super) silence_timeout: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sockety {
    terms: Arc<Terms>,
    /// The description of the connection for the worker, until the worker was told.
    opened: Box<[u8]>,
    decoder: Decoder,
    inbound: Inbound,
    outbound: Outbound,
    /// `None` until the peer's header has arrived.
    clock: Option<Clock>,
    /// The time by which the header must have arrived; 0: no limit.
    header_by: u64,
    /// Whether the peer has sent its last byte. The connection then lives until everything that waits for the worker
    /// has reached it.
    ended: bool,
    /// Whether that end took effect, which happens once. From then on the connection only waits for handlers.
    ended_for_good: bool,
}

impl Sockety {
    pub(super) fn new(terms: &Arc<Terms>, opened: Box<[u8]>) -> Self {
        Self {
            terms: Arc::clone(terms),
            opened,
            decoder: Decoder::new(),
            inbound: Inbound::new(terms.buffered_bytes),
            outbound: Outbound::new(terms.buffered_bytes),
            clock: None,
            header_by: 0,
            ended: false,
            ended_for_good: false,
        }
    }

    fn taken(&self, bytes: usize) -> Taken {
        Taken {
            bytes,
            unfinished: self.decoder.unfinished().is_some(),
        }
    }

    /// Handles what is due.
    fn look(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let now = cx.now();
        let Some(clock) = &mut self.clock else {
            if cx.is_paused() {
                // the header may have arrived while the connection was not read
                self.header_by = now + self.terms.header_timeout.max(1);
                cx.wake_at(self.header_by);
                return Ok(());
            }
            if self.header_by > 0 && now >= self.header_by {
                return Err(NO_HEADER);
            }
            return Ok(());
        };
        match clock.look(now, cx.is_paused() || self.ended) {
            Due::Nothing => {}
            Due::Heartbeat => cx.reply(|out| out.push(HEARTBEAT)),
            Due::End => {
                tell(Event::SocketyTimeout, cx);
                return Err(CloseReason::ABNORMAL);
            }
        }
        if let Some(at) = clock.next(now) {
            cx.wake_at(at);
        }
        Ok(())
    }

    /// Begins after the peer's header.
    fn begin(&mut self, channels: u16, cx: &mut Context<'_>) {
        // the worker may be ahead of the peer by as many bytes as the outbox takes
        let outbox = u64::try_from(cx.outbox_bytes()).unwrap_or(u64::MAX);
        cx.report(Event::SocketyReady, &outbox.to_le_bytes(), &[]);
        self.outbound
            .may_use(channels, self.terms.writable, self.terms.publications, cx);
        let now = cx.now();
        let clock = self
            .clock
            .insert(Clock::new(self.terms.silence_timeout, now));
        if let Some(at) = clock.next(now) {
            cx.wake_at(at);
        }
    }

    /// Records what was sent now as a sign of life.
    fn says(&mut self, cx: &Context<'_>) {
        if cx.has_sent()
            && let Some(clock) = &mut self.clock
        {
            clock.says(cx.now());
        }
    }

    /// Tells the worker of the decoded input.
    fn tell(inbound: &mut Inbound, heartbeats: u32, cx: &mut Context<'_>) {
        let _flow = inbound.tell(cx);
        if heartbeats > 0 {
            // no input is read here, so the flow does not matter
            let _flow = cx.event(
                Event::SocketyHeartbeat,
                &heartbeats.to_le_bytes(),
                (&[][..]).into(),
            );
        }
    }

    /// Takes a step of the worker.
    fn step(
        &mut self,
        id: TransferId,
        step: &Step,
        cx: &mut Context<'_>,
    ) -> Result<(), CloseReason> {
        if self.outbound.step(id, step, cx) {
            self.says(cx);
            return Ok(());
        }
        match step {
            Step::Pull(_) => self.inbound.pulled(id, cx),
            Step::Abort => self.inbound.discard(id, cx),
            // the step may be for a transfer that has ended
            _ => {}
        }
        self.end_when_done()
    }

    /// The worker asks for a file to be written to disk.
    fn save(&mut self, instruction: Instruction<'_>, cx: &mut Context<'_>) {
        let path = str::from_utf8(instruction.payload()).ok();
        if let Some((path, id)) = path.zip(fields::to_saved(instruction.fields())) {
            self.inbound.save(id, path, cx);
        }
    }

    /// Lets the peer's end take effect once nothing that arrived before it waits.
    fn end_when_done(&mut self) -> Result<(), CloseReason> {
        if self.ended && !self.ended_for_good && !self.inbound.is_waiting() {
            self.ended_for_good = true;
            return Err(CloseReason::by_peer(None, ""));
        }
        Ok(())
    }
}

impl Session for Sockety {
    fn traits(&self) -> Traits {
        Traits {
            liveness: Liveness::Own,
            goodbye: Goodbye::Said,
            feeds_worker: true,
            half_close: true,
            encoding: self.terms.encoding,
        }
    }

    fn append_opening(&mut self, _: SocketId, out: &mut Vec<u8>) {
        append_header(self.terms.decoder.channels, out);
    }

    fn input(&mut self, bytes: &mut [u8], cx: &mut Context<'_>) -> Result<Taken, CloseReason> {
        let length = bytes.len();
        if cx.is_closing() {
            // input is ignored while the connection closes
            return Ok(self.taken(length));
        }
        cx.alive();
        if let Some(clock) = &mut self.clock {
            clock.hears(cx.now());
        }
        let mut rest = &*bytes;
        let mut heartbeats = 0_u32;
        loop {
            let taken = match self.decoder.next(&mut rest, &self.terms.decoder) {
                Ok(None) => {
                    Self::tell(&mut self.inbound, heartbeats, cx);
                    return Ok(self.taken(length));
                }
                Ok(Some(Item::Header { channels })) => {
                    self.begin(channels, cx);
                    Ok(Flow::Go)
                }
                Ok(Some(Item::Heartbeat)) => {
                    heartbeats += 1;
                    Ok(Flow::Go)
                }
                Ok(Some(item)) => {
                    if matches!(item, Item::Abort { .. }) {
                        self.outbound.peer_aborts(cx);
                    }
                    self.inbound.item(item, cx)
                }
                Err(error) => Err(reason_of(error)),
            };
            let flow = taken.inspect_err(|_| {
                // input before the error counts
                Self::tell(&mut self.inbound, heartbeats, cx);
                inbound::end(true, cx);
            })?;
            if flow == Flow::Stop {
                Self::tell(&mut self.inbound, heartbeats, cx);
                return Ok(self.taken(length - rest.len()));
            }
        }
    }

    fn input_ended(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let is_cut = self.decoder.is_busy() || self.decoder.unfinished().is_some();
        if self.clock.is_some() {
            inbound::end(is_cut, cx);
        }
        if is_cut || self.clock.is_none() {
            return Err(CUT_OFF);
        }
        if self.inbound.is_waiting() {
            self.ended = true;
            return Ok(());
        }
        Err(CloseReason::by_peer(None, ""))
    }

    fn wake(&mut self, why: Wake<'_>, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        match why {
            Wake::Opened => {
                let opened = std::mem::take(&mut self.opened);
                // no input is read here, so the flow does not matter
                let _flow = cx.event(Event::SocketyOpened, &opened, (&[][..]).into());
                let timeout = self.terms.header_timeout;
                if timeout > 0 {
                    self.header_by = cx.now() + timeout;
                    cx.wake_at(self.header_by);
                }
            }
            Wake::Time => return self.look(cx),
            Wake::Told(instruction) => {
                if instruction.operation() == Some(Operation::SocketyCut) {
                    return Err(CloseReason::ABNORMAL);
                }
                if instruction.operation() == Some(Operation::SocketySave) {
                    self.save(instruction, cx);
                    return Ok(());
                }
                self.outbound.told(instruction, self.clock.is_some(), cx);
                self.says(cx);
            }
            Wake::Transfer(id, step) => return self.step(id, &step, cx),
            Wake::Written => outbound::written(cx),
            Wake::Posted | Wake::Room => {
                self.inbound.look(cx);
                self.outbound.look(cx);
                self.says(cx);
                return self.end_when_done();
            }
            Wake::Resumed
            | Wake::WorkerGone
            | Wake::Called(_)
            | Wake::Entered(..)
            | Wake::Gap(..) => {}
        }
        Ok(())
    }

    fn append_close(&mut self, reason: &CloseReason, out: &mut Vec<u8>) {
        if self.terms.send_go_away && reason.mode == CloseMode::Handshake {
            out.push(GO_AWAY);
        }
    }

    fn unfinished(&self) -> usize {
        self.decoder.unfinished().unwrap_or_default()
    }

    fn waiting(&self) -> usize {
        self.inbound.waiting_bytes()
    }
}

/// Sends the worker an event without contents.
fn tell(what: Event, cx: &mut Context<'_>) {
    // no input is read here, so the flow does not matter
    let _flow = cx.event(what, &[], (&[][..]).into());
}

fn reason_of(error: DecodeError) -> CloseReason {
    CloseReason::new(error.close_code(), error.close_reason(), CloseMode::Final)
}

/// The peer sent no header in time.
const NO_HEADER: CloseReason = CloseReason::new(1002, "no header in time", CloseMode::Final);

/// The peer left in the middle of a message.
const CUT_OFF: CloseReason = CloseReason::new(1006, "", CloseMode::Final);
