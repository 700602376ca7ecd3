//! The life of one connection, step by step, with a peer that reads and sends in pieces of any length: no message is
//! incomplete, repeated or left over, and the worker is told of the close once. Only in tests and with the feature
//! `fuzzing`.

use std::rc::Rc;

use super::{Actor, CLOSE, EVENT, OPEN, Speaks, Stage};
use crate::close::CloseReason;
use crate::event::Handlers;
use crate::limits::OutboxPolicy;

/// A step in the life of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Send(usize),
    Publish(usize),
    Subscribe(i32),
    /// The peer reads this many more bytes.
    Read(usize),
    /// The peer sends this many more bytes of its messages.
    Say(usize),
    Goodbye,
    End,
    Vanish,
    Close,
    Retire,
    Drive,
    Turn,
    Handle,
    Pass(u64),
}

impl Step {
    /// The step that these bytes encode.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, many, low, high] = bytes;
        let short = u16::from_le_bytes([low, high]);
        let number = usize::from(short);
        let length = match many % 2 {
            0 => 6 + number % 194,
            _ => 2_000 + number % 4_000,
        };
        match verb % 51 {
            0..8 => Self::Send(length),
            8..14 => Self::Publish(length),
            14..16 => Self::Subscribe(i32::from(many % 3) - 1),
            16..19 => Self::Read(number % 3),
            19..22 => Self::Read(number % 3_000),
            22..26 => Self::Say(number % 40),
            26 => Self::Goodbye,
            27 => Self::End,
            28 => Self::Vanish,
            29 => Self::Close,
            30 => Self::Retire,
            31..39 => Self::Drive,
            39..47 => Self::Turn,
            47..50 => Self::Handle,
            _ => Self::Pass(u64::from(short % 6_000)),
        }
    }
}

/// Runs the steps on a connection with this protocol, these handlers of its worker and this policy of its outbox, and
/// then lets it end.
pub(crate) fn run(
    speaks: Speaks,
    handlers: Handlers,
    policy: OutboxPolicy,
    steps: impl IntoIterator<Item = Step>,
) {
    let mut life = Life::begin(speaks, handlers, policy);
    for step in steps {
        life.step(step);
    }
    life.end();
}

const CHANNEL: &[u8] = b"c";

/// One connection, and the expected state of it.
struct Life {
    stage: Stage,
    actor: Rc<Actor>,
    speaks: Speaks,
    policy: OutboxPolicy,
    /// The frames that were posted to it.
    frames: Vec<Vec<u8>>,
    /// The number of bytes that its peer has sent.
    spoken: usize,
    told: Vec<u32>,
    goodbyes: [Vec<u8>; 3],
    /// The ping of its protocol.
    ping: Vec<u8>,
    handles_end: bool,
    is_cut: bool,
    is_retired: bool,
}

impl Life {
    fn begin(speaks: Speaks, handlers: Handlers, policy: OutboxPolicy) -> Self {
        let stage = Stage::handling(handlers, |limits| {
            limits.outbox_bytes = 20_000;
            limits.outbox_policy = policy;
            limits.unhandled_events = 2;
            limits.outbox_read_pause_bytes = 5_000;
        });
        let actor = stage.open(speaks);
        let mut ping = Vec::new();
        let io = &actor.connection.io;
        io.borrow_mut().session.append_ping(&mut ping);
        if speaks == Speaks::Sockety {
            ping.push(millrace_protocol::sockety::HEARTBEAT);
        }
        let goodbyes = [
            CloseReason::OVERFLOW,
            CloseReason::by_application(4000, "enough".into()),
            CloseReason::WORKER_DOWN,
        ];
        Self {
            goodbyes: goodbyes.map(|reason| actor.goodbye(&reason)),
            ping,
            stage,
            actor,
            speaks,
            policy,
            frames: Vec::new(),
            spoken: 0,
            told: Vec::new(),
            handles_end: handlers.contains(Handlers::END),
            is_cut: false,
            is_retired: false,
        }
    }

