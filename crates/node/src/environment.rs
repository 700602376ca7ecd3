//! One JavaScript thread that has loaded the addon. Owns its doorbell line, its scratch buffer, what may
//! ring there, and the one cleanup hook; knows nothing of arguments.
#![expect(
    unsafe_code,
    reason = "the module's initialisation and the cleanup hook get raw pointers"
)]

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use napi::sys;

use crate::bound::Bound;
use crate::door::{Door, Line, NUDGE};
use crate::entry::{Owner, guarded, raise};
use crate::failure::{Failure, Outcome, check};
use crate::handlers::HandlerThread;
use crate::js::{Js, Reference, Value};
use crate::scratch::Scratch;
use crate::token_words::{self, TokenWords};
use crate::{drain, module};

/// See the module. Used on its own thread only; the shell is never freed, because some runtimes call
/// back after the cleanup hook, but the hook empties it.
#[derive(Debug)]
pub(crate) struct Environment {
    thread: ThreadId,
    line: OnceCell<Arc<Line>>,
    /// Whether the runtime loses rings.
    rings_again: Cell<bool>,
    scratch: Scratch,
    /// True while handlers run: wake-ups of I/O shards then wait for the end of the drain.
    draining: Cell<bool>,
    closing: Cell<bool>,
    error_class: Cell<Option<Reference>>,
    bound: RefCell<Vec<&'static Bound>>,
    /// By the number that their doorbells ring with; a number is used again.
    sources: RefCell<Vec<Option<Source>>>,
    holds: Cell<u32>,
    /// One set of words for all workers here: a word too many only costs a look.
    token_words: OnceCell<(Reference, TokenWords)>,
}

/// What rings here.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A gateway that this thread started, and the function that takes its notices.
    Notices(Reference),
    /// A worker.
    Worker(&'static HandlerThread),
}

/// Fills the exports of a thread that has just loaded the addon.
pub(crate) fn open(env: sys::napi_env, exports: sys::napi_value) -> napi::Result<()> {
    // SAFETY: the runtime is calling the module's initialisation on this thread, in a scope.
    let js = unsafe { Js::new(env) };
    // SAFETY: as above.
    let exports = unsafe { js.value_of(exports) };
    let environment: &'static Environment = Box::leak(Box::new(Environment::new()));
    let arg = ptr::from_ref(environment).cast_mut().cast::<c_void>();
    // SAFETY: the shell is never freed, and each environment has its own address, so the pair is unique.
    let hooked = check(unsafe { sys::napi_add_env_cleanup_hook(env, Some(on_cleanup), arg) });
    if let Err(failure) = hooked.and_then(|()| module::define_module(js, exports, environment)) {
        raise(js, environment, failure);
        return Err(napi::Error::from_status(napi::Status::PendingException));
    }
    Ok(())
}

impl Environment {
    fn new() -> Self {
        Self {
            thread: thread::current().id(),
            line: OnceCell::new(),
            rings_again: Cell::new(false),
            scratch: Scratch::default(),
            draining: Cell::new(false),
            closing: Cell::new(false),
            error_class: Cell::new(None),
            bound: RefCell::new(Vec::new()),
            sources: RefCell::new(Vec::new()),
            holds: Cell::new(0),
            token_words: OnceCell::new(),
        }
    }

    /// Whether the caller is where this belongs: a runtime that hands a thread the module object of
    /// another one makes even this be called elsewhere.
    pub(crate) fn is_of_this_thread(&self) -> bool {
        self.thread == thread::current().id() && !self.closing.get()
    }

