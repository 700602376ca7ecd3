//! No bytes of a Redis server make a node panic, count impossible numbers, or yield other events when they come in
//! pieces. The first two bytes choose how the rest is split, the third whether the server is a cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_backplane::{Protocol, fuzzing::feed};

fuzz_target!(|bytes: &[u8]| {
    let [step, other, cluster, server @ ..] = bytes else {
        return;
    };
    let protocol = if cluster % 2 == 1 {
        Protocol::RedisCluster
    } else {
        Protocol::Redis
    };
    let steps = [usize::from(*step) + 1, usize::from(*other) + 1];
    let whole = feed(protocol, server, [usize::MAX; 2]);
    assert_eq!(feed(protocol, server, steps), whole);
    assert_eq!(feed(protocol, server, [1, 1]), whole);
});
