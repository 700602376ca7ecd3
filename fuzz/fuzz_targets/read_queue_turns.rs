//! Connections that wait for their workers, and turns in which some of them may continue, four bytes each, compared
//! with a naive model: the connection that has waited longest for a worker reads first, and no connection is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::read_queue_turns;

fuzz_target!(|bytes: &[u8]| read_queue_turns(bytes));
