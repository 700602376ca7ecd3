//! The headline of the `warpsocket` package: connections in groups of ten; each message is broadcast to its group and
//! then answered. Every member must see every message of every member of its group once, in the
//! sender's order, before the sender gets its answer, and all members in the same order.

use std::collections::HashMap;

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::frame::Template;
use crate::io::{Connect, Handler, Io};
use crate::report::Report;
use crate::scenario::echo::Pace;
use crate::scenario::{open_all, until};
use crate::stamp::{self, NUMBER_AT, STAMP};
use crate::window::{Deadline, Meter, Windowed};

/// The scenario's state.
#[derive(Debug)]
pub struct Headline {
    dialect: Dialect,
    members: Vec<Member>,
    pace: Pace,
    /// Members of a group that see its messages in different orders are counted instead of failing the run.
    tolerant: bool,
    other_orders: u64,
    /// While joining: each channel's members.
    channels: HashMap<Vec<u8>, Vec<usize>>,
    joined: usize,
    /// Whether the sender of an answer just read must send its next message.
    owed: bool,
    turn: usize,
    running: bool,
    outstanding: u64,
    meter: Meter,
}

#[derive(Debug, Default)]
struct Member {
    group: usize,
    /// Its place in the group.
    place: usize,
    /// Members of its group, itself included.
    group_size: u32,
    template: Option<Template>,
    next_out: u32,
    next_answer: u32,
    /// The next number expected from each place of the group.
    expected: [u32; GROUP],
    /// A running hash over the messages of the group, in the order of arrival.
    order: u64,
    sent: Vec<u64>,
}

/// Members of a full group.
pub const GROUP: usize = 10;

const EVENT: &[u8] = br#"{"type":"evt","t":""#;
const ANSWER: &[u8] = br#"{"type":"ack","t":""#;
const JOINED: &[u8] = br#"{"type":"sub-ack","ch":""#;
const END: &[u8] = br#""}"#;

impl Headline {
    /// `connections` that will join groups.
    pub fn new(dialect: Dialect, connections: usize, pace: Pace) -> Self {
        let members = std::iter::repeat_with(Member::default);
        Self {
            dialect,
            members: members.take(connections).collect(),
            pace,
            tolerant: false,
            other_orders: 0,
            channels: HashMap::new(),
            joined: 0,
            owed: false,
            turn: 0,
            running: false,
            outstanding: 0,
            meter: Meter::default(),
        }
    }

    /// Allows the members of a group to see its messages in different orders (those of each sender stay in order).
    #[must_use]
    pub fn tolerant(mut self, tolerant: bool) -> Self {
        self.tolerant = tolerant;
        self
    }

    /// Opens all connections and lets them join their groups.
    pub fn open(&mut self, io: &mut Io, deadline: &Deadline) -> Result<(), Failure> {
        let ids = 0..self.members.len();
        open_all(io, self, ids, Connect::default(), deadline)?;
        until(io, self, deadline, "joining groups", Self::all_joined)?;
        self.form_groups()
    }

    /// Whether every connection knows its group.
    pub fn all_joined(&self) -> bool {
        self.joined == self.members.len()
    }

