//! A worker that assembles what a Sockety session tells it.

use std::collections::HashMap;

use super::harness::{Harness, Record};
use super::sockety::{CLOSE, EVENT, event, told};
use crate::event::{Step, TransferId};

const PIECE: u32 = 7;
const TURN: u32 = 8;

/// Numbers of events.
const MESSAGE: u32 = 2;
const FILE: u32 = 3;
const ABORT: u32 = 4;
pub(super) const END: u32 = 10;

/// A worker that assembles bodies.
#[derive(Default)]
pub(super) struct Assembly {
    /// Data, streams and files by the actions of their messages: the bytes, and whether that is all.
    pub(super) bodies: HashMap<String, (Vec<u8>, bool)>,
    /// Names by transfer.
    pub(super) names: HashMap<u64, String>,
    /// Actions by the numbers of messages.
    pub(super) actions: HashMap<u64, String>,
    pub(super) turns: Vec<u64>,
    pub(super) aborted: Vec<u64>,
    /// `Some` once the peer sends nothing more: whether that cut something off.
    pub(super) ended: Option<bool>,
}

impl Assembly {
    /// Takes the events so far; with `pulls` it asks for as much more.
    pub(super) fn take(&mut self, harness: &Harness, pulls: bool) {
        loop {
            let records = harness.handle_records();
            if records.is_empty() {
                return;
            }
            for record in records {
                self.record(&record, harness, pulls);
            }
            harness.env.resume_read_queue();
            harness.drive();
        }
    }

    fn record(&mut self, record: &Record, harness: &Harness, pulls: bool) {
        let long = |at: usize| u64::from_le_bytes(record.payload[at..at + 8].try_into().unwrap());
        match record.kind {
            EVENT => self.event(record),
            PIECE => {
                let (id, bytes) = (long(0), &record.payload[8..]);
                let (body, is_whole) = self.bodies.get_mut(&self.names[&id]).unwrap();
                assert!(!*is_whole, "the body had ended");
                body.extend_from_slice(bytes);
                *is_whole = record.is_last;
                if pulls {
                    let count = u32::try_from(bytes.len()).unwrap();
                    harness.step(TransferId::new(id), Step::Pull(count));
                }
            }
            TURN => self.turns.push(long(0)),
            CLOSE => {}
            other => panic!("a record of kind {other}"),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bodies.values().map(|(bytes, _)| bytes.len()).sum()
    }

    fn event(&mut self, record: &Record) {
        let (number, fields, _) = event(record);
        let long = |at: usize| u64::from_le_bytes(fields[at..at + 8].try_into().unwrap());
        match number {
            MESSAGE => {
                let told = told(record);
                if told.data == 0 && told.data_size > 0 {
                    let whole = (told.payload.clone(), true);
                    self.bodies.insert(format!("{} data", told.action), whole);
                }
                for (id, what) in [(told.data, "data"), (told.stream, "stream")] {
                    if id > 0 {
                        self.name(id, format!("{} {what}", told.action));
                    }
                }
                self.actions.insert(told.number, told.action);
            }
            FILE => {
                let index = u32::from_le_bytes(fields[16..20].try_into().unwrap());
                let action = &self.actions[&long(0)];
                let name = format!("{action} {index}");
                self.name(long(8), name);
            }
            ABORT => self.aborted.push(long(0)),
            END => self.ended = Some(fields == [1]),
            other => panic!("an event {other}"),
        }
    }

    fn name(&mut self, id: u64, name: String) {
        self.bodies.insert(name.clone(), (Vec::new(), false));
        assert_eq!(self.names.insert(id, name), None);
    }

    /// A complete body.
    pub(super) fn whole(&self, name: &str) -> &[u8] {
        let (bytes, is_whole) = &self.bodies[name];
        assert!(is_whole, "{name} is incomplete");
        bytes
    }

    pub(super) fn length(&self, name: &str) -> usize {
        self.bodies[name].0.len()
    }
}
