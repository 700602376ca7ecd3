//! The words by which JavaScript detects changes of tokens. Owns the memory's address and the one write
//! to it; the caller guards it against an environment that is ending.
#![expect(
    unsafe_code,
    reason = "another thread writes into memory that the runtime owns"
)]

use std::sync::atomic::{AtomicU32, Ordering};

use crate::failure::{Failure, Outcome};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenWords(*const AtomicU32);

// SAFETY: the memory is only used through atomics, and only while its environment lives: `bump` is
// called under the doorbell line's lock, which the cleanup hook takes before the memory is freed.
unsafe impl Send for TokenWords {}
// SAFETY: as above.
unsafe impl Sync for TokenWords {}

impl TokenWords {
    /// The words at `data`, which has [`BYTES`] bytes that the environment keeps for its life.
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "the alignment is checked before the first use"
    )]
    pub(crate) fn new(data: *mut u8) -> Outcome<Self> {
        let words = data.cast::<AtomicU32>().cast_const();
        if words.is_null() || !words.is_aligned() {
            return Err(Failure::internal(
                "the runtime gave an ArrayBuffer that is not aligned",
            ));
        }
        Ok(Self(words))
    }

    /// Changes one word, which is not 0 after that: 0 means that no token was ever set.
    pub(crate) fn bump(self, index: usize) {
        if index < COUNT {
            // SAFETY: in range, aligned, and alive as `new` and the caller's lock guarantee.
            let word = unsafe { &*self.0.add(index) };
            if word.fetch_add(1, Ordering::Release) == u32::MAX {
                word.fetch_add(1, Ordering::Release);
            }
        }
    }
}

/// The number of words of an environment.
const COUNT: usize = 1024;

/// The size of the words in bytes.
pub(crate) const BYTES: usize = COUNT * size_of::<u32>();
