//! Appends to an outbox, writes of it and checks of its limits, four bytes each, compared with a naive model: frames
//! leave whole and in order, except those that the policy drops. The first four bytes choose the policy and the limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::outbox_policies;

fuzz_target!(|bytes: &[u8]| outbox_policies(bytes));
