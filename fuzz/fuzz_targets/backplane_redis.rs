//! No bytes of a Redis server make a node panic, count what cannot be, or understand something else when they come in
//! pieces. The first two bytes say how they are cut, the third whether it is a cluster.
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
