//! The doorbell: how any thread wakes a JavaScript thread. Owns the environment's one bell, a handle of its event loop or
//! a `ThreadsafeFunction`, and the lock that guards it against an environment that is ending; never drains.
#![expect(
    unsafe_code,
    reason = "a bell may be rung only while its environment lives"
)]

mod function;
#[cfg(unix)]
mod handle;
#[cfg(unix)]
mod libuv;
#[cfg(unix)]
mod rings;

use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};

use millrace_gateway::Doorbell;
use parking_lot::RwLock;

use crate::addon::ADDON;
use crate::failure::{Failure, Outcome};
use crate::js::{Finalizer, Js};
use crate::ring_again::{Counts, Rung};
pub(crate) use function::Answer;
use function::Function;
#[cfg(unix)]
use handle::{Calls, Handle};
#[cfg(unix)]
pub(crate) use libuv::Libuv;
#[cfg(unix)]
pub(crate) use rings::PLACES;

/// An environment's bell, which all doorbells of the environment share.
#[derive(Debug)]
pub(crate) struct Line {
    bell: OnceLock<Bell>,
    /// Read-locked during every ring, and write-locked by the first code that notices the end: the runtimes abort or
    /// misbehave if an ending environment is rung.
    dead: RwLock<bool>,
    /// The counts by which lost rings are found, if the runtime loses rings.
    counts: Option<Counts>,
}

#[derive(Debug)]
enum Bell {
    Function(Function),
    #[cfg(unix)]
    Handle(Handle),
}

/// One object that can ring: a worker, or a gateway with notices.
#[derive(Debug)]
pub(crate) struct Door {
    line: Arc<Line>,
    source: usize,
}

impl Line {
    fn new(counts: Option<Counts>) -> Arc<Self> {
        Arc::new(Self {
            bell: OnceLock::new(),
            dead: RwLock::new(false),
            counts,
        })
    }

    /// Opens a line. The runtime calls `answer` with `context` and the number of the source that rang, or [`NUDGE`],
    /// which occurs only if `again` is given because rings get lost here. It calls `ended` with `context` when it is
    /// done with the line. The line does not keep the process running until [`hold`](Self::hold).
    pub(crate) fn open(
        js: Js<'_>,
        callbacks: (Answer, Finalizer),
        context: *mut c_void,
        again: bool,
    ) -> Outcome<Arc<Self>> {
        let name = js.string(NAME)?;
        let line = Self::new(again.then(Counts::default));
        let function = Function::new(js, name, callbacks, context)?;
        function.release(js)?;
        line.set(Bell::Function(function));
        if again {
            let watched: Weak<dyn Rung> = Arc::<Self>::downgrade(&line);
            ADDON.ring_again().watch(watched).map_err(|error| {
                Failure::internal(&format!("a thread could not be started: {error}"))
            })?;
        }
        Ok(line)
    }

    /// Opens a line to a thread with an event loop of libuv, in the same way. `answer` is called with the place of a source
    /// that rang: its number modulo [`PLACES`]. It must not panic.
    #[cfg(unix)]
    pub(crate) fn open_at_loop(
        js: Js<'_>,
        libuv: Libuv,
        answer: Box<dyn Fn(Js<'_>, usize)>,
    ) -> Outcome<Arc<Self>> {
        let name = js.string(NAME)?;
        let line = Self::new(None);
        let ending = Arc::clone(&line);
        let calls = Calls {
            answer,
            ended: Box::new(move || ending.cut()),
        };
        line.set(Bell::Handle(Handle::open(js, libuv, name, calls)?));
        Ok(line)
    }

    fn set(&self, bell: Bell) {
        self.bell
            .set(bell)
            .expect("the line was just made and has no bell yet");
    }

    /// Keeps the process running.
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        match self.bell() {
            Bell::Function(function) => function.hold(js),
            #[cfg(unix)]
            Bell::Handle(handle) => {
                // SAFETY: `js` proves the thread, and the handle is closed after the end is noted.
                self.while_alive(|| unsafe { handle.hold() });
                Ok(())
            }
        }
    }

    /// Lets the process end.
    pub(crate) fn release(&self, js: Js<'_>) -> Outcome<()> {
        match self.bell() {
            Bell::Function(function) => function.release(js),
            #[cfg(unix)]
            Bell::Handle(handle) => {
                // SAFETY: as in `hold`.
                self.while_alive(|| unsafe { handle.release() });
                Ok(())
            }
        }
    }

    /// Closes the line, because the environment or its bell is ending. Nobody rings from now on, and no ring is in flight
    /// when this returns.
    pub(crate) fn cut(&self) {
        *self.dead.write() = true;
    }

    /// Calls `work` unless the environment has ended. The environment cannot end during the call.
    pub(crate) fn while_alive(&self, work: impl FnOnce()) {
        let dead = self.dead.read();
        if !*dead {
            work();
        }
    }

    /// Records that the runtime has called back for a ring, of whatever source.
    pub(crate) fn answered(&self) {
        if let Some(counts) = &self.counts {
            counts.answer();
        }
    }

    fn ring(&self, source: usize) {
        self.while_alive(|| match self.bell() {
            // SAFETY: the lock that is held here keeps the environment from ending.
            Bell::Function(function) => unsafe { function.ring(source) },
            #[cfg(unix)]
            // SAFETY: as above. The thread that is woken does not wait for the lock: only the end locks it for writing.
            Bell::Handle(handle) => unsafe { handle.ring(source) },
        });
    }

    fn bell(&self) -> &Bell {
        self.bell.get().expect("set before the line is returned")
    }
}

impl Rung for Line {
    fn counts(&self) -> &Counts {
        self.counts
            .as_ref()
            .expect("only lines that count are watched")
    }

    fn nudge(&self) {
        self.ring(NUDGE);
    }

    fn is_over(&self) -> bool {
        *self.dead.read()
    }
}

/// What asynchronous hooks show for callbacks of a line.
const NAME: &str = "millrace";

/// A number that no source has. It only wakes the thread.
pub(crate) const NUDGE: usize = usize::MAX;

impl Door {
    pub(crate) fn new(line: Arc<Line>, source: usize) -> Self {
        Self { line, source }
    }
}

impl Doorbell for Door {
    fn ring(&self) {
        let Some(counts) = &self.line.counts else {
            return self.line.ring(self.source);
        };
        counts.ring();
        self.line.ring(self.source);
        ADDON.ring_again().rung();
    }
}
