//! The life of one connection on a shard that the test drives, four bytes a step: partial reads and writes, ends,
//! closes, retirement and time. No frame is torn, repeated or left, and the worker gets one close. The first three
//! bytes choose the protocol of the connection, the handlers of its worker and the policy of its outbox.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millrace_gateway::fuzzing::connection_phases;

fuzz_target!(|bytes: &[u8]| connection_phases(bytes));
