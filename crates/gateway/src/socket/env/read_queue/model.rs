//! Compares the read queue with a naive model: the connection that has waited longest for a worker reads first,
//! regardless of how often it was released in vain, and none is lost. Only in tests and with the feature `fuzzing`.

use super::ReadQueue;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A connection arrives that waits for this worker and has this much to read.
    Come(usize, usize),
    /// Some connections are released: the room of each worker, and how much a connection reads at once.
    Round([usize; WORKERS], usize),
}

impl Op {
    /// The operation that these bytes encode.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, first, second, third] = bytes.map(usize::from);
        match verb % 4 {
            0 => Self::Round([first, second, third].map(room), verb / 4 % 4 + 1),
            _ => Self::Come(first % WORKERS, second % 9 + 1),
        }
    }
}

/// No room, little or much.
fn room(byte: usize) -> usize {
    match byte % 5 {
        0 | 1 => 0,
        2 | 3 => byte / 5 % 3 + 1,
        _ => byte / 5 * 2,
    }
}

pub(crate) const WORKERS: usize = 3;

/// Runs all operations on a queue, and then releases connections until none waits.
pub(crate) fn run(ops: impl IntoIterator<Item = Op>) {
    let mut waiting = Waiting::default();
    for op in ops {
        match op {
            Op::Come(worker, left) => waiting.come(worker, left),
            Op::Round(rooms, most) => {
                waiting.round(rooms, most);
            }
        }
        waiting.check();
    }
    while waiting.all.iter().any(|client| client.left > 0) {
        let readers = waiting.round([1; WORKERS], 1);
        assert!(readers > 0, "no connection is released any more");
        waiting.check();
    }
}

/// The connections of a queue, with what each still has to read.
#[derive(Default)]
struct Waiting {
    queue: ReadQueue<usize>,
    all: Vec<Client>,
    /// A connection that arrives or reads gets this number, behind all others.
    next: usize,
}

struct Client {
    worker: usize,
    left: usize,
    since: usize,
}

impl Waiting {
    fn come(&mut self, worker: usize, left: usize) {
        self.queue.push(self.all.len(), false);
        self.all.push(Client {
            worker,
            left,
            since: self.next,
        });
        self.next += 1;
    }

    /// Releases some connections, each of which reads this much at once while its worker has room. Returns how many
    /// have read.
    fn round(&mut self, mut rooms: [usize; WORKERS], most: usize) -> usize {
        let mut round = self.queue.begin();
        let width = round.width;
        let has_room = |client: &usize| rooms[self.all[*client].worker] > 0;
        let let_go: Vec<usize> = std::iter::from_fn(|| round.next(has_room)).collect();
        assert!(let_go.len() <= width);
        let is_cut = !round.line.is_empty();
        assert!(
            !is_cut || let_go.len() == width,
            "a connection was passed over"
        );
        self.queue.end(round);
        let mut readers = 0;
        for client in let_go {
            let Client {
                worker,
                left,
                since,
            } = self.all[client];
            let count = left.min(most).min(rooms[worker]);
            if count == 0 {
                self.queue.push(client, true);
                continue;
            }
            assert_eq!(
                self.first(worker),
                Some(since),
                "another connection has waited longer"
            );
            rooms[worker] -= count;
            readers += 1;
            self.all[client].left -= count;
            self.all[client].since = self.next;
            self.next += 1;
            if left > count {
                self.queue.push(client, false);
            }
        }
        readers
    }

    /// The number of the connection that has waited longest for this worker.
    fn first(&self, worker: usize) -> Option<usize> {
        let clients = self.all.iter();
        clients
            .filter(|client| client.left > 0 && client.worker == worker)
            .map(|client| client.since)
            .min()
    }

    /// Asserts that each connection with something to read is in the queue once.
    fn check(&self) {
        let queue = &self.queue;
        let mut queued: Vec<usize> = queue.line.iter().chain(&queue.unlucky).copied().collect();
        queued.sort_unstable();
        let clients = self.all.iter().enumerate();
        let waiting = clients.filter(|(_, client)| client.left > 0);
        assert!(queued.into_iter().eq(waiting.map(|(index, _)| index)));
    }
}
