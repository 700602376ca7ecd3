//! The doorbell: how any thread wakes a JavaScript thread. Owns the environment's one bell, a signal of its event loop or
//! a `ThreadsafeFunction`, and the lock that guards its memory against an environment that is ending; never drains.

mod function;
#[cfg(unix)]
mod rings;
#[cfg(unix)]
mod signal;

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use millrace_gateway::Doorbell;
#[cfg(unix)]
pub(crate) use millrace_sockets::Libuv;
use parking_lot::RwLock;

use crate::addon::ADDON;
use crate::failure::{Failure, Outcome};
use crate::js::{Finalizer, Js};
use crate::ring_again::{Counts, Rung};
pub(crate) use function::Answer;
use function::Function;
#[cfg(unix)]
pub(crate) use rings::PLACES;
#[cfg(unix)]
use signal::Signal;

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
    Signal(Signal),
}

/// Whether an environment may still be rung: the runtimes abort or misbehave if one is that is ending.
#[derive(Debug, Default)]
struct Life {
    /// Read-locked while something of the environment is used, and write-locked by the first code that notices the end.
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

    fn while_alive(&self, work: impl FnOnce()) {
        let dead = self.dead.read();
        if !*dead {
            work();
        }
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
        let life = Arc::default();
        let function = Function::new(js, name, callbacks, context, &life)?;
        function.release(js)?;
        let opened = Arc::new(Self {
            bell: Bell::Function(function),
            life,
            counts: again.then(Counts::default),
        });
        if again {
            let watched: Weak<dyn Rung> = Arc::<Self>::downgrade(&opened);
            ADDON.ring_again().watch(watched).map_err(|error| {
                Failure::internal(&format!("a thread could not be started: {error}"))
            })?;
        }
        Ok(opened)
    }

    /// Opens a line to a thread with an event loop of libuv, in the same way. `answer` is called with the place of a source
    /// that rang: its number modulo [`PLACES`]. It must not panic.
    #[cfg(unix)]
    pub(crate) fn open_at_loop(
        js: Js<'_>,
        libuv: Libuv,
        answer: impl Fn(Js<'_>, usize) + 'static,
    ) -> Outcome<Arc<Self>> {
        let name = js.string(NAME)?;
        let life = Arc::default();
        Ok(Arc::new(Self {
            bell: Bell::Signal(Signal::open(js, libuv, name, &life, answer)?),
            life,
            counts: None,
        }))
    }

    /// Keeps the process running.
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        match &self.bell {
            Bell::Function(function) => function.hold(js),
            #[cfg(unix)]
            Bell::Signal(signal) => {
                signal.hold();
                Ok(())
            }
        }
    }

    /// Lets the process end.
    pub(crate) fn release(&self, js: Js<'_>) -> Outcome<()> {
        match &self.bell {
            Bell::Function(function) => function.release(js),
            #[cfg(unix)]
            Bell::Signal(signal) => {
                signal.release();
                Ok(())
            }
        }
    }

    /// Closes the line, because the environment or its bell is ending. Nobody rings from now on, and no ring is in flight
    /// when this returns.
    pub(crate) fn cut(&self) {
        self.life.end();
        #[cfg(unix)]
        if let Bell::Signal(signal) = &self.bell {
            signal.close();
        }
    }

    /// Calls `work` unless the environment has ended. The environment cannot end during the call.
    pub(crate) fn while_alive(&self, work: impl FnOnce()) {
        self.life.while_alive(work);
    }

    /// Records that the runtime has called back for a ring, of whatever source.
    pub(crate) fn answered(&self) {
        if let Some(counts) = &self.counts {
            counts.answer();
        }
    }

    fn ring(&self, source: usize) {
        match &self.bell {
            Bell::Function(function) => function.ring(source),
            #[cfg(unix)]
            Bell::Signal(signal) => signal.ring(source),
        }
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
