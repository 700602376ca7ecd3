//! What the thread and whoever rings tell each other: rings and answers of a line, and whether the thread looks. Pure: parks
//! and wakes nobody.

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
    /// To be called before each ring; [`RingAgain::rung`](super::RingAgain::rung) comes after it.
    pub(crate) fn ring(&self) {
        self.rings.fetch_add(1, Ordering::AcqRel);
    }

    /// To be called for each ring that is answered.
    pub(crate) fn answer(&self) {
        self.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// How many answers there were, if one is missing.
    pub(super) fn waiting(&self) -> Option<u64> {
        let answers = self.answers.load(Ordering::Acquire);
        (self.rings.load(Ordering::Acquire) != answers).then_some(answers)
    }
}

/// Whether the thread looks, or will before it sleeps.
#[derive(Debug, Default)]
pub(super) struct Awake(AtomicBool);

impl Awake {
    /// The thread begins a look: it sees what was rung before this, and is told of what is rung after it.
    pub(super) fn look_begins(&self) {
        self.0.swap(false, Ordering::AcqRel);
    }

    /// Something was rung. True: the thread may sleep, and is to be woken.
    pub(super) fn rung(&self) -> bool {
        // always a change: either it follows the one that begins a look, or that one sees all that came before it
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Whether something was rung since the look began.
    pub(super) fn is_rung(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`: every interleaving of ringing, answering and looking.
#[cfg(all(test, millrace_loom))]
mod loom_tests;