    fn post(&mut self, channel: Option<&[u8]>, length: usize) {
        if !self.speaks.takes_messages() {
            return;
        }
        let payload = format!("{:0length$}", self.frames.len()).into_bytes();
        let posted = match channel {
            None => self.stage.send(&self.actor, &payload),
            Some(channel) => self.stage.publish(channel, &payload),
        };
        if posted == 1 {
            let frame = self.stage.frame(&self.actor, channel, &payload);
            self.frames.push(frame);
        }
    }

    fn step(&mut self, step: Step) {
        let mut peer = self.actor.peer.borrow_mut();
        match step {
            Step::Read(bytes) => return peer.give_room(bytes),
            Step::Say(bytes) => {
                let pieces = self.speaks.said().iter().copied().cycle();
                let piece: Vec<u8> = pieces.skip(self.spoken).take(bytes).collect();
                self.spoken += bytes;
                return peer.feed(&piece);
            }
            // inside a message the close would be part of that message, and splice would relay it
            Step::Goodbye if matches!(self.speaks, Speaks::WebSocket | Speaks::Deflated) => {
                return peer.feed(&[0x88, 0x80, 0, 0, 0, 0]);
            }
            Step::End => return peer.end(),
            Step::Vanish => {
                self.is_cut = true;
                return peer.vanish();
            }
            _ => drop(peer),
        }
        match step {
            Step::Send(length) => self.post(None, length),
            Step::Publish(length) => self.post(Some(CHANNEL), length),
            Step::Subscribe(delta) => self.stage.subscribe(&self.actor, CHANNEL, delta),
            Step::Close => {
                self.stage.close(&self.actor, 4000);
            }
            Step::Retire => {
                self.is_retired = true;
                self.stage.worker.retire();
            }
            Step::Drive => {
                self.stage.drive(&self.actor);
            }
            Step::Turn => {
                self.stage.turn();
            }
            Step::Handle => self.told.extend(self.stage.told()),
            Step::Pass(ms) => self.stage.pass(ms),
            _ => {}
        }
    }

    /// The peer reads everything: whole messages in order, and a close.
    fn read_to_the_end(&mut self) {
        self.actor.read_all();
        self.stage.run();
        self.told.extend(self.stage.told());
        let got = self.actor.got();
        let mut rest = self.behind_pings(&got);
        let mut arrived = Vec::new();
        for (index, frame) in self.frames.iter().enumerate() {
            if let Some(behind) = rest.strip_prefix(&frame[..]) {
                arrived.push(index);
                rest = self.behind_pings(behind);
            }
        }
        let is_goodbye = match (self.speaks.has_frames(), rest) {
            (_, []) => true,
            (true, [0x88, length, reason @ ..]) => reason.len() == usize::from(*length),
            _ => self.goodbyes.iter().any(|goodbye| rest == goodbye),
        };
        // a connection that was cut by a timeout may have sent a part of a message
        let what = rest.escape_ascii();
        assert!(is_goodbye || self.actor.is_done(), "{what}");
        if self.policy == OutboxPolicy::Close {
            let are_all = arrived.iter().copied().eq(0..arrived.len());
            assert!(are_all, "a message is missing: {arrived:?}");
        }
    }

    /// The bytes behind the pings at the beginning.
    fn behind_pings<'a>(&self, mut bytes: &'a [u8]) -> &'a [u8] {
        while !self.ping.is_empty()
            && let Some(behind) = bytes.strip_prefix(&self.ping[..])
        {
            bytes = behind;
        }
        bytes
    }

    fn end(mut self) {
        if !self.is_cut {
            self.read_to_the_end();
        }
        if self.actor.connection.half_closed.get() {
            // nothing is read any more that would report the peer's end
            self.stage.close(&self.actor, 4000);
        }
        self.told.extend(self.stage.assert_nothing_left());
        assert!(self.actor.is_done());
        let told = self.told;
        let ends = told.iter().filter(|kind| **kind == EVENT).count();
        assert!(ends <= usize::from(self.speaks == Speaks::Tcp && self.handles_end));
        let closes = told.iter().filter(|kind| **kind == CLOSE).count();
        if !self.speaks.has_worker() {
            assert!(told.is_empty());
        } else if self.is_retired {
            assert!(closes <= 1, "{told:?}");
        } else {
            assert_eq!((told.first(), closes), (Some(&OPEN), 1), "{told:?}");
        }
    }
}
