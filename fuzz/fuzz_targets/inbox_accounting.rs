//! Posts to the inboxes of shards, turns and ends, four bytes each, compared with a naive model: bytes, room, high
//! water and wake-ups are always equal, and nothing is lost. The first three bytes choose the size of an inbox.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::inbox_accounting;

fuzz_target!(|bytes: &[u8]| inbox_accounting(bytes));
