//! Compares the inboxes with a naive model: what they report about their bytes, their room and their high-water marks
//! is never wrong, and commands come out once and in order. Only in tests and with the feature `fuzzing`.

use std::sync::Arc;
use std::task::{Wake, Waker};

use millrace_core::{Route, ShardIndex, SocketId};

use super::{COMMAND_CHARGE, Command, Inboxes, Mail, Text};
use crate::sync::Ordering;

/// An operation on the inbox of a shard, whose index is the first number.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Post(usize),
    /// Delivers something with this charge to this many recipients.
    Deliver(usize, usize, u32),
    /// Posts texts of these lengths.
    Texts(usize, Vec<usize>),
    /// Begins its turn, or ends the turn that has begun.
    Turn(usize),
    Shut(usize),
}

impl Op {
    /// The operation that these bytes encode.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, place, low, high] = bytes;
        let shard = usize::from(place) % SHARDS;
        let number = usize::from(u16::from_le_bytes([low, high]));
        match verb % 16 {
            0..3 => Self::Post(shard),
            3..7 => Self::Deliver(shard, number << (place / 32), u32::from(low)),
            7..11 => {
                let lengths = 0..number % 8;
                Self::Texts(shard, lengths.map(|nth| (number / 8) >> nth).collect())
            }
            11..15 => Self::Turn(shard),
            _ if high < 16 => Self::Shut(shard),
            _ => Self::Turn(shard),
        }
    }
}

pub(crate) const SHARDS: usize = 3;

/// Runs all operations on inboxes with this limit, and then lets their shards empty them.
pub(crate) fn run(bound: usize, ops: impl IntoIterator<Item = Op>) {
    let mut compared = Compared::new(bound);
    for op in ops {
        compared.apply(op);
        compared.check();
    }
    for _ in 0..2 {
        for shard in 0..SHARDS {
            let is_taken = compared.all[shard].taken.is_some();
            for _ in 0..2 + usize::from(is_taken) {
                compared.apply(Op::Turn(shard));
                compared.check();
            }
        }
    }
    assert!(!compared.inboxes.congested());
}

/// Inboxes, and the model of their contents.
struct Compared {
    inboxes: Inboxes,
    bound: usize,
    all: Vec<Naive>,
    /// The number of the next command, which is its slot.
    next: u32,
    deliveries: u64,
    refused: u64,
}

/// The model of one inbox.
#[derive(Default)]
struct Naive {
    /// Numbers and charges of the commands that wait.
    waiting: Vec<(u32, usize)>,
    /// The bytes that are being processed, while a turn runs.
    taken: Option<usize>,
    /// Bytes of texts that wait.
    arena: usize,
    above: bool,
    shut: bool,
    owed: Arc<Owed>,
    mail: Mail,
}

/// Whether a shard was woken and has not run a turn since.
#[derive(Default)]
struct Owed(std::sync::atomic::AtomicBool);

impl Wake for Owed {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Naive {
    fn waits(&self) -> usize {
        self.waiting.iter().map(|(_, charge)| charge).sum()
    }

    fn held(&self) -> usize {
        self.waits() + self.taken.unwrap_or_default()
    }
}

impl Compared {
    fn new(bound: usize) -> Self {
        let inboxes = Inboxes::new();
        inboxes.open(SHARDS, bound);
        let all: Vec<Naive> = (0..SHARDS).map(|_| Naive::default()).collect();
        for (index, naive) in all.iter().enumerate() {
            inboxes.set_waker(shard(index), Waker::from(Arc::clone(&naive.owed)));
        }
        Self {
            inboxes,
            bound,
            all,
            next: 0,
            deliveries: 0,
            refused: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Post(at) => {
                let command = self.command();
                self.inboxes.post(shard(at), command);
                if !self.all[at].shut {
                    self.waits(at, COMMAND_CHARGE);
                }
                self.next += 1;
            }
            Op::Deliver(at, charge, count) => {
                let command = self.command();
                let fits = self.fits(at, charge);
                let accepted = self.inboxes.deliver(shard(at), charge, count, |_| command);
                assert_eq!(accepted, fits);
                if fits {
                    self.deliveries += u64::from(count);
                    self.waits(at, charge);
                } else {
                    self.refused += u64::from(count);
                }
                self.next += 1;
            }
            Op::Texts(at, lengths) => self.texts(at, &lengths),
            Op::Turn(at) if self.all[at].shut => {}
            Op::Turn(at) => match self.all[at].taken {
                None => self.take(at),
                Some(_) => self.processed(at),
            },
            Op::Shut(at) => {
                let mail = self.inboxes.shut(shard(at));
                let naive = &mut self.all[at];
                assert_eq!(mail.commands.len(), naive.waiting.len());
                *naive = Naive {
                    shut: true,
                    ..Naive::default()
                };
            }
        }
    }

