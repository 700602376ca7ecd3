//! The threads that compress long messages, so that no I/O thread does: they start when the first such message comes, and
//! end with the gateway. Their queue is bounded by bytes. They know no connection: they fill a [`Late`] frame and tell the
//! shards that wait for it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use millrace_protocol::websocket::deflate::History;

use super::Hub;
use crate::frame::{Encoding, Frame, Late, Publication};
use crate::inbox::Command;
use crate::limits::ENTRY_CHARGE;
use crate::sync::{Condvar, Mutex, wait_for};

/// A message to be compressed.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) publication: Publication,
    pub(crate) encoding: Encoding,
    pub(crate) late: Late,
    /// What the message may refer to, if it has one recipient with context takeover.
    pub(crate) history: Option<Box<History>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Compressing {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    /// The charge of all jobs, those in progress included.
    bytes: usize,
    threads: Vec<JoinHandle<()>>,
    /// Threads that wait for a job.
    idle: usize,
    ends: bool,
}

impl Job {
    fn charge(&self) -> usize {
        self.publication.payload().len() + ENTRY_CHARGE
    }
}

impl Compressing {
    /// Queues a job; returns whether a thread is missing. `Err`: more than `most` bytes would wait.
    fn push(&self, job: Job, most: usize) -> Result<bool, Job> {
        let mut state = self.state.lock();
        let charge = job.charge();
        // one message always fits into an empty queue
        if state.ends || (state.bytes > 0 && state.bytes.saturating_add(charge) > most) {
            return Err(job);
        }
        state.bytes += charge;
        state.jobs.push_back(job);
        let missing = state.idle < state.jobs.len() && state.threads.len() < most_threads();
        drop(state);
        self.bell.notify_one();
        Ok(missing)
    }

    /// Waits for the next job; `None`: the gateway ends.
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.ends {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            state = wait_for(&self.bell, state);
            state.idle -= 1;
        }
    }

    fn done(&self, charge: usize) {
        self.state.lock().bytes -= charge;
    }

    /// Takes the newest job back, because no thread could be started.
    fn take_back(&self) -> Vec<Job> {
        let mut state = self.state.lock();
        if !state.threads.is_empty() {
            return Vec::new();
        }
        state.bytes = 0;
        std::mem::take(&mut state.jobs).into()
    }

    /// Counts bytes as if they were being compressed.
    #[cfg(test)]
    pub(crate) fn occupy(&self, bytes: usize) {
        self.state.lock().bytes += bytes;
    }

    #[cfg(test)]
    pub(crate) fn threads(&self) -> usize {
        self.state.lock().threads.len()
    }
}

impl Hub {
    /// Has a message compressed on another thread; at most `most` bytes wait for that. `Err`: there is no room, or no
    /// thread can be started.
    pub(crate) fn compress_later(self: &Arc<Self>, job: Job, most: usize) -> Result<(), Job> {
        let missing = self.compressing.push(job, most)?;
        if missing && let Err(error) = self.start_compressing() {
            tracing::warn!(target: "millrace::gateway", %error, "a compressing thread could not start");
            // nobody takes the jobs, so they are sent as they are
            for job in self.compressing.take_back() {
                self.settle(&job.late, None, job.history);
            }
        }
        Ok(())
    }

    fn start_compressing(self: &Arc<Self>) -> std::io::Result<()> {
        let mut state = self.compressing.state.lock();
        if state.ends || state.threads.len() >= most_threads() {
            return Ok(());
        }
        let hub = Arc::clone(self);
        let name = format!("millrace-deflate-{}", state.threads.len());
        let thread = thread::Builder::new().name(name);
        state
            .threads
            .push(thread.spawn(move || hub.compress_all())?);
        Ok(())
    }

    /// What a thread does until the gateway ends.
    fn compress_all(&self) {
        while let Some(job) = self.compressing.next() {
            let charge = job.charge();
            self.compress(job);
            self.compressing.done(charge);
        }
    }

    fn compress(&self, job: Job) {
        let Job {
            publication,
            encoding,
            late,
            mut history,
        } = job;
        let made = catch_unwind(AssertUnwindSafe(|| {
            let before = history.as_deref().map_or(&[][..], History::bytes);
            self.compress_now(&publication, encoding, before)
        }));
        // a bug costs the compression, not the message
        let frame = made.unwrap_or_default();
        if let (Some(history), Some(_)) = (&mut history, &frame) {
            history.push(publication.payload());
        }
        self.settle(&late, frame, history);
    }

    /// The frame of a message in an encoding that compresses; `None`: it would not be shorter.
    pub(crate) fn compress_now(
        &self,
        publication: &Publication,
        encoding: Encoding,
        history: &[u8],
    ) -> Option<Frame> {
        let compressed = self.encodings.compression(encoding)?;
        let message = (publication.kind(), publication.payload());
        let counts = self.encodings.compression_counts();
        let bytes = compressed.frame(message, history, counts)?;
        Some(Frame::uncounted(bytes))
    }

    /// Sets what becomes of a message, and tells the shards that wait for it.
    pub(crate) fn settle(&self, late: &Late, frame: Option<Frame>, history: Option<Box<History>>) {
        let mut waiting = late.fill(frame, history);
        for shard in waiting.iter() {
            self.inboxes.post(shard, Command::Settle(late.clone()));
        }
        self.wake(&mut waiting);
    }

    /// Ends the compressing threads; the last I/O thread calls it. Messages that wait have no recipients any more.
    pub(crate) fn end_compressing(&self) {
        let (threads, jobs) = {
            let mut state = self.compressing.state.lock();
            state.ends = true;
            (
                std::mem::take(&mut state.threads),
                std::mem::take(&mut state.jobs),
            )
        };
        drop(jobs);
        self.compressing.bell.notify_all();
        for thread in threads {
            // a panic was reported by the thread itself
            let _panic = thread.join();
        }
        // the gateway may be started again
        *self.compressing.state.lock() = State::default();
    }

    #[cfg(test)]
    pub(crate) fn compressing(&self) -> &Compressing {
        &self.compressing
    }
}

/// Half of the processors, at least 1 and at most 4.
fn most_threads() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, 4)
}
