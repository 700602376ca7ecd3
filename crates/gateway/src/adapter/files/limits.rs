//! The limits of static files.

use std::time::Duration;

use crate::limits::{BYTES, DAY, limits};

limits! {
    /// Limits of the static files of an HTTP listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[expect(clippy::struct_field_names, reason = "they are the names of options")]
    pub(super) struct FileLimits {
        /// Bytes of static files that the listener keeps in memory; zero keeps none.
        static_cache_bytes: usize = 32 * 1024 * 1024, 0..=BYTES, "files that were not requested recently are dropped";
        /// Bytes of a static file that may be kept in memory.
        static_cache_file_bytes: usize = 64 * 1024, 0..=2_147_483_647, "it is read for each request";
        /// Time for which a look at a static file stays valid; zero looks for each request.
        static_check: Duration = Duration::from_secs(1), 0..=DAY, "the file is looked at again";
    }
}
