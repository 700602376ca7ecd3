//! Repeats unanswered rings for a runtime that loses rings: Deno's event loop first looks for what
//! other threads gave it and registers its waker afterwards (`V8TaskSpawnerFactory` of Deno 2.9). A
//! ring between the two is queued and wakes nobody until the next ring. Owns the one thread that looks
//! for such rings and sleeps while there are none; knows nothing about Node-API.

mod signals;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;

use signals::Awake;
pub(crate) use signals::Counts;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct RingAgain(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Lines that the thread has not seen yet.
    new: Mutex<Vec<Weak<dyn Rung>>>,
    thread: OnceLock<Thread>,
    awake: Awake,
}

/// An object that is rung.
pub(crate) trait Rung: Send + Sync {
    /// Its counts of rings and answers.
    fn counts(&self) -> &Counts;

    /// Wakes the thread that must answer, without being a ring. May be called at any time.
    fn nudge(&self);

    /// Whether it will never be answered again.
    fn is_over(&self) -> bool;
}

impl std::fmt::Debug for dyn Rung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rung")
    }
}

/// A line and what the thread knows about it.
#[derive(Debug)]
struct Watched {
    line: Weak<dyn Rung>,
    answers: u64,
    /// The number of consecutive looks that found a ring unanswered and no new answer to an earlier
    /// one.
    silent: u32,
}

impl RingAgain {
    /// Watches `line` until it is over. The first call starts the thread.
    pub(crate) fn watch(&self, line: Weak<dyn Rung>) -> io::Result<()> {
        let shared = &self.0;
        let mut new = shared.new.lock();
        new.push(line);
        if shared.thread.get().is_none() {
            let on_thread = Arc::clone(shared);
            let started = thread::Builder::new()
                .name("millrace-rings".to_owned())
                .spawn(move || on_thread.run())?;
            shared.thread.get_or_init(|| started.thread().clone());
        }
        Ok(())
    }

    /// Reports that a watched line was rung.
    pub(crate) fn rung(&self) {
        // the thread exists, because a line is watched
        if self.0.awake.rung()
            && let Some(thread) = self.0.thread.get()
        {
            thread.unpark();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut watched = Vec::new();
        loop {
            self.awake.look_begins();
            // a bug in one line must not end the looks at the others
            let waits = catch_unwind(AssertUnwindSafe(|| self.look(&mut watched)));
            if waits.is_err() {
                tracing::error!(target: "millrace::worker", "a bug ended a look for unanswered rings");
            }
            if !waits.unwrap_or(true) {
                while !self.awake.is_rung() {
                    thread::park();
                }
            }
            thread::sleep(LOOK);
        }
    }

    /// Nudges lines that have been silent for too long. Returns whether an answer is missing.
    fn look(&self, watched: &mut Vec<Watched>) -> bool {
        watched.extend(self.new.lock().drain(..).map(|line| Watched {
            line,
            answers: 0,
            silent: 0,
        }));
        let mut waiting = false;
        watched.retain_mut(|one| {
            let Some(line) = one.line.upgrade().filter(|line| !line.is_over()) else {
                return false;
            };
            match line.counts().waiting() {
                None => one.silent = 0,
                Some(answers) => {
                    waiting = true;
                    one.silent = if answers == one.answers {
                        one.silent.saturating_add(1)
                    } else {
                        0
                    };
                    one.answers = answers;
                    // nudges get rarer and rarer, so a thread that is busy for long gets few of them
                    if one.silent.is_power_of_two() {
                        line.nudge();
                    }
                }
            }
            true
        });
        waiting
    }
}

/// The time between two looks. A lost ring delays its events by at most twice this time.
const LOOK: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Answers nothing, and reports its nudges.
    #[derive(Debug)]
    struct Line {
        counts: Counts,
        over: AtomicBool,
        /// Whether the next nudge panics.
        breaks: AtomicBool,
        nudges: Sender<()>,
    }

    impl Rung for Line {
        fn counts(&self) -> &Counts {
            &self.counts
        }

        fn nudge(&self) {
            let breaks = self.breaks.swap(false, Ordering::SeqCst);
            assert!(!breaks, "this panic is part of the test");
            self.nudges.send(()).expect("the test listens");
        }

        fn is_over(&self) -> bool {
            self.over.load(Ordering::SeqCst)
        }
    }

    fn line() -> (Arc<Line>, Receiver<()>) {
        let (nudges, received) = channel();
        let line = Line {
            counts: Counts::default(),
            over: AtomicBool::new(false),
            breaks: AtomicBool::new(false),
            nudges,
        };
        (Arc::new(line), received)
    }

    fn watched(line: &Arc<Line>) -> Vec<Watched> {
        let line: Weak<dyn Rung> = Arc::<Line>::downgrade(line);
        vec![Watched {
            line,
            answers: 0,
            silent: 0,
        }]
    }

    #[test]
    fn a_lost_ring_is_followed_by_a_nudge() {
        let (line, nudged) = line();
        let again = RingAgain::default();
        again
            .watch(Arc::<Line>::downgrade(&line))
            .expect("a thread");
        for _ in 0..3 {
            line.counts.ring();
            again.rung();
            nudged
                .recv_timeout(Duration::from_secs(30))
                .expect("a nudge");
            line.counts.answer();
        }
    }

    #[test]
    fn a_panic_in_a_nudge_does_not_end_the_looks() {
        let ((broken, _), (line, nudged)) = (line(), line());
        broken.breaks.store(true, Ordering::SeqCst);
        let again = RingAgain::default();
        for line in [&broken, &line] {
            again.watch(Arc::<Line>::downgrade(line)).expect("a thread");
            line.counts.ring();
        }
        again.rung();
        nudged
            .recv_timeout(Duration::from_secs(30))
            .expect("a nudge");
        assert!(!broken.breaks.load(Ordering::SeqCst), "the nudge panicked");
        line.over.store(true, Ordering::SeqCst);
        broken.over.store(true, Ordering::SeqCst);
    }

    #[test]
    fn a_silent_line_is_nudged_ever_more_rarely() {
        let (line, nudged) = line();
        let mut watched = watched(&line);
        let shared = Shared::default();
        line.counts.ring();
        for _ in 0..1000 {
            assert!(shared.look(&mut watched));
        }
        // after 1, 2, 4, … 512 looks
        assert_eq!(nudged.try_iter().count(), 10);
    }

    #[test]
    fn a_line_that_answers_in_time_is_not_nudged() {
        let (line, nudged) = line();
        let mut watched = watched(&line);
        let shared = Shared::default();
        assert!(!shared.look(&mut watched));
        for _ in 0..100 {
            line.counts.ring();
            line.counts.ring();
            line.counts.answer();
            assert!(shared.look(&mut watched));
            line.counts.answer();
            assert!(!shared.look(&mut watched));
        }
        assert_eq!(nudged.try_iter().count(), 0);
    }

    #[test]
    fn a_line_that_is_over_is_removed() {
        let (line, nudged) = line();
        let mut watched = watched(&line);
        let shared = Shared::default();
        line.counts.ring();
        line.over.store(true, Ordering::SeqCst);
        assert!(!shared.look(&mut watched));
        assert!(watched.is_empty());
        assert_eq!(nudged.try_iter().count(), 0);
    }
}
