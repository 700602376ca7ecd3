//! The clock of what expires: keys, and messages of channels with history.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds of Unix time.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
