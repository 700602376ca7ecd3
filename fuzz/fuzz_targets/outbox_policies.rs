//! Appends, writes and judgements of an outbox and of its naive model, four bytes each: what leaves is what came, in order
//! and whole, without what the policy drops. The first four bytes say what the policy and the limits are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::outbox_policies;

fuzz_target!(|bytes: &[u8]| outbox_policies(bytes));
