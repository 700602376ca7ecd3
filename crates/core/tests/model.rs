//! Random operations on the core and on the naive model. After each step the results, the deliveries
//! and everything that can be observed must be equal.
#![cfg(not(loom))]

mod driver;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_core_does_what_the_model_does(ops in prop::collection::vec(any::<driver::Op>(), 0..120)) {
        driver::run(&ops);
    }
}
