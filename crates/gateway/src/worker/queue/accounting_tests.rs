//! Tests that the counts of a queue match its contents after any sequence of appends and takes.

use std::borrow::Cow;
use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::event::record::{NO_SLOT, event_bytes, record_bytes};
use crate::event::{Event, Opening};
use crate::limits::{ASCII_SIDECAR_BYTES, SIDECAR_BYTES};

#[derive(Clone, Copy, Debug)]
enum Step {
    Message {
        kind: RecordKind,
        ascii: bool,
        length: usize,
    },
    Event {
        fields: usize,
        length: usize,
    },
    Open,
    /// The close of the oldest connection, or of one that the worker inherits.
    Close {
        inherited: bool,
        reason: usize,
    },
    Refused,
    Drained,
    Take,
    Retire,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![
        0..100_usize,
        ASCII_SIDECAR_BYTES - 1..ASCII_SIDECAR_BYTES + 2,
        SIDECAR_BYTES - 1..SIDECAR_BYTES + 2,
        100_000..500_000_usize,
    ];
    let event =
        (0..40_usize, length.clone()).prop_map(|(fields, length)| Step::Event { fields, length });
    let kind = prop_oneof![Just(RecordKind::Text), Just(RecordKind::Binary)];
    let message = (kind, any::<bool>(), length).prop_map(|(kind, ascii, length)| Step::Message {
        kind,
        ascii,
        length,
    });
    let close = (any::<bool>(), 0..124_usize)
        .prop_map(|(inherited, reason)| Step::Close { inherited, reason });
    let step = prop_oneof![
        20 => message,
        8 => event,
        8 => Just(Step::Open),
        8 => close,
        2 => Just(Step::Refused),
        4 => Just(Step::Drained),
        8 => Just(Step::Take),
        1 => Just(Step::Retire),
    ];
    prop::collection::vec(step, 1..80)
}

/// The number of records in a batch, and their bytes including payloads beside the batch.
fn load(batch: &Batch) -> (usize, usize) {
    let (mut events, mut at) = (0, 0);
    while let Some(head) = batch.bytes.get(at..at + 4) {
        let head = u32::from_le_bytes(head.try_into().expect("four bytes"));
        let length = usize::try_from(head >> 8).expect("a length fits");
        at += record_bytes(length);
        events += 1;
    }
    let beside = batch.sidecars.iter().map(|one| one.payload().len());
    (events, batch.bytes.len() + beside.sum::<usize>())
}

/// The expected counts of the queue.
#[derive(Default)]
struct Expected {
    events: usize,
    bytes: usize,
    slots: VecDeque<u32>,
    closes: usize,
    told: u64,
}

impl Expected {
    fn add(&mut self, bytes: usize) {
        self.events += 1;
        self.told += 1;
        self.bytes += bytes;
    }

    fn subtract(&mut self, batch: &Batch) {
        let (events, bytes) = load(batch);
        self.events -= events;
        self.bytes -= bytes;
    }
}

/// A session says something, and its shard hands it over.
fn say(queue: &Queue, step: Step, expected: &mut Expected) {
    if queue.is_retired() {
        return;
    }
    let shard = ShardIndex::new(0).expect("there is a shard 0");
    let unlimited = (usize::MAX, usize::MAX);
    let mut parcel = Parcel::new(shard, queue, unlimited, 1);
    match step {
        Step::Message {
            kind,
            ascii,
            length,
        } => {
            let beside = length > SIDECAR_BYTES
                || kind == RecordKind::Text && ascii && length > ASCII_SIDECAR_BYTES;
            parcel.message(kind, 0, ascii, Cow::Owned(vec![b'x'; length]));
            let inline = record_bytes(length);
            let pointer = record_bytes(8) + length;
            expected.add(if beside { pointer } else { inline });
        }
        Step::Event { fields, length } => {
            let payload = Cow::Owned(vec![b'x'; length]);
            parcel.event(0, Event::Probe, &vec![b'f'; fields], payload);
            let inline = record_bytes(event_bytes(fields, length));
            let pointer = record_bytes(event_bytes(fields, 8)) + length;
            expected.add(if length > SIDECAR_BYTES {
                pointer
            } else {
                inline
            });
        }
        _ => {}
    }
    queue.hand_over(&mut parcel, unlimited);
}

fn run(queue: &Queue, step: Step, expected: &mut Expected, number: u64) {
    let socket = SocketId::new(number + 1).expect("it is positive");
    match step {
        Step::Message { .. } | Step::Event { .. } => say(queue, step, expected),
        Step::Open => {
            let opening = Opening {
                target: "/",
                ..Opening::unseen(socket)
            };
            if let Some((slot, _)) = queue.open(&opening, (usize::MAX, usize::MAX)) {
                expected.slots.push_back(slot);
                expected.add(record_bytes(opening.payload_bytes()));
            }
        }
        Step::Close { inherited, reason } => {
            let own = || expected.slots.front().copied();
            let Some(slot) = inherited.then_some(NO_SLOT).or_else(own) else {
                return;
            };
            let close = PendingClose {
                socket,
                code: 1000,
                reason: "r".repeat(reason).into(),
                token: None,
            };
            if queue.close(slot, close, true).is_ok() {
                if !inherited {
                    expected.slots.pop_front();
                }
                expected.closes += 1;
                expected.add(record_bytes(20 + reason));
            }
        }
        Step::Refused => {
            if let Some(slot) = expected.slots.pop_front() {
                queue.free_slot(slot);
            }
        }
        Step::Drained => {
            queue.level(0, RecordKind::Drain);
            if !queue.is_retired() {
                expected.add(record_bytes(0));
            }
        }
        Step::Take => {
            if let Some((batch, _)) = queue.take() {
                expected.subtract(&batch);
                queue.finish(batch);
            }
        }
        Step::Retire => {
            assert_eq!(queue.retire().len(), expected.closes);
            (expected.events, expected.bytes, expected.closes) = (0, 0, 0);
        }
    }
}

proptest! {
    #[test]
    fn the_counts_match_the_contents(steps in steps()) {
        let queue = Queue::new();
        let mut expected = Expected::default();
        for (number, step) in (0..).zip(steps) {
            let shown = format!("{step:?}");
            run(&queue, step, &mut expected, number);
            prop_assert_eq!(queue.backlog(), (expected.events, expected.bytes), "{}", shown);
            prop_assert_eq!(queue.events(), expected.told, "{}", shown);
            let connections = u64::try_from(expected.slots.len());
            prop_assert_eq!(Ok(queue.connections()), connections, "{}", shown);
            let idle = expected.events == 0 && expected.closes == 0;
            prop_assert_eq!(queue.is_empty(), idle, "{}", shown);
        }
        while let Some((batch, _)) = queue.take() {
            expected.subtract(&batch);
            queue.finish(batch);
        }
        prop_assert_eq!((expected.events, expected.bytes), (0, 0));
        prop_assert_eq!(queue.state.lock().lives, Load::default());
    }
}
