//! Random operations on an outbox, compared with its model.

use proptest::prelude::*;

use super::model::{HEAD, Op, run};
use super::*;
use crate::limits::OutboxPolicy;

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_but_what_the_policy_drops(
        ops in prop::collection::vec(ops(), 1..100),
        policy in prop::sample::select(vec![
            OutboxPolicy::Close,
            OutboxPolicy::DropNewest,
            OutboxPolicy::DropOldest,
        ]),
        outbox_bytes in 0_usize..20_000,
        outbox_frames in 0_usize..20,
    ) {
        let limits = GatewayLimits {
            outbox_bytes,
            outbox_frames,
            outbox_policy: policy,
            ..GatewayLimits::default()
        };
        run(ops, limits);
    }
}

fn ops() -> impl Strategy<Value = Op> {
    let length =
        || prop_oneof![20 => HEAD..500_usize, 5 => 500..5000_usize, 1 => 60_000..70_000_usize];
    prop_oneof![
        4 => length().prop_map(Op::Message),
        1 => length().prop_map(Op::Control),
        3 => (length(), 1..5_u32).prop_map(|(length, messages)| Op::Shared(length, messages)),
        2 => length().prop_map(Op::Late),
        2 => (0..20_usize).prop_map(Op::Settle),
        3 => length().prop_map(Op::Write),
        2 => Just(Op::Judge),
    ]
}