    /// Fixes the members of each group. Must be called once, when all have joined.
    pub fn form_groups(&mut self) -> Result<(), Failure> {
        for (group, (channel, ids)) in std::mem::take(&mut self.channels).into_iter().enumerate() {
            let name = String::from_utf8_lossy(&channel).into_owned();
            if ids.len() > GROUP {
                let count = ids.len();
                let what = format!("channel {name} has {count} members");
                return Err(Failure::Violation(what));
            }
            for (place, &id) in ids.iter().enumerate() {
                let stamp = stamp::payload(b'e', id, STAMP);
                let head = format!(r#"{{"type":"req","channel":"{name}","t":""#).into_bytes();
                let payload = [&head, &stamp[..], END].concat();
                let (text, start) = self.dialect.wrap(&payload);
                let at = start + head.len() + NUMBER_AT;
                let member = &mut self.members[id];
                member.group = group;
                member.place = place;
                member.group_size = u32::try_from(ids.len()).unwrap_or(0);
                member.template = Some(Template::new(&text, at, stamp::mask(id)));
                member.sent = vec![0; self.pace.depth()];
            }
        }
        Ok(())
    }

    fn send(&mut self, io: &mut Io, id: usize, at: u64) -> Result<(), Failure> {
        let member = &mut self.members[id];
        let number = member.next_out;
        member.next_out += 1;
        *member.slot(number) = at;
        // its deliveries and its answer
        self.outstanding += u64::from(member.group_size) + 1;
        match &mut member.template {
            Some(template) => io.send(id, template.number(number)),
            None => Ok(()),
        }
    }

    fn join(&mut self, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let name = payload
            .strip_prefix(JOINED)
            .and_then(|p| p.strip_suffix(END));
        let Some(name) = name.filter(|_| !self.all_joined()) else {
            return Err(unexpected(id, payload));
        };
        self.channels.entry(name.to_vec()).or_default().push(id);
        self.joined += 1;
        Ok(())
    }

    #[inline]
    fn event(&mut self, id: usize, payload: &[u8], stamp: &[u8]) -> Result<(), Failure> {
        let Some((sender, number)) = stamp::read(stamp).filter(|s| s.0 < self.members.len()) else {
            return Err(unexpected(id, payload));
        };
        let (group, place) = (self.members[sender].group, self.members[sender].place);
        let sent = self.members[sender].next_out;
        let member = &mut self.members[id];
        let expected = &mut member.expected[place];
        if group != member.group {
            return Err(Failure::Violation(format!(
                "connection {id} got a message of {sender}, which is in another group"
            )));
        }
        if number != *expected || number >= sent {
            return Err(Failure::Violation(format!(
                "connection {id} expected message {expected} of {sender}, got {number}"
            )));
        }
        *expected += 1;
        let mark = u64::from(number) << 32 | u64::try_from(sender).unwrap_or(0);
        member.order = (member.order ^ mark).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        member.order ^= member.order >> 29;
        self.outstanding -= 1;
        self.meter.received += 1;
        Ok(())
    }

    fn answer(&mut self, io: &Io, id: usize, payload: &[u8], stamp: &[u8]) -> Result<(), Failure> {
        let member = &mut self.members[id];
        let number = member.next_answer;
        let in_order = stamp::read(stamp) == Some((id, number));
        // the broadcast also goes to the sender, and must come first
        if !in_order || member.expected[member.place] <= number {
            return Err(unexpected(id, payload));
        }
        member.next_answer += 1;
        let sent = *member.slot(number);
        self.outstanding -= 1;
        self.meter.incoming += 1;
        self.meter.received += 1;
        self.meter.record(io.now().saturating_sub(sent));
        self.owed = self.running && matches!(self.pace, Pace::Closed(_));
        Ok(())
    }
}

impl Member {
    #[inline]
    fn slot(&mut self, number: u32) -> &mut u64 {
        let depth = self.sent.len();
        &mut self.sent[usize::try_from(number).unwrap_or(0) % depth]
    }

    fn full(&self) -> bool {
        let outstanding = usize::try_from(self.next_out - self.next_answer);
        outstanding.is_ok_and(|outstanding| outstanding >= self.sent.len())
    }
}

impl Handler for Headline {
    fn opened(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        io.say(id, br#"{"type":"sub"}"#)
    }

    #[inline]
    fn message(&mut self, io: &mut Io, id: usize, payload: &[u8]) -> Result<(), Failure> {
        let stamped = |head: &[u8]| payload.strip_prefix(head)?.strip_suffix(END);
        if let Some(stamp) = stamped(EVENT) {
            self.event(id, payload, stamp)
        } else if let Some(stamp) = stamped(ANSWER) {
            self.answer(io, id, payload, stamp)
        } else {
            self.join(id, payload)
        }
    }

    #[inline]
    fn read_done(&mut self, io: &mut Io, id: usize) -> Result<(), Failure> {
        if std::mem::take(&mut self.owed) {
            let now = io.now();
            self.send(io, id, now)?;
        }
        Ok(())
    }
}

impl Windowed for Headline {
    fn start(&mut self, io: &mut Io) -> Result<(), Failure> {
        self.running = true;
        let now = io.refresh();
        let depth = match &mut self.pace {
            Pace::Closed(depth) => *depth,
            Pace::Open(metronome) => {
                metronome.start(now);
                0
            }
        };
        for _ in 0..depth {
            for id in 0..self.members.len() {
                let now = io.refresh();
                self.send(io, id, now)?;
            }
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.running = false;
        if let Pace::Open(metronome) = &mut self.pace {
            metronome.stop();
        }
    }

    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn settle(&mut self) -> Result<(), Failure> {
        self.other_orders = 0;
        let mut orders: HashMap<usize, u64> = HashMap::new();
        for (id, member) in self.members.iter().enumerate() {
            let order = *orders.entry(member.group).or_insert(member.order);
            if order != member.order && self.tolerant {
                self.other_orders += 1;
            } else if order != member.order {
                return Err(Failure::Violation(format!(
                    "connection {id} saw its group's messages in another order than its peers"
                )));
            }
        }
        Ok(())
    }

    fn describe(&mut self, report: Report) -> Report {
        report.integer("other_orders", self.other_orders)
    }

    fn tick(&mut self, io: &mut Io) -> Result<Option<u64>, Failure> {
        let now = io.refresh();
        loop {
            let Pace::Open(metronome) = &mut self.pace else {
                return Ok(None);
            };
            let Some(due) = metronome.take(now) else {
                return Ok(metronome.next());
            };
            let id = self.turn % self.members.len();
            self.turn = id + 1;
            if self.members[id].full() {
                self.meter.unsent += 1;
            } else {
                self.send(io, id, due)?;
            }
        }
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

fn unexpected(id: usize, payload: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&payload[..payload.len().min(80)]);
    Failure::Violation(format!("connection {id} did not expect {shown:?}"))
}
