//! Random operations on the core and on the naive model: every answer, every delivery and everything
//! that can be seen must be the same after each step.
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
