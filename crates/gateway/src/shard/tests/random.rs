//! Lives of connections with random steps.

use proptest::prelude::*;

use crate::event::Handlers;
use crate::limits::OutboxPolicy;
use crate::shard::stage::EVERY;
use crate::shard::stage::life::{Step, run};

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![6..200_usize, 2_000..6_000_usize];
    prop_oneof![
        8 => length.clone().prop_map(Step::Send),
        6 => length.prop_map(Step::Publish),
        2 => (-1..=1).prop_map(Step::Subscribe),
        6 => prop_oneof![0..3_usize, 0..3_000_usize].prop_map(Step::Read),
        4 => (0..40_usize).prop_map(Step::Say),
        1 => Just(Step::Goodbye),
        1 => Just(Step::End),
        1 => Just(Step::Vanish),
        1 => Just(Step::Close),
        1 => Just(Step::Retire),
        8 => Just(Step::Drive),
        8 => Just(Step::Turn),
        3 => Just(Step::Handle),
        1 => (0..6_000_u64).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn no_message_is_incomplete_repeated_or_left_over(
        speaks in prop::sample::select(&EVERY[..]),
        handlers in prop::sample::select(&[Handlers::NONE, Handlers::END][..]),
        policy in prop::sample::select(&[
            OutboxPolicy::Close, OutboxPolicy::DropNewest, OutboxPolicy::DropOldest,
        ][..]),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        run(speaks, handlers, policy, steps);
    }
}
