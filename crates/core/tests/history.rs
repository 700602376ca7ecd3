//! Random operations on channels with history. After each step what is kept must be what the naive model keeps, and
//! every subscriber must have got consecutive numbers, or have been told of exactly the gap.
#![cfg(not(loom))]

#[path = "history/driver.rs"]
mod driver;
#[path = "history/readers.rs"]
mod readers;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn history_is_what_the_model_keeps(ops in prop::collection::vec(any::<driver::Op>(), 0..200)) {
        driver::run(&ops);
    }
}
