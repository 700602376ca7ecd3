//! Posts to the inboxes of shards, turns and ends, four bytes each, beside a naive model: bytes, room, high water and
//! wake-ups always agree, and nothing is lost. The first three bytes say how large an inbox may be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::inbox_accounting;

fuzz_target!(|bytes: &[u8]| inbox_accounting(bytes));
