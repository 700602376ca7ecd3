//! The limits of splice.

use std::time::Duration;

use crate::limits::{BYTES, DAY, limits};

limits! {
    /// Limits of a splice listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct SpliceLimits {
        /// Time to reach a target (splice), including its name, TLS and handshake; a client may ask for less.
        dial_timeout: Duration = Duration::from_secs(10), 1..=DAY, "the call fails with 4007";
        /// Bytes of a control message (splice) without its index.
        control_bytes: usize = 5 * 1024 * 1024, 1..=2_147_483_647, "closed with 1009";
        /// Targets of one session (splice), including those that are still being reached.
        targets_per_session: u32 = 256, 1..=65_535, "the call fails with 4007";
        /// Targets of all sessions of a listener (splice).
        targets_total: u32 = 10_000, 1..=10_000_000, "the call fails with 4007";
        /// Bytes that wait for one target (splice) that does not read; one message always fits.
        target_queue_bytes: usize = 16 * 1024 * 1024, 1..=BYTES, "the target is closed with 1013, the others go on";
    }
}

limits! {
    /// Limits of splice that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedSpliceLimits {
        /// Names of targets (splice) that one listener resolves at the same time.
        lookups: usize = 8, "further names wait, within their `dialTimeoutMs`";
        /// Addresses of a target (splice) that are tried.
        addresses: usize = 16, "further ones are not tried";
        /// Time for which a client (splice) is not read because one of its targets reads too slowly.
        slow_target_wait: Duration = Duration::from_millis(50), "the client is read until a 32nd of `targetQueueBytes` more waits for that target";
        /// Bytes of the head with which a target (splice) answers the handshake.
        answer_head_bytes: usize = 16 * 1024, "the call fails with 4007";
    }
}
