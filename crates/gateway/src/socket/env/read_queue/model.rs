//! A naive model of the read queue, beside it: whoever has waited longest for a worker reads first of it, however often it was
//! let go for nothing, and nobody is lost. Only in tests and with the feature `fuzzing`.

use super::ReadQueue;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A connection comes that waits for this worker and has so much to read.
    Come(usize, usize),
    /// Some are let go: so much room has each worker, and so much does each connection read at once.
    Round([usize; WORKERS], usize),
}

impl Op {
    /// What these bytes say.
    pub(crate) fn of(bytes: [u8; 4]) -> Self {
        let [verb, first, second, third] = bytes.map(usize::from);
        match verb % 4 {
            0 => Self::Round([first, second, third].map(room), verb / 4 % 4 + 1),
            _ => Self::Come(first % WORKERS, second % 9 + 1),
        }
    }
}

/// None, little or much.
fn room(byte: usize) -> usize {
    match byte % 5 {
        0 | 1 => 0,
        2 | 3 => byte / 5 % 3 + 1,
        _ => byte / 5 * 2,
    }
}

pub(crate) const WORKERS: usize = 3;

/// Has all of it happen to a queue, and then lets go who waits until nobody does.
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
        assert!(readers > 0, "nobody is let go any more");
        waiting.check();
    }
}

/// Connections that read from a queue, with what each has yet to read.
#[derive(Default)]
struct Waiting {
    queue: ReadQueue<usize>,
    all: Vec<Client>,
    /// Who comes or reads is behind all others from then on.
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

    /// Lets some go, each of which reads so much at once, while its worker has room. How many read.
    fn round(&mut self, mut rooms: [usize; WORKERS], most: usize) -> usize {
        let mut round = self.queue.begin();
        let width = round.width;
        let has_room = |client: &usize| rooms[self.all[*client].worker] > 0;
        let let_go: Vec<usize> = std::iter::from_fn(|| round.next(has_room)).collect();
        assert!(let_go.len() <= width);
        let is_cut = !round.line.is_empty();
        assert!(!is_cut || let_go.len() == width, "somebody was passed over");
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
            assert_eq!(self.first(worker), Some(since), "another has waited longer");
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

    /// Since when somebody has waited longest for this worker.
    fn first(&self, worker: usize) -> Option<usize> {
        let clients = self.all.iter();
        clients
            .filter(|client| client.left > 0 && client.worker == worker)
            .map(|client| client.since)
            .min()
    }

    /// Everybody who has something to read is in the queue, once.
    fn check(&self) {
        let queue = &self.queue;
        let mut queued: Vec<usize> = queue.line.iter().chain(&queue.unlucky).copied().collect();
        queued.sort_unstable();
        let clients = self.all.iter().enumerate();
        let waiting = clients.filter(|(_, client)| client.left > 0);
        assert!(queued.into_iter().eq(waiting.map(|(index, _)| index)));
    }
}