    /// The words by which this thread sees that a token changed, as an `ArrayBuffer` and to write to.
    pub(crate) fn token_words<'s>(&self, js: Js<'s>) -> Outcome<(Value<'s>, TokenWords)> {
        if let Some((kept, words)) = self.token_words.get() {
            return Ok((js.kept(*kept)?, *words));
        }
        let (buffer, data) = js.array_buffer(&[0; token_words::BYTES])?;
        let words = TokenWords::new(data)?;
        let kept = js.keep(buffer)?;
        self.token_words.get_or_init(|| (kept, words));
        Ok((buffer, words))
    }

    /// A doorbell for something new that rings here; `source` is told its doorbell and kept until
    /// [`remove_source`](Self::remove_source) is given the returned number.
    pub(crate) fn add_source(
        &'static self,
        js: Js<'_>,
        source: impl FnOnce(Arc<Door>, &Arc<Line>) -> Outcome<Source>,
    ) -> Outcome<usize> {
        let line = if let Some(line) = self.line.get() {
            Arc::clone(line)
        } else {
            let context = ptr::from_ref(self).cast_mut().cast::<c_void>();
            let line = Line::open(js, on_ring, context, self.rings_again.get())?;
            Arc::clone(self.line.get_or_init(|| line))
        };
        let number = {
            let mut sources = self.sources.borrow_mut();
            let free = sources.iter().position(Option::is_none);
            free.unwrap_or_else(|| {
                sources.push(None);
                sources.len() - 1
            })
        };
        let added = source(Arc::new(Door::new(Arc::clone(&line), number)), &line)?;
        if let Some(place) = self.sources.borrow_mut().get_mut(number) {
            *place = Some(added);
        }
        Ok(number)
    }

    /// Forgets what rang with this number. A ring on its way is answered by whatever has the number
    /// next, which then finds nothing to do.
    pub(crate) fn remove_source(&self, number: usize) -> Option<Source> {
        self.sources.borrow_mut().get_mut(number)?.take()
    }

    /// The runtime loses rings. To be said before anything rings here; another copy of the package says it again.
    pub(crate) fn ring_again(&self) -> Outcome<()> {
        if self.line.get().is_some() && !self.rings_again.get() {
            return Err(Failure::internal("something rings here already"));
        }
        self.rings_again.set(true);
        Ok(())
    }

    pub(crate) fn add_bound(&self, bound: &'static Bound) {
        self.bound.borrow_mut().push(bound);
    }

    pub(crate) fn remove_bound(&self, bound: &'static Bound) {
        self.bound
            .borrow_mut()
            .retain(|known| !ptr::eq(*known, bound));
    }

    /// Keeps the process running, counted.
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        let Some(line) = self.line.get() else {
            return Err(Failure::internal("nothing rings in this environment yet"));
        };
        self.holds.set(self.holds.get() + 1);
        if self.holds.get() == 1 {
            line.hold(js)
        } else {
            Ok(())
        }
    }

    /// Takes back one [`hold`](Self::hold).
    pub(crate) fn release(&self, js: Js<'_>) -> Outcome<()> {
        let (Some(line), Some(left)) = (self.line.get(), self.holds.get().checked_sub(1)) else {
            return Ok(());
        };
        self.holds.set(left);
        if left == 0 { line.release(js) } else { Ok(()) }
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub(crate) fn error_class(&self) -> Option<Reference> {
        self.error_class.get()
    }

    pub(crate) fn set_error_class(&self, js: Js<'_>, class: Value<'_>) -> Outcome<()> {
        let before = self.error_class.replace(Some(js.keep(class)?));
        if let Some(before) = before {
            js.forget(before);
        }
        Ok(())
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Runs handlers, then wakes every I/O shard they touched, once. Not to be nested.
    pub(crate) fn drain<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Ending<'a>(&'a Environment);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                self.0.draining.set(false);
                for bound in self.0.bound.borrow().iter() {
                    bound.wake();
                }
            }
        }
        self.draining.set(true);
        let _ending = Ending(self);
        work()
    }

    fn answer(&'static self, js: Js<'_>, number: usize) -> Outcome<()> {
        if number == NUDGE {
            return Ok(());
        }
        if let Some(line) = self.line.get() {
            line.answered();
        }
        let source = self.sources.borrow().get(number).copied().flatten();
        match source {
            None => Ok(()),
            Some(Source::Notices(listener)) => js.call(js.kept(listener)?, &[]).map(drop),
            Some(Source::Worker(thread)) => drain::drain(js, self, thread).map(drop),
        }
    }

    fn close(&self) {
        self.closing.set(true);
        if let Some(line) = self.line.get() {
            line.cut();
        }
        let sources = self.sources.take();
        for source in sources {
            if let Some(Source::Worker(thread)) = source {
                thread.end();
            }
        }
        for bound in self.bound.take() {
            bound.end();
        }
        self.scratch.clear();
    }
}

impl Owner for Environment {
    fn environment(&'static self) -> &'static Environment {
        self
    }
}

/// The runtime answers a ring on the environment's thread.
extern "C" fn on_ring(
    env: sys::napi_env,
    _function: sys::napi_value,
    context: *mut c_void,
    source: *mut c_void,
) {
    // rings that were queued when the environment ended come back without one
    if env.is_null() || context.is_null() {
        return;
    }
    // SAFETY: `context` is the leaked environment that opened the line.
    let environment: &'static Environment = unsafe { &*context.cast_const().cast::<Environment>() };
    if environment.closing.get() {
        return;
    }
    // SAFETY: the runtime calls this on the environment's thread.
    let js = unsafe { Js::new(env) };
    guarded(js, environment, |js| environment.answer(js, source.addr()));
}

/// The environment is going away, for whatever reason.
extern "C" fn on_cleanup(arg: *mut c_void) {
    // SAFETY: `arg` is the leaked environment that added the hook, on its own thread.
    let environment = unsafe { &*arg.cast_const().cast::<Environment>() };
    // nothing is left to report a panic to, and it must not reach C
    let _panicked = catch_unwind(AssertUnwindSafe(|| environment.close()));
}
