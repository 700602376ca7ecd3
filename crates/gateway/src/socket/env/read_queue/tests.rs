//! Who is let go, by hand and beside a naive model.

use proptest::prelude::*;

use super::*;

#[test]
fn whoever_was_let_go_and_got_nothing_is_next() {
    let mut waiting = ReadQueue::default();
    for connection in 0..4 {
        waiting.push(connection, false);
    }
    let mut round = waiting.begin();
    // 0 read and is back already, 1 and 2 found the queue full, 3 was not let go
    let mut next = || round.next(|_| true).unwrap();
    let (first, others) = (next(), [next(), next()]);
    waiting.end(round);
    waiting.push(first, false);
    for connection in others {
        waiting.push(connection, true);
    }
    assert_eq!(waiting.begin().line, [1, 2, 3, 0]);
}

#[test]
fn as_many_are_let_go_as_found_room() {
    let mut waiting = ReadQueue::default();
    let mut round = |let_go: usize, unlucky: usize| {
        waiting.let_go = let_go;
        (0..unlucky).for_each(|_| waiting.push((), true));
        waiting.begin();
        waiting.width
    };
    // nobody was let go, or fewer than might have been: nothing is learned
    assert_eq!(round(0, 0), LEAST_WIDTH);
    assert_eq!(round(LEAST_WIDTH - 1, 0), LEAST_WIDTH);
    assert_eq!(round(LEAST_WIDTH, 0), 2 * LEAST_WIDTH);
    assert_eq!(round(2 * LEAST_WIDTH, 0), 4 * LEAST_WIDTH);
    assert_eq!(round(4 * LEAST_WIDTH, 10), 4 * LEAST_WIDTH - 10);
    assert_eq!(round(4 * LEAST_WIDTH - 10, 1000), LEAST_WIDTH);
    let mut width = LEAST_WIDTH;
    for _ in 0..40 {
        width = round(width, 0);
    }
    assert_eq!(width, MOST_WIDTH);
}

const WORKERS: usize = 3;

/// Connections that read from a queue, with what each has yet to read.
struct Waiting {
    queue: ReadQueue<usize>,
    all: Vec<Client>,
    /// Who comes or reads is behind all others from then on.
    next: usize,
}

#[derive(Debug)]
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
            let others = self.all.iter().filter(|other| other.left > 0);
            let first = others
                .filter(|other| other.worker == worker)
                .map(|other| other.since)
                .min();
            assert_eq!(first, Some(since), "another has waited longer");
            rooms[worker] -= count;
            readers += 1;
            self.all[client].left -= count;
            self.all[client].since = self.next;
            self.next += 1;
            if left > count {
                self.queue.push(client, false);
            }
        }
        self.check();
        readers
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

#[derive(Clone, Debug)]
enum Op {
    Come(usize, usize),
    Round([usize; WORKERS], usize),
}

fn op() -> impl Strategy<Value = Op> {
    let room = || prop_oneof![2 => Just(0_usize), 2 => 1..4_usize, 1 => 0..100_usize];
    prop_oneof![
        3 => (0..WORKERS, 1..10_usize).prop_map(|(worker, left)| Op::Come(worker, left)),
        1 => ([room(), room(), room()], 1..5_usize)
            .prop_map(|(rooms, most)| Op::Round(rooms, most)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever has waited longest for a worker reads first of it, however often it was let go for nothing.
    #[test]
    fn everybody_is_let_go_in_turn(ops in prop::collection::vec(op(), 0..200)) {
        let mut waiting = Waiting {
            queue: ReadQueue::default(),
            all: Vec::new(),
            next: 0,
        };
        for op in ops {
            match op {
                Op::Come(worker, left) => waiting.come(worker, left),
                Op::Round(rooms, most) => {
                    waiting.round(rooms, most);
                }
            }
        }
        while waiting.all.iter().any(|client| client.left > 0) {
            prop_assert!(waiting.round([1; WORKERS], 1) > 0, "nobody is let go any more");
        }
    }
}
