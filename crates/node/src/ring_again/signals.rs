//! What the thread and the code that rings tell each other: the rings and answers of a line, and whether the thread is
//! looking. Pure: parks and wakes no thread.

#[cfg(millrace_loom)]
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(millrace_loom))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts the rings and the answers of one line.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    rings: AtomicU64,
    answers: AtomicU64,
}

impl Counts {
    /// Must be called before each ring. [`RingAgain::rung`](super::RingAgain::rung) follows it.
    pub(crate) fn ring(&self) {
        self.rings.fetch_add(1, Ordering::AcqRel);
    }

    /// Must be called for each ring that is answered.
    pub(crate) fn answer(&self) {
        self.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// The number of answers so far, if one is missing.
    pub(super) fn waiting(&self) -> Option<u64> {
        let answers = self.answers.load(Ordering::Acquire);
        (self.rings.load(Ordering::Acquire) != answers).then_some(answers)
    }
}

/// Whether the thread looks, or will look before it sleeps.
#[derive(Debug, Default)]
pub(super) struct Awake(AtomicBool);

impl Awake {
    /// The thread begins a look: it sees the rings before this call and is told about the rings after it.
    pub(super) fn look_begins(&self) {
        self.0.swap(false, Ordering::AcqRel);
    }

    /// Records a ring. Returns true if the thread may be asleep and must be woken.
    pub(super) fn rung(&self) -> bool {
        // this write is always needed: the swap that begins a look sees it, or it sees that swap
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether there was a ring since the look began.
    pub(super) fn is_rung(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: every interleaving of ringing, answering and looking.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
