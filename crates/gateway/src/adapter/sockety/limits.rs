//! The limits of Sockety.

use std::time::Duration;

use crate::limits::{BYTES, DAY, limits};

limits! {
    /// Limits of a Sockety listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct SocketyLimits {
        /// Bytes of a message without its contents: its action, sizes and file names (Sockety).
        message_head_bytes: usize = 1024 * 1024, 64..=4 * 1024 * 1024, "closed with 1009";
        /// Files of one message (Sockety).
        files_per_message: u32 = 10_000, 0..=65_536, "closed with 1009";
        /// Bytes of data, files and streams of one connection that wait for its worker, beyond those that the worker asked for (Sockety).
        buffered_bytes: usize = 16 * 1024 * 1024, 1..=BYTES, "reading pauses";
        /// Time until the first bytes of a connection have arrived (Sockety); zero is off.
        header_timeout: Duration = Duration::from_secs(10), 0..=DAY, "closed with 1002";
        /// Time without a byte from the peer (Sockety). A heartbeat is sent after three quarters of it in which nothing was sent. Zero is off.
        silence_timeout: Duration = Duration::from_secs(60), 0..=DAY, "closed with 1006";
    }
}

limits! {
    /// Limits of Sockety that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedSocketyLimits {
        /// Bytes of messages with an incomplete head (Sockety), including files that arrived before the rest of their head.
        pending_bytes: usize = 4 * 1024 * 1024, "closed with 1009";
    }
}
