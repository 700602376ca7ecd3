//! Tests which connections are released, case by case and against a naive model.

use proptest::prelude::*;

use super::model::{Op, WORKERS, run};
use super::*;

#[test]
fn a_connection_released_in_vain_is_the_next() {
    let mut waiting = ReadQueue::default();
    for connection in 0..4 {
        waiting.push(connection, false);
    }
    let mut round = waiting.begin();
    // 0 has read and waits again, 1 and 2 found the queue full, 3 was not released
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
fn as_many_are_released_as_found_room() {
    let mut waiting = ReadQueue::default();
    let mut round = |let_go: usize, unlucky: usize| {
        waiting.let_go = let_go;
        (0..unlucky).for_each(|_| waiting.push((), true));
        waiting.begin();
        waiting.width
    };
    // no connection was released, or fewer than allowed: the width does not change
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

    /// The connection that has waited longest for a worker reads first, regardless of how often it was released in
    /// vain.
    #[test]
    fn connections_are_released_in_turn(ops in prop::collection::vec(op(), 0..200)) {
        run(ops);
    }
}
