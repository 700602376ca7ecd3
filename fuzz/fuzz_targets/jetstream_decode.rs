//! No bytes of a NATS server with JetStream make the store of histories panic, hold more than they have, or hear something else
//! when they come in pieces; and what they say of records reads as itself when it is written anew. The first two bytes choose
//! how the rest is split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_backplane::fuzzing::feed_jetstream;

fuzz_target!(|bytes: &[u8]| {
    let [step, other, server @ ..] = bytes else {
        return;
    };
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    let whole = feed_jetstream(server, [usize::MAX; 2]);
    assert_eq!(feed_jetstream(server, steps), whole);
    assert_eq!(feed_jetstream(server, [1, 1]), whole);
});
