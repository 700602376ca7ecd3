//! The limits of the admin page.

use std::time::Duration;

use crate::limits::limits;

limits! {
    /// Limits of the admin page that no option changes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) struct FixedAdminLimits {
        /// Wrong tokens of one address, or of one IPv6 network (/64), within `wrong_tokens_window`.
        wrong_admin_tokens: u32 = 10, "HTTP 429 for every token of that address, until the time is over";
        /// Time for which wrong tokens of an address count, from the first on.
        wrong_tokens_window: Duration = Duration::from_secs(60), "the address may try again";
        /// Addresses that are remembered because they sent a wrong token recently.
        addresses_with_wrong_tokens: usize = 1024, "the one whose wrong tokens are the oldest is forgotten";
        /// Channels that the admin page gets at a time.
        channels_listed: usize = 200, "the rest is on the next page";
        /// Channels that one search of the admin page looks at before it answers.
        channels_searched: usize = 16 * 1024, "the search goes on with the next page";
        /// Bytes of a channel's name that the admin page shows.
        shown_name_bytes: usize = 512, "the rest is not shown";
        /// Slow readers that the admin page shows, those with the fullest outboxes.
        slow_readers_listed: usize = 100, "the rest is only counted";
        /// Streams of channels' messages that are open for the admin page.
        taps: usize = 16, "HTTP 503";
        /// Bytes that wait for a browser that reads such a stream.
        tap_bytes: usize = 256 * 1024, "further messages are dropped and counted for it";
        /// Bytes of a message's payload in such a stream.
        tap_payload_bytes: usize = 2 * 1024, "the rest is not shown";
    }
}
