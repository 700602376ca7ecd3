//! The doorbell: how any thread wakes a JavaScript thread. Owns the environment's one
//! `ThreadsafeFunction` and the lock that guards it against a dying environment; never drains.
#![expect(
    unsafe_code,
    reason = "a ThreadsafeFunction is used from threads that have no environment"
)]

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, OnceLock, Weak};

use millrace_gateway::Doorbell;
use napi::sys;
use parking_lot::RwLock;

use crate::addon::ADDON;
use crate::failure::{Failure, Outcome, check};
use crate::js::{Finalizer, Js};
use crate::ring_again::{Counts, Rung};

/// An environment's `ThreadsafeFunction`, shared by everything that rings there.
#[derive(Debug)]
pub(crate) struct Line {
    function: OnceLock<Function>,
    /// Read-locked across every ring, write-locked by whoever notices the end first: the runtimes
    /// abort or answer nonsense when a dying environment is rung.
    dead: RwLock<bool>,
    /// Where rings get lost: what is counted to find those.
    counts: Option<Counts>,
}

#[derive(Debug)]
struct Function(sys::napi_threadsafe_function);

// SAFETY: Node-API documents `napi_call_threadsafe_function` for any thread; everything else that is
// done with it happens on the environment's thread.
unsafe impl Send for Function {}
// SAFETY: as above; calls from several threads at once are what it is for.
unsafe impl Sync for Function {}

/// One thing that can ring: a worker, or a gateway with notices.
#[derive(Debug)]
pub(crate) struct Door {
    line: Arc<Line>,
    source: usize,
}

/// What the runtime calls on the environment's thread after a ring.
pub(crate) type Answer =
    unsafe extern "C" fn(sys::napi_env, sys::napi_value, *mut c_void, *mut c_void);

impl Line {
    /// A line that calls `answer` with `context` and the source's number, or [`NUDGE`] if `again` says that
    /// rings get lost here, and `ended` with `context` when the runtime is done with it. It does not keep the process
    /// running until [`hold`](Self::hold).
    pub(crate) fn open(
        js: Js<'_>,
        (answer, ended): (Answer, Finalizer),
        context: *mut c_void,
        again: bool,
    ) -> Outcome<Arc<Self>> {
        let name = js.string("millrace")?;
        let line = Arc::new(Self {
            function: OnceLock::new(),
            dead: RwLock::new(false),
            counts: again.then(Counts::default),
        });
        let mut function = ptr::null_mut();
        // SAFETY: `js` proves a live environment on this thread. No function is given because `answer`
        // finds its own; the queue is unbounded but never holds more than one ring per source. Whoever gave the
        // two callbacks has made them for `context`.
        check(unsafe {
            sys::napi_create_threadsafe_function(
                js.env(),
                ptr::null_mut(),
                ptr::null_mut(),
                name.raw(),
                0,
                1,
                context,
                Some(ended),
                context,
                Some(answer),
                &raw mut function,
            )
        })?;
        if function.is_null() {
            return Err(Failure::Abandoned);
        }
        line.function
            .set(Function(function))
            .expect("the line was made above and has no function yet");
        line.release(js)?;
        if again {
            let watched: Weak<dyn Rung> = Arc::<Self>::downgrade(&line);
            ADDON.ring_again().watch(watched).map_err(|error| {
                Failure::internal(&format!("a thread could not be started: {error}"))
            })?;
        }
        Ok(line)
    }

    /// Keeps the process running.
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        // SAFETY: `js` proves a live environment, which is the one the function was made in.
        check(unsafe { sys::napi_ref_threadsafe_function(js.env(), self.function()) })
    }

    /// Lets the process end.
    pub(crate) fn release(&self, js: Js<'_>) -> Outcome<()> {
        // SAFETY: as in `hold`.
        check(unsafe { sys::napi_unref_threadsafe_function(js.env(), self.function()) })
    }

    /// The environment or the function is going away: nobody rings from now on, and no ring is in flight on return.
    pub(crate) fn cut(&self) {
        *self.dead.write() = true;
    }

    /// Does `work` unless the environment is gone; it cannot go away meanwhile.
    pub(crate) fn while_alive(&self, work: impl FnOnce()) {
        let dead = self.dead.read();
        if !*dead {
            work();
        }
    }

    /// The runtime has come for a ring, of whatever source.
    pub(crate) fn answered(&self) {
        if let Some(counts) = &self.counts {
            counts.answer();
        }
    }

    fn ring(&self, source: usize) {
        let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
        let source = ptr::without_provenance_mut::<c_void>(source);
        self.while_alive(|| {
            // SAFETY: the function lives until the environment goes away, which the lock held here excludes.
            // Any failure means that the environment is closing: its cleanup hook retires what rings here.
            let _closing =
                unsafe { sys::napi_call_threadsafe_function(self.function(), source, mode) };
        });
    }

    fn function(&self) -> sys::napi_threadsafe_function {
        self.function.get().expect("set before `open` returns").0
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

/// The number of no source: wakes the thread.
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
