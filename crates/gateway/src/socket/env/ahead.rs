//! What the turn that runs now will still do. What it does anyway needs no other turn.

use super::Env;

/// See the module. Each contains those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ahead {
    /// Nothing: no turn runs, or everything is done.
    #[default]
    Nothing,
    /// To hand events over to the workers.
    Events,
    /// To call the parts that asked for it.
    Parts,
    /// To write to the connections that have output.
    Writes,
}

impl Env {
    /// Sees to it that a turn does this: the one that runs now, or another one.
    #[inline]
    pub(crate) fn schedule_for(&self, what: Ahead) {
        if self.ahead.get() < what {
            self.schedule();
        }
    }

    /// A turn begins.
    pub(crate) fn turn_begins(&self) {
        self.turn_is_due.set(false);
        self.ahead.set(Ahead::Writes);
    }

    /// If a turn runs, it does no more than this from now on.
    #[inline]
    pub(crate) fn turn_comes_to(&self, ahead: Ahead) {
        self.ahead.set(self.ahead.get().min(ahead));
    }
}
