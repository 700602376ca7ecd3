//! The doorbell: how any thread wakes a JavaScript thread. Owns the environment's one `ThreadsafeFunction` and the
//! lock that guards it against an environment that is ending; never drains.
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

/// An environment's `ThreadsafeFunction`, which all doorbells of the environment share.
#[derive(Debug)]
pub(crate) struct Line {
    function: OnceLock<Function>,
    /// Read-locked during every ring, and write-locked by the first code that notices the end: the runtimes abort or
    /// misbehave if an ending environment is rung.
    dead: RwLock<bool>,
    /// The counts by which lost rings are found, if the runtime loses rings.
    counts: Option<Counts>,
}

#[derive(Debug)]
struct Function(sys::napi_threadsafe_function);

// SAFETY: Node-API documents `napi_call_threadsafe_function` for use on any thread; every other use of it is on the
// environment's thread.
unsafe impl Send for Function {}
// SAFETY: as above; calls from several threads at once are its purpose.
unsafe impl Sync for Function {}

/// One object that can ring: a worker, or a gateway with notices.
#[derive(Debug)]
pub(crate) struct Door {
    line: Arc<Line>,
    source: usize,
}

/// The function that the runtime calls on the environment's thread after a ring.
pub(crate) type Answer =
    unsafe extern "C" fn(sys::napi_env, sys::napi_value, *mut c_void, *mut c_void);

impl Line {
    /// Opens a line. The runtime calls `answer` with `context` and the number of the source that rang, or [`NUDGE`],
    /// which occurs only if `again` is given because rings get lost here. It calls `ended` with `context` when it is
    /// done with the line. The line does not keep the process running until [`hold`](Self::hold).
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
        // SAFETY: `js` proves a live environment on this thread. No function is given because `answer` finds its own;
        // the queue is unbounded but never holds more than one ring per source. The caller has made the two callbacks
        // for `context`.
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

    /// Closes the line, because the environment or the function is ending. Nobody rings from now on, and no ring is
    /// in flight when this returns.
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
        let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
        let source = ptr::without_provenance_mut::<c_void>(source);
        self.while_alive(|| {
            // SAFETY: the function lives until the environment ends, which the lock held here prevents. Any failure
            // means that the environment is closing: its cleanup hook retires what rings here.
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
