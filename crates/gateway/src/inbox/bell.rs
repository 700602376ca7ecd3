//! How other threads wake a shard for its mail: at most once per turn, and not at all while one runs, because a turn looks
//! at its end whether there was a wake-up. Knows no mail.

use std::task::Waker;

use crate::sync::{AtomicUsize, Mutex, Ordering};

/// See the module.
pub(super) struct Bell {
    /// The bits below.
    state: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

/// There was a wake-up since the last turn began.
const RUNG: usize = 1;

/// A turn runs.
const TURN: usize = 2;

impl Bell {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
            waker: Mutex::new(None),
        }
    }

    /// Sets what wakes the shard's thread, or nothing.
    pub(super) fn set_waker(&self, waker: Option<Waker>) {
        *self.waker.lock() = waker;
    }

    /// Wakes the shard, unless another wake-up or a turn that runs does it.
    pub(super) fn ring(&self) {
        if self.state.fetch_or(RUNG, Ordering::SeqCst) == 0
            && let Some(waker) = &*self.waker.lock()
        {
            waker.wake_by_ref();
        }
    }

    /// Returns whether there was a wake-up since the last call.
    pub(super) fn turn_begins(&self) -> bool {
        self.state.swap(TURN, Ordering::SeqCst) & RUNG != 0
    }

    /// Returns whether there was a wake-up since the turn began, for which no thread was woken.
    pub(super) fn turn_ends(&self) -> bool {
        self.state.fetch_and(!TURN, Ordering::SeqCst) & RUNG != 0
    }
}
