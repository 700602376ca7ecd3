//! A worker that answers requests at once, as it was told to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use millrace_gateway::{
    AnswerHead, Doorbell, Gateway, Handlers, ShardSet, Step, TransferId, Worker,
};

use crate::support::{SOON, Server};

/// A header.
pub(crate) type Line = (&'static str, &'static str);

/// What a worker answers.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    Whole(u32, Vec<Line>, usize),
    InPieces(usize),
    Abort,
}

/// A worker that answers on the thread that rings its bell, and keeps what it was told.
pub(crate) struct Answerer {
    gateway: Arc<Gateway>,
    worker: OnceLock<Arc<Worker>>,
    pub(crate) decision: Mutex<Decision>,
    told: Mutex<Vec<Vec<u8>>>,
    /// The records as they were.
    pub(crate) sent: Mutex<Vec<u8>>,
    pub(crate) gate: Gate,
}

/// Holds up the thread that rings.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn shut(&self) {
        *self.state.lock().unwrap() = (true, false);
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    /// Waits until a thread waits.
    pub(crate) fn await_thread(&self) {
        let state = self.state.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(state, SOON, |state| !state.1);
        assert!(!waited.unwrap().1.timed_out());
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.0).unwrap());
    }
}

impl Answerer {
    pub(crate) fn on(server: &Server) -> Arc<Self> {
        let new = Arc::new(Self {
            gateway: Arc::clone(&server.gateway),
            worker: OnceLock::new(),
            decision: Mutex::new(Decision::Whole(200, Vec::new(), 5)),
            told: Mutex::default(),
            sent: Mutex::default(),
            gate: Gate::default(),
        });
        let door: Arc<Self> = Arc::clone(&new);
        let worker = server.gateway.add_worker(Handlers::REQUEST, door);
        new.worker.get_or_init(|| worker).activate();
        new
    }

    fn answer(&self, request: u64, dirty: &mut ShardSet) {
        let worker = self.worker.get().unwrap();
        let mut step = |step| worker.step(TransferId::new(request), step, dirty);
        match self.decision.lock().unwrap().clone() {
            Decision::Whole(status, headers, length) => {
                let parts = headers.iter().flat_map(|(name, value)| [*name, *value]);
                let text = parts.collect::<Vec<_>>().join("\0");
                let head = AnswerHead::parse(status, &text, 2 * headers.len(), false).unwrap();
                step(head.whole("x".repeat(length).into()));
            }
            Decision::InPieces(length) => {
                step(AnswerHead::parse(200, "", 0, false).unwrap().begin());
                step(Step::Piece(Box::new("y".repeat(length).into())));
                step(Step::End);
            }
            Decision::Abort => step(Step::Abort),
        }
    }

    /// The answers to these bytes, with all dates alike, and what the worker was told, without ids and ports.
    pub(crate) fn answers(&self, address: &str, bytes: &[u8]) -> (String, Vec<Vec<u8>>) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let all: String = all.into_iter().map(char::from).collect();
        let is_date = |line: &str| line.starts_with("date: ") && line.ends_with(" GMT");
        let lines = all
            .split("\r\n")
            .map(|line| if is_date(line) { "date: now" } else { line });
        let all = lines.collect::<Vec<_>>().join("\r\n");
        (all, std::mem::take(&mut *self.told.lock().unwrap()))
    }
}

impl Doorbell for Answerer {
    fn ring(&self) {
        self.gate.pass();
        let worker = self.worker.get().unwrap();
        worker.begin_drain();
        let mut dirty = ShardSet::default();
        while let Some(batch) = worker.take() {
            let mut rest = &batch.bytes[..];
            while let Some(head) = rest.first_chunk() {
                let head = u32::from_le_bytes(*head);
                let length = usize::try_from(head >> 8).unwrap();
                let record = &rest[8..8 + length];
                if head & 15 == REQUEST {
                    self.sent.lock().unwrap().extend_from_slice(record);
                    self.told.lock().unwrap().push(comparable(record));
                    let id = u64::from_le_bytes(*record.first_chunk().unwrap());
                    self.answer(id, &mut dirty);
                }
                rest = &rest[8 + length.next_multiple_of(4)..];
            }
            worker.finish(batch);
        }
        self.gateway.wake(&mut dirty);
    }
}

/// The kind of a request's record.
const REQUEST: u32 = 6;

/// A request's record without its id and the client's port, its headers sorted by name: hyper groups those of one name.
fn comparable(record: &[u8]) -> Vec<u8> {
    let mut record = record[8..].to_vec();
    record[2..4].fill(0);
    let length = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    let before: u32 = [4, 8, 12].map(length).iter().sum();
    let headers = record.split_off(20 + usize::try_from(before).unwrap());
    let parts: Vec<_> = headers.split(|byte| *byte == 0).collect();
    let mut lines: Vec<_> = parts.chunks_exact(2).collect();
    lines.sort_by_key(|line| line[0]);
    record.extend(lines.concat().join(&0));
    record
}
