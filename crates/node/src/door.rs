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
use std::sync::{Arc, Weak};

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
    bell: Bell,
    life: Arc<Life>,
    /// The counts by which lost rings are found, if the runtime loses rings.
    counts: Option<Counts>,
}

#[derive(Debug)]
enum Bell {
    Function(Function),
    #[cfg(unix)]
    Handle(Handle),
}

/// Whether an environment may still be rung: the runtimes abort or misbehave if one is that is ending.
#[derive(Debug, Default)]
struct Life {
    /// Read-locked during every ring, and write-locked by the first code that notices the end.
    dead: RwLock<bool>,
}

/// One object that can ring: a worker, or a gateway with notices.
#[derive(Debug)]
pub(crate) struct Door {
    line: Arc<Line>,
    source: usize,
}

impl Life {
    fn end(&self) {
        *self.dead.write() = true;
    }

    fn is_over(&self) -> bool {
        *self.dead.read()
    }
}

impl Line {
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
        let function = Function::new(js, name, callbacks, context)?;
        function.release(js)?;
        let line = Arc::new(Self {
            bell: Bell::Function(function),
            life: Arc::default(),
            counts: again.then(Counts::default),
        });
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
        let life = Arc::<Life>::default();
        let ending = Arc::clone(&life);
        let calls = Calls {
            answer,
            ended: Box::new(move || ending.end()),
        };
        Ok(Arc::new(Self {
            bell: Bell::Handle(Handle::open(js, libuv, name, calls)?),
            life,
            counts: None,
        }))
    }

    /// Keeps the process running.
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        match &self.bell {
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
        match &self.bell {
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
        self.life.end();
    }

    /// Calls `work` unless the environment has ended. The environment cannot end during the call.
    pub(crate) fn while_alive(&self, work: impl FnOnce()) {
        let dead = self.life.dead.read();
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
        self.while_alive(|| match &self.bell {
            // SAFETY: the lock that is held here keeps the environment from ending.
            Bell::Function(function) => unsafe { function.ring(source) },
            #[cfg(unix)]
            // SAFETY: as above. The thread that is woken does not wait for the lock: only the end locks it for writing.
            Bell::Handle(handle) => unsafe { handle.ring(source) },
        });
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
        self.life.is_over()
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
