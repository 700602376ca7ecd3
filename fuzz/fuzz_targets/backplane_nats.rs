//! No bytes of a NATS server make a node panic, count impossible numbers, or yield other events when they come in
//! pieces. The first two bytes choose how the rest is split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_backplane::{Protocol, fuzzing::feed};

fuzz_target!(|bytes: &[u8]| {
    let [step, other, server @ ..] = bytes else {
        return;
    };
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    let whole = feed(Protocol::Nats, server, [usize::MAX; 2]);
    assert_eq!(feed(Protocol::Nats, server, steps), whole);
    assert_eq!(feed(Protocol::Nats, server, [1, 1]), whole);
});
