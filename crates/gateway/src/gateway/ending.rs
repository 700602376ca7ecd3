//! A gateway's end, wanted or not: it is told to its threads, and the last one of them says that it is there.

use std::time::Duration;

use super::{Gateway, State};
use crate::inbox::Command;
use crate::notice::Notice;

/// What a gateway does.
pub(super) enum Phase {
    /// It is started.
    Running,
    /// Threads of its end still run.
    Ending,
    /// Nothing.
    Over,
}

impl Gateway {
    /// Ends everything: connections are cut, I/O shards end. [`Notice::Stopped`] follows; then it
    /// may be started again.
    pub fn shutdown(&self) {
        let phase = self.end(&mut self.state.lock());
        match phase {
            Phase::Running => self.end_threads(),
            Phase::Ending => {}
            Phase::Over => self.hub.audience().post(&Notice::Stopped),
        }
    }

    /// Nobody can use it any more. Returns what it did before: one that ran has to [end its threads](Self::end_threads).
    pub(super) fn end(&self, state: &mut State) -> Phase {
        state.listeners.clear();
        self.hub.set_shards(0);
        match (state.config.take(), state.shards_left) {
            (Some(_), _) => Phase::Running,
            (None, 0) => Phase::Over,
            (None, _) => Phase::Ending,
        }
    }

    pub(super) fn end_threads(&self) {
        self.backplane.end();
        self.hub.inboxes().post_all(|| Command::End);
    }

    /// Waits until none of its threads is left, after [`shutdown`](Self::shutdown) and at most so long; whether none is.
    /// For who is about to end and has nothing else to do. One that was started again meanwhile is left alone.
    pub fn join(&self, most: Duration) -> bool {
        let threads = {
            let mut state = self.state.lock();
            if state.config.is_some() {
                return true;
            }
            std::mem::take(&mut state.threads)
        };
        // not under the lock, which threads that end take
        threads.join(most)
    }

    /// Whether it was started and nobody has ended it.
    fn is_to_run(&self) -> bool {
        self.state.lock().config.is_some()
    }

    /// Channels that lack one shard's connections are no gateway, nor is one of several that silently is alone: it ends
    /// as a whole.
    pub(super) fn part_failed(&self, message: String) {
        self.hub.audience().post(&Notice::Error {
            code: "ERR_MILLRACE_SHARD_FAILED",
            message,
        });
        self.shutdown();
    }

    pub(super) fn backplane_ended(&self, outcome: Result<(), String>) {
        match outcome {
            Err(message) => self.part_failed(message),
            Ok(()) if self.is_to_run() => {
                self.part_failed("the backplane ended by itself; the gateway ends".to_owned());
            }
            Ok(()) => {}
        }
        self.thread_ended();
    }

    /// A shard's thread, or the backplane's, is over. The last one joins the others, and then says so.
    pub(super) fn thread_ended(&self) {
        let others = {
            let mut state = self.state.lock();
            state.shards_left -= 1;
            (state.shards_left == 0).then(|| (state.threads.others(), state.last.take()))
        };
        if let Some((others, last)) = others {
            for thread in others {
                // whatever it panicked with was reported where it ran
                let _panic = thread.join();
            }
            self.hub.sum_counters();
            self.hub.inherit(Vec::new());
            self.hub.audience().post(&Notice::Stopped);
            if let Some(last) = last {
                last.post(Notice::Stopped);
            }
        }
    }
}
