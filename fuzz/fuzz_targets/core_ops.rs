//! Operations on the core and on the naive model, eight bytes each: a verb and what its arguments are
//! chosen by. Everything that can be seen must be the same after every one of them.
#![no_main]

#[path = "../../crates/core/tests/driver/mod.rs"]
mod driver;

use libfuzzer_sys::fuzz_target;

/// Operations per input; the comparison after each walks over everything.
const OPERATIONS: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let (operations, _) = bytes.as_chunks();
    driver::run(&operations[..operations.len().min(OPERATIONS)]);
});
