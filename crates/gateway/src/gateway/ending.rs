//! A gateway's end, requested or caused by a failure: its threads are told to end, and the last one posts the notice.

use std::time::Duration;

use super::{Gateway, State};
use crate::inbox::Command;
use crate::notice::Notice;

/// The phase of a gateway's life.
pub(super) enum Phase {
    /// It runs.
    Running,
    /// It is ending: some of its threads still run.
    Ending,
    /// It does not run.
    Over,
}

impl Gateway {
    /// Ends the gateway: connections are cut and I/O shards end. [`Notice::Stopped`] follows;
    /// after that it may be started again.
    pub fn shutdown(&self) {
        let phase = self.end(&mut self.state.lock());
        match phase {
            Phase::Running => self.end_threads(),
            Phase::Ending => {}
            Phase::Over => self.hub.audience().post(&Notice::Stopped),
        }
    }

    /// Marks the gateway as ended. Returns the phase before: if it ran, the caller has to [end its
    /// threads](Self::end_threads).
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

    /// Waits after [`shutdown`](Self::shutdown) until all its threads have ended, for at most this time; returns
    /// whether they have. For a caller that is about to end itself. Does nothing to a gateway that was started again
    /// meanwhile.
    pub fn join(&self, most: Duration) -> bool {
        let threads = {
            let mut state = self.state.lock();
            if state.config.is_some() {
                return true;
            }
            std::mem::take(&mut state.threads)
        };
        // after the lock is released, because ending threads take it
        threads.join(most)
    }

    /// Whether it was started and not ended.
    fn is_to_run(&self) -> bool {
        self.state.lock().config.is_some()
    }

    /// Ends the whole gateway because a part of it failed: without one shard, channels would lack that shard's
    /// connections, and without its backplane the node would silently be alone.
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

    /// Called when the thread of a shard or of the backplane ends. The last one joins the others and then posts the
    /// notice.
    pub(super) fn thread_ended(&self) {
        let others = {
            let mut state = self.state.lock();
            state.shards_left -= 1;
            (state.shards_left == 0).then(|| (state.threads.others(), state.last.take()))
        };
        if let Some((others, last)) = others {
            for thread in others {
                // the panic was reported by the thread itself
                let _panic = thread.join();
            }
            self.hub.end_compressing();
            self.hub.sum_counters();
            self.hub.inherit(Vec::new());
            self.hub.audience().post(&Notice::Stopped);
            if let Some(last) = last {
                last.post(Notice::Stopped);
            }
        }
    }
}
