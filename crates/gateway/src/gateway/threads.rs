//! The threads of a gateway: their handles, and when all of them have ended. Starts and ends none.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// See the module.
pub(crate) struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// Nothing is ever sent: the channel closes when every thread has dropped its sender.
    over: Receiver<Infallible>,
    alive: Sender<Infallible>,
}

/// Held by a thread until it has nothing left to do.
#[expect(dead_code, reason = "its existence is the information")]
pub(crate) struct Alive(Sender<Infallible>);

impl Threads {
    /// For a thread that is about to be started.
    pub(crate) fn alive(&self) -> Alive {
        Alive(self.alive.clone())
    }

    /// Adds a thread that was started.
    pub(crate) fn add(&mut self, thread: JoinHandle<()>) {
        self.handles.push(thread);
    }

    /// Takes the handles of all threads but the calling one.
    pub(crate) fn others(&mut self) -> Vec<JoinHandle<()>> {
        let own = thread::current().id();
        let (own, others) = mem::take(&mut self.handles)
            .into_iter()
            .partition(|handle| handle.thread().id() == own);
        self.handles = own;
        others
    }

    /// Waits until all threads have ended, for at most this time; returns whether they have. The others keep running.
    pub(crate) fn join(self, most: Duration) -> bool {
        let Self {
            handles,
            over,
            alive,
        } = self;
        drop(alive);
        if over.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
            return false;
        }
        for thread in handles {
            // the thread has nothing left to do, so this does not block; a panic was already reported
            let _panic = thread.join();
        }
        true
    }
}

impl Default for Threads {
    fn default() -> Self {
        let (alive, over) = channel();
        let handles = Vec::new();
        Self {
            handles,
            over,
            alive,
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads")
            .field("handles", &self.handles)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_returns_whether_all_threads_have_ended() {
        let start = |threads: &mut Threads| {
            let (go, wait) = channel::<()>();
            let alive = threads.alive();
            threads.add(thread::spawn(move || {
                let _alive = alive;
                let _until_dropped = wait.recv();
            }));
            go
        };
        let mut threads = Threads::default();
        let go = start(&mut threads);
        assert!(!threads.join(Duration::from_millis(1)));
        drop(go);
        let mut threads = Threads::default();
        drop((start(&mut threads), start(&mut threads)));
        assert!(threads.join(Duration::from_secs(60)));
    }

    #[test]
    fn others_are_all_but_the_caller() {
        let mut threads = Threads::default();
        threads.add(thread::spawn(|| {}));
        let others = threads.others();
        assert_eq!(others.len(), 1);
        assert!(threads.handles.is_empty());
        for thread in others {
            thread.join().expect("the thread does nothing");
        }
    }
}
