//! A node for the tests: a store on a thread of its own, and what it was told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use millrace_backplane::Config;
use millrace_backplane::store::{
    Append, Appended, Entry, Feed, History, Range, Store, StoreError, StoreStats, StoredPast,
};
use millrace_core::{HistoryTerms, Kind, Position};

use crate::server::TIMEOUT;

pub(crate) const ROOM: &[u8] = b"room:{1}";

/// So many that nothing goes during a test.
pub(crate) const MANY: HistoryTerms = HistoryTerms {
    messages: 10_000,
    age_ms: 600_000,
};

/// What a node knows about a channel.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) position: Position,
    /// What has come since the channel was filled.
    pub(crate) entries: Vec<Entry>,
    pub(crate) fills: usize,
}

impl View {
    pub(crate) fn texts(&self) -> Vec<String> {
        texts(&self.entries)
    }
}

/// What the store has told.
#[derive(Default)]
struct Told {
    views: HashMap<Vec<u8>, View>,
    failures: Vec<(Vec<u8>, StoreError)>,
    reports: Vec<String>,
    flushes: usize,
}

#[derive(Default)]
struct Recorder(Mutex<Told>);

impl Recorder {
    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.0.lock().expect("no thread panicked")
    }
}

impl Feed for Recorder {
    fn filled(&self, channel: &[u8], past: StoredPast) {
        let mut told = self.told();
        let fills = told.views.get(channel).map_or(0, |view| view.fills) + 1;
        let StoredPast { position, entries } = past;
        let first = entries.first().map(|entry| entry.offset);
        let expected = first.unwrap_or(position.offset + 1)..=position.offset;
        assert!(entries.iter().map(|entry| entry.offset).eq(expected));
        let view = View {
            position,
            entries,
            fills,
        };
        told.views.insert(channel.to_vec(), view);
    }

    fn next(&self, channel: &[u8], entry: Entry) {
        let mut told = self.told();
        let view = told.views.get_mut(channel).expect("it was filled");
        assert_eq!(entry.offset, view.position.offset + 1);
        if let Some(last) = view.entries.last() {
            assert!(entry.unix_ms >= last.unix_ms);
        }
        view.position.offset = entry.offset;
        view.entries.push(entry);
    }

    fn failed(&self, channel: &[u8], error: StoreError) {
        self.told().failures.push((channel.to_vec(), error));
    }

    fn flush(&self) {
        self.told().flushes += 1;
    }

    fn report(&self, message: &str) {
        self.told().reports.push(message.to_owned());
    }
}

/// See the module.
pub(crate) struct Node {
    store: Arc<Store>,
    feed: Arc<Recorder>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    pub(crate) fn start(config: &Config, number: u64) -> Self {
        let feed = Arc::new(Recorder::default());
        let shared = Arc::<Recorder>::clone(&feed);
        let (store, task) = Store::new(config, number, shared).expect("it is supported");
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(task.run());
        });
        Self {
            store,
            feed,
            thread: Some(thread),
        }
    }

    pub(crate) fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    pub(crate) fn end(&self, deadline: Instant) {
        self.store.end(deadline);
    }

    pub(crate) fn follow(&self, channel: &[u8], terms: HistoryTerms) {
        self.store.follow(channel, terms);
    }

    pub(crate) fn forget(&self, channel: &[u8]) {
        self.store.forget(channel);
    }

    /// Publishes without waiting for the answer.
    pub(crate) fn send(&self, message: Append) -> mpsc::Receiver<Result<Appended, StoreError>> {
        let (answer, answered) = mpsc::channel();
        let done = Box::new(move |result| {
            let _nobody_waits = answer.send(result);
        });
        self.store.append(message, done);
        answered
    }

    pub(crate) fn append(&self, message: Append) -> Result<Appended, StoreError> {
        let answer = self.send(message).recv_timeout(TIMEOUT);
        answer.expect("it is answered")
    }

    pub(crate) fn publish(&self, text: &str) -> Position {
        let appended = self.append(message(text));
        let appended = appended.unwrap_or_else(|error| panic!("{error:?}: {:?}", self.reports()));
        assert!(!appended.is_repeated);
        appended.position
    }

    pub(crate) fn read(&self, terms: HistoryTerms, range: Range) -> Result<StoredPast, StoreError> {
        let (answer, answered) = mpsc::channel();
        let done = Box::new(move |result| {
            let _nobody_waits = answer.send(result);
        });
        self.store.read(ROOM, terms, range, done);
        answered.recv_timeout(TIMEOUT).expect("it is answered")
    }

    pub(crate) fn view(&self, channel: &[u8]) -> Option<View> {
        self.feed.told().views.get(channel).cloned()
    }

    pub(crate) fn room(&self) -> View {
        self.view(ROOM).expect("the room was filled")
    }

    pub(crate) fn failures(&self) -> Vec<(Vec<u8>, StoreError)> {
        self.feed.told().failures.clone()
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.feed.told().reports.clone()
    }

    /// Whether everything that was told was also flushed.
    pub(crate) fn flushes(&self) -> usize {
        self.feed.told().flushes
    }

    /// Waits until the room has so many messages.
    pub(crate) fn await_room(&self, offset: u64) -> View {
        until(&format!("the room to be at {offset}"), || {
            self.view(ROOM)
                .is_some_and(|view| view.position.offset == offset)
        });
        self.room()
    }

    pub(crate) fn await_connected(&self, is_connected: bool) {
        until("the link to change", || {
            self.stats().is_connected == is_connected
        });
    }

    /// Waits until the task has ended.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the task does not panic");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.store.end(Instant::now());
        if !std::thread::panicking() {
            self.join();
        }
    }
}

pub(crate) fn message(text: &str) -> Append {
    Append {
        channel: ROOM.into(),
        terms: MANY,
        kind: Kind::Text,
        payload: Bytes::copy_from_slice(text.as_bytes()),
        from: None,
        key: None,
        mark: 0,
    }
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<String> {
    let text = |entry: &Entry| String::from_utf8_lossy(&entry.payload).into_owned();
    entries.iter().map(text).collect()
}

/// The kept messages in ascending order.
pub(crate) const ALL: Range = Range {
    after: 0,
    most: usize::MAX,
    most_bytes: usize::MAX,
    is_reverse: false,
};

/// Waits until all nodes know that the epoch of the room's position has ended.
pub(crate) fn await_renewal(nodes: &[Node], before: Position) {
    until("all nodes to have the new epoch", || {
        nodes
            .iter()
            .all(|node| node.room().position.epoch != before.epoch)
    });
}

/// Checks that the nodes agree about a room whose epoch one of them has ended.
pub(crate) fn check_renewal(nodes: &[Node], newest: Position, texts: &[&str]) {
    for node in nodes {
        let view = node.await_room(newest.offset);
        assert_eq!(view.position, newest);
        assert_eq!(view.texts(), texts);
    }
    assert!(nodes.iter().map(|node| node.stats().renewed).sum::<u64>() >= 1);
}

pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
