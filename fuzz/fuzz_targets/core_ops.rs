//! Operations on the core and on the naive model, eight bytes each: a verb and the choice of its
//! arguments. After each operation everything that can be observed must be equal.
#![no_main]

#[path = "../../crates/core/tests/driver/mod.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

/// The most operations per input. The comparison after each one visits everything.
const OPERATIONS: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let (operations, _) = bytes.as_chunks();
    driver::run(&operations[..operations.len().min(OPERATIONS)]);
});
