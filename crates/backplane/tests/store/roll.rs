//! A node with members for the tests: what it has, what it was told of others, and its task on a thread of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use millrace_backplane::Config;
use millrace_backplane::store::{Attendance, AttendanceStats, Pending, Presence, Roll, Seat};

use crate::node::until;

/// Members, by node and socket.
pub(crate) type Members = BTreeMap<(u64, u64), Option<String>>;

/// What a channel has on this node, and what is known of others.
#[derive(Default)]
struct Room {
    here: BTreeMap<u64, Seat>,
    /// `None`: everything has to be written.
    unsaved: Option<BTreeSet<u64>>,
    /// With the mark of the last reading.
    others: BTreeMap<(u64, u64), (Option<String>, u32)>,
    fills: usize,
    failures: usize,
    /// How many others have left.
    left: usize,
}

#[derive(Default)]
struct Rooms(Mutex<BTreeMap<Vec<u8>, Room>>, Mutex<Vec<String>>);

impl Rooms {
    fn all(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Room>> {
        self.0.lock().expect("no thread panicked")
    }

    fn with<T>(&self, channel: &[u8], apply: impl FnOnce(&mut Room) -> T) -> T {
        apply(self.all().entry(channel.to_vec()).or_default())
    }
}

impl Roll for Rooms {
    fn take_changes(&self, channel: &[u8], (most, _): (usize, usize)) -> Pending {
        self.with(channel, |room| {
            let Some(unsaved) = &mut room.unsaved else {
                room.unsaved = Some(BTreeSet::new());
                return Pending::Whole;
            };
            let rest = unsaved.iter().nth(most).copied();
            let rest = rest.map_or_else(BTreeSet::new, |first| unsaved.split_off(&first));
            let taken = std::mem::replace(unsaved, rest).into_iter();
            let seat = |socket| room.here.get(&socket).cloned().ok_or(socket);
            Pending::Changes(taken.map(seat).collect())
        })
    }

    fn begin(&self, channel: &[u8]) {
        self.with(channel, |room| room.unsaved = Some(BTreeSet::new()));
    }

    fn members_here(&self, channel: &[u8], after: Option<u64>, most: usize) -> Vec<Seat> {
        self.with(channel, |room| {
            let behind = room.here.range(after.map_or(0, |after| after + 1)..);
            behind.take(most).map(|(_, seat)| seat.clone()).collect()
        })
    }

    fn put(&self, channel: &[u8], node: u64, mark: u32, seats: Vec<Seat>) {
        self.with(channel, |room| {
            for seat in seats {
                let info = seat.info.map(String::from);
                room.others.insert((node, seat.socket), (info, mark));
            }
        });
    }

    fn left(&self, channel: &[u8], node: u64, sockets: &[u64]) {
        self.with(channel, |room| {
            for socket in sockets {
                room.left += usize::from(room.others.remove(&(node, *socket)).is_some());
            }
        });
    }

    fn sweep(&self, channel: &[u8], node: u64, mark: u32) {
        self.with(channel, |room| {
            let before = room.others.len();
            room.others
                .retain(|(of, _), (_, last)| *of != node || *last == mark);
            room.left += before - room.others.len();
        });
    }

    fn filled(&self, channel: &[u8], following: u64, nodes: &[u64]) {
        assert!(following != 0 && nodes.is_sorted());
        self.with(channel, |room| {
            room.fills += 1;
            for (node, _) in room.others.keys() {
                assert!(nodes.contains(node), "{node} of {nodes:?}");
            }
        });
    }

    fn failed(&self, channel: &[u8], _: u64) {
        self.with(channel, |room| room.failures += 1);
    }

    fn flush(&self) {}

    fn report(&self, message: &str) {
        let mut reports = self.1.lock().expect("no thread panicked");
        reports.push(message.to_owned());
    }
}

/// See the module.
pub(crate) struct Attendant {
    pub(crate) number: u64,
    presence: Arc<Attendance>,
    rooms: Arc<Rooms>,
    followings: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Attendant {
    pub(crate) fn start(config: &Config, number: u64) -> Self {
        let rooms = Arc::new(Rooms::default());
        let roll = Arc::<Rooms>::clone(&rooms);
        let (presence, task) = Attendance::new(config, number, roll).expect("it is supported");
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(task.run());
        });
        Self {
            number,
            presence,
            rooms,
            followings: AtomicU64::new(0),
            thread: Some(thread),
        }
    }

    pub(crate) fn stats(&self) -> AttendanceStats {
        self.presence.stats()
    }

    pub(crate) fn follow(&self, channel: &[u8]) {
        let number = self.followings.fetch_add(1, Ordering::Relaxed) + 1;
        self.presence.follow(channel, number);
    }

    /// A socket becomes a member, or says something else.
    pub(crate) fn enter(&self, channel: &[u8], socket: u64, info: Option<&str>) {
        let seat = Seat {
            socket,
            since_ms: 1,
            info: info.map(Into::into),
        };
        self.rooms.with(channel, |room| {
            room.here.insert(socket, seat);
            room.unsaved.as_mut().map(|unsaved| unsaved.insert(socket));
        });
        self.presence.changed(channel);
    }

    pub(crate) fn leave(&self, channel: &[u8], socket: u64) {
        self.rooms.with(channel, |room| {
            room.here.remove(&socket);
            room.unsaved.as_mut().map(|unsaved| unsaved.insert(socket));
        });
        self.presence.changed(channel);
    }

    /// All members, of this node and of others.
    pub(crate) fn members(&self, channel: &[u8]) -> Members {
        self.rooms.with(channel, |room| {
            let others = room.others.iter();
            let mut all: Members = others.map(|(id, (info, _))| (*id, info.clone())).collect();
            for (socket, seat) in &room.here {
                let info = seat.info.clone().map(String::from);
                all.insert((self.number, *socket), info);
            }
            all
        })
    }

    pub(crate) fn fills(&self, channel: &[u8]) -> usize {
        self.rooms.with(channel, |room| room.fills)
    }

    pub(crate) fn failures(&self, channel: &[u8]) -> usize {
        self.rooms.with(channel, |room| room.failures)
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.rooms.1.lock().expect("no thread panicked").clone()
    }

    /// How many members of others have left.
    pub(crate) fn left(&self, channel: &[u8]) -> usize {
        self.rooms.with(channel, |room| room.left)
    }

    pub(crate) fn await_filled(&self, channel: &[u8]) {
        until("the members to be known", || self.fills(channel) > 0);
    }

    /// Waits until this node knows exactly these members.
    pub(crate) fn await_members(&self, channel: &[u8], expected: &Members) {
        until("the members to be those that are expected", || {
            self.members(channel) == *expected
        });
    }

    /// Ends as a node does that is stopped.
    pub(crate) fn end(mut self, deadline: Instant) {
        self.presence.end(deadline);
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the task does not panic");
        }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.presence.end(Instant::now());
        if !std::thread::panicking() {
            self.join();
        }
    }
}
