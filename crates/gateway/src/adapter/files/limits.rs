//! The bounds of static files.

use std::time::Duration;

use crate::limits::{BYTES, DAY, limits};

limits! {
    /// Bounds of the static files of a listener that speaks HTTP.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(clippy::struct_field_names, reason = "they are the names of options")]
    pub(super) struct FileLimits {
        /// Bytes that the listener keeps of static files in memory; zero is off.
        static_cache_bytes: usize = 32 * 1024 * 1024, 0..=BYTES, "what nobody asks for is dropped";
        /// Bytes of a static file that is kept in memory.
        static_cache_file_bytes: usize = 64 * 1024, 0..=2_147_483_647, "it is read for each request";
        /// Time for which is believed what was seen of a static file; zero looks for each request.
        static_check: Duration = Duration::from_secs(1), 0..=DAY, "the file is looked at again";
    }
}