    fn texts(&mut self, at: usize, lengths: &[usize]) {
        let payload = vec![0; lengths.iter().copied().max().unwrap_or_default()];
        let mut texts = Vec::new();
        let mut are_taken = true;
        for &length in lengths {
            texts.push(Text {
                route: Route {
                    shard: shard(at),
                    slot: self.next,
                    socket: SOCKET,
                },
                payload: &payload[..length],
            });
            if self.fits(at, length + COMMAND_CHARGE) {
                self.deliveries += 1;
                self.all[at].arena += length;
                self.waits(at, length + COMMAND_CHARGE);
            } else {
                self.refused += 1;
                are_taken = false;
            }
            self.next += 1;
        }
        let accepted = self.inboxes.deliver_texts(shard(at), &texts);
        assert_eq!(accepted, are_taken);
    }

    fn take(&mut self, at: usize) {
        let naive = &mut self.all[at];
        self.inboxes.turn_begins(shard(at));
        naive.owed.0.store(false, Ordering::Relaxed);
        self.inboxes.take(shard(at), &mut naive.mail);
        naive.taken = Some(naive.waits());
        let numbers = naive.mail.commands.iter().map(number);
        let expected = naive.waiting.drain(..).map(|(number, _)| number);
        assert!(numbers.eq(expected), "lost, repeated or out of order");
        assert_eq!(naive.mail.arena.len(), std::mem::take(&mut naive.arena));
    }

    fn processed(&mut self, at: usize) {
        let high_water = self.high_water();
        let naive = &mut self.all[at];
        let ends = self.inboxes.processed(shard(at), &mut naive.mail);
        naive.taken = None;
        if self.inboxes.turn_ends(shard(at)) {
            naive.owed.0.store(true, Ordering::Relaxed);
        }
        let was_above = naive.above;
        naive.above = naive.waits() > high_water;
        let falls = was_above && !naive.above;
        assert_eq!(ends, falls && self.all.iter().all(|naive| !naive.above));
    }

    /// One message always fits into an empty inbox.
    fn fits(&self, at: usize, charge: usize) -> bool {
        let naive = &self.all[at];
        let held = naive.held();
        !naive.shut && (held == 0 || held + charge <= self.bound)
    }

    fn waits(&mut self, at: usize, charge: usize) {
        let high_water = self.high_water();
        let naive = &mut self.all[at];
        naive.waiting.push((self.next, charge));
        naive.above |= naive.held() > high_water;
    }

    /// A quarter of the limit, and never more than 4 MiB.
    fn high_water(&self) -> usize {
        (self.bound / 4).min(4 << 20)
    }

    fn command(&self) -> Command {
        Command::Wake {
            slot: self.next,
            socket: SOCKET,
        }
    }

    /// Compares everything that can be observed.
    fn check(&self) {
        let is_above = self.all.iter().any(|naive| naive.above);
        assert_eq!(self.inboxes.congested(), is_above);
        let posted = self.inboxes.posted();
        assert_eq!(posted.deliveries, self.deliveries);
        assert_eq!(posted.refused, self.refused);
        for commands in [0, 1, 7, 100] {
            let charge = commands * COMMAND_CHARGE;
            let have = self.inboxes.have_room(commands);
            assert_eq!(have, !is_above && charge <= self.bound / 4);
            for (at, naive) in self.all.iter().enumerate() {
                let has = naive.shut || naive.held() + charge <= self.bound;
                assert_eq!(self.inboxes.has_room(shard(at), commands), has);
            }
        }
        for naive in &self.all {
            let looks = naive.taken.is_some() || naive.owed.0.load(Ordering::Relaxed);
            assert!(looks || !naive.above, "workers would wait forever");
        }
    }
}

fn number(command: &Command) -> u32 {
    match command {
        Command::Wake { slot, .. } | Command::Small { slot, .. } => *slot,
        other => panic!("{other:?} was not posted"),
    }
}

fn shard(index: usize) -> ShardIndex {
    let index = u8::try_from(index).expect("there are few");
    ShardIndex::new(index).expect("there are few")
}

const SOCKET: SocketId = match SocketId::new(1) {
    Some(socket) => socket,
    None => panic!("1 is a number of a socket"),
};
