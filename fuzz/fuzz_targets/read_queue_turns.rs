//! Connections that wait for their workers and rounds in which some are let go, four bytes each, beside a naive model: whoever
//! has waited longest for a worker reads first of it, and nobody is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::read_queue_turns;

fuzz_target!(|bytes: &[u8]| read_queue_turns(bytes));
