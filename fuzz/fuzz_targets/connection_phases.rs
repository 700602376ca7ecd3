//! The life of one connection on a shard that is moved by hand, four bytes a step: partial reads and writes, ends, closes,
//! retirement and time. Nothing is torn, repeated or left, and the worker is told once. The first three bytes say what the
//! connection speaks, what its worker handles and what the policy of its outbox is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::connection_phases;

fuzz_target!(|bytes: &[u8]| connection_phases(bytes));
