//! One JavaScript thread that has loaded the addon. Owns its doorbell line, its scratch buffer, the sources that ring
//! there, the objects that functions work on there, and the one cleanup hook, which ends them all; knows nothing about
//! arguments.
#![expect(
    unsafe_code,
    reason = "the cleanup hook and other callbacks get raw pointers"
)]

use std::cell::{Cell, OnceCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use napi::sys;

use crate::addon::{ADDON, Counted};
use crate::door::{Answer, Door, Line, NUDGE};
#[cfg(unix)]
use crate::door::{Libuv, PLACES};
use crate::entry::{Owner, guarded};
use crate::failure::{Failure, Outcome, check};
use crate::js::{Finalizer, Js, Reference, Value};
use crate::scratch::Scratch;
use crate::shells::{Shell, Shells};
use crate::slot::Slot;
use crate::sources::{Source, Sources};
use crate::token_words::{self, TokenWords};

/// See the module. Used on its own thread only. Its cleanup hook empties it and releases it, and a callback that comes
/// later finds its slot empty.
#[derive(Debug)]
pub(crate) struct Environment {
    /// A number that no other thread ever has.
    #[cfg(unix)]
    number: usize,
    slot: &'static Slot,
    line: OnceCell<Arc<Line>>,
    /// Whether the runtime loses rings.
    rings_again: Cell<bool>,
    /// The functions of the event loop, if it is libuv's.
    #[cfg(unix)]
    libuv: Cell<Option<Libuv>>,
    /// Whether the runtime collects adopted buffers too late.
    weighs: Cell<bool>,
    /// The bytes of adopted buffers that were not weighed yet.
    adopted: Cell<usize>,
    scratch: Scratch,
    /// Whether handlers run. The wake-ups of I/O shards then wait for the end of the drain.
    draining: Cell<bool>,
    error_class: Cell<Option<Reference>>,
    shells: Shells,
    sources: Sources,
    holds: Cell<u32>,
    /// One set of words for all workers of this thread: a collision only causes an unnecessary check.
    token_words: OnceCell<(Reference, TokenWords)>,
    _counted: Counted,
}

/// Makes an environment for a thread that has just loaded the addon. It lives until the runtime reports its end.
pub(crate) fn open(js: Js<'_>) -> Outcome<Rc<Environment>> {
    let environment = Environment::new();
    let hook = Box::into_raw(Box::new(Hook {
        env: js.env(),
        environment: Rc::clone(&environment),
    }));
    // SAFETY: each hook has its own address, so the pair is unique, and the runtime runs it once.
    let hooked =
        check(unsafe { sys::napi_add_env_cleanup_hook(js.env(), Some(on_cleanup), hook.cast()) });
    if let Err(failure) = hooked {
        // SAFETY: the runtime did not take it.
        let hook = unsafe { Box::from_raw(hook) };
        hook.environment.close(js);
        return Err(failure);
    }
    Ok(environment)
}

/// The data of the cleanup hook, which keeps the environment alive.
struct Hook {
    env: sys::napi_env,
    environment: Rc<Environment>,
}

impl Environment {
    fn new() -> Rc<Self> {
        Rc::new_cyclic(|this: &Weak<Self>| Self {
            #[cfg(unix)]
            number: ADDON.new_number(),
            slot: ADDON.slots().take(this.as_ptr().cast()),
            line: OnceCell::new(),
            rings_again: Cell::new(false),
            #[cfg(unix)]
            libuv: Cell::new(None),
            weighs: Cell::new(false),
            adopted: Cell::new(0),
            scratch: Scratch::default(),
            draining: Cell::new(false),
            error_class: Cell::new(None),
            shells: Shells::default(),
            sources: Sources::default(),
            holds: Cell::new(0),
            token_words: OnceCell::new(),
            _counted: Counted::new(&ADDON.counts().environments),
        })
    }

    /// The environment in the slot that `data` points to, if it has not ended and the caller is on its thread.
    ///
    /// # Safety
    /// `data` is that of a slot.
    unsafe fn of_data(data: *mut c_void) -> Option<Rc<Self>> {
        // SAFETY: as the caller promises.
        Self::in_slot(unsafe { Slot::of(data) })
    }

    /// The environment in this slot, if it has not ended and the caller is on its thread.
    fn in_slot(slot: &Slot) -> Option<Rc<Self>> {
        let environment = slot.content()?.cast::<Self>();
        // SAFETY: the content is what `new` put there, on this thread, on which `close` removes it before the hook's
        // reference can be dropped.
        Some(unsafe {
            Rc::increment_strong_count(environment);
            Rc::from_raw(environment)
        })
    }

    /// The words by which this thread detects changes of tokens, as an `ArrayBuffer` and for writing.
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

    /// Makes a doorbell for a new source. `source` is called with its doorbell and kept until
    /// [`remove_source`](Self::remove_source) is called with the returned number.
    pub(crate) fn add_source(
        &self,
        js: Js<'_>,
        source: impl FnOnce(Arc<Door>, &Arc<Line>) -> Rc<dyn Source>,
    ) -> Outcome<usize> {
        let line = if let Some(line) = self.line.get() {
            Arc::clone(line)
        } else {
            let line = self.open_line(js)?;
            Arc::clone(self.line.get_or_init(|| line))
        };
        let number = self.sources.reserve();
        let added = source(Arc::new(Door::new(Arc::clone(&line), number)), &line);
        self.sources.set(number, added);
        Ok(number)
    }

    fn open_line(&self, js: Js<'_>) -> Outcome<Arc<Line>> {
        let slot = self.slot;
        #[cfg(unix)]
        if let Some(libuv) = self.libuv.get() {
            return Line::open_at_loop(js, libuv, move |js, place| on_signal(js, slot, place));
        }
        let callbacks: (Answer, Finalizer) = (on_ring, on_line_ended);
        Line::open(js, callbacks, slot.data(), self.rings_again.get())
    }

    /// Has this thread woken by its event loop, if that is libuv of this version and nothing rings here yet.
    #[cfg(unix)]
    pub(crate) fn wake_by_libuv(&self, version: &str) {
        self.libuv.set(Libuv::find(version));
    }

    /// Removes the source with this number.
    pub(crate) fn remove_source(&self, number: usize) -> Option<Rc<dyn Source>> {
        self.sources.remove(number)
    }

    /// Marks the runtime as one that loses rings. Must be called before anything rings here; another copy of the
    /// package may call it again.
    pub(crate) fn ring_again(&self) -> Outcome<()> {
        if self.line.get().is_some() && !self.rings_again.get() {
            return Err(Failure::internal("something rings here already"));
        }
        self.rings_again.set(true);
        Ok(())
    }

    /// Marks the runtime as one that collects adopted buffers too late.
    pub(crate) fn weigh(&self) {
        self.weighs.set(true);
    }

    /// Records that buffers of this thread adopted so many bytes.
    pub(crate) fn adopted(&self, js: Js<'_>, bytes: usize) -> Outcome<()> {
        if bytes == 0 || !self.weighs.get() {
            return Ok(());
        }
        let adopted = self.adopted.get().saturating_add(bytes);
        if adopted < WEIGHED_BYTES {
            self.adopted.set(adopted);
            return Ok(());
        }
        self.adopted.set(0);
        js.weigh(adopted.saturating_mul(WEIGHT), ADDON.untouched())
    }

    /// Keeps `shell`, which has this number, as long as JavaScript has `function`.
    pub(crate) fn keep<S: Shell + 'static>(
        &self,
        js: Js<'_>,
        (number, shell): (usize, &Rc<S>),
        function: Value<'_>,
    ) -> Outcome<()> {
        self.shells.keep(number, shell);
        // if this fails, the shell is kept until the environment ends
        let hint = ptr::without_provenance_mut(number);
        js.when_collected(function, on_collected, self.slot.data(), hint)
    }

    /// Keeps the process running. Each call needs one [`release`](Self::release).
    pub(crate) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        let Some(line) = self.line.get() else {
            return Err(Failure::internal("nothing rings in this environment yet"));
        };
        let held = self.holds.get() + 1;
        self.holds.set(held);
        if held == 1 { line.hold(js) } else { Ok(()) }
    }

    /// Undoes one [`hold`](Self::hold).
    pub(crate) fn release(&self, js: Js<'_>) -> Outcome<()> {
        let (Some(line), Some(left)) = (self.line.get(), self.holds.get().checked_sub(1)) else {
            return Ok(());
        };
        self.holds.set(left);
        if left == 0 { line.release(js) } else { Ok(()) }
    }

    /// The number that identifies this environment.
    #[cfg(unix)]
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
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

    /// Runs handlers, then wakes every dirty I/O shard once. Must not be nested.
    pub(crate) fn drain<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Ending<'a>(&'a Environment);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                self.0.draining.set(false);
                self.0.shells.wake();
            }
        }
        self.draining.set(true);
        let _ending = Ending(self);
        work()
    }

    fn answer(&self, js: Js<'_>, number: usize) -> Outcome<()> {
        if number == NUDGE {
            return Ok(());
        }
        if let Some(line) = self.line.get() {
            line.answered();
        }
        let source = self.sources.get(number);
        source.map_or(Ok(()), |source| source.answer(js))
    }

    fn close(&self, js: Js<'_>) {
        ADDON.slots().give_back(self.slot);
        if let Some(line) = self.line.get() {
            line.cut();
        }
        self.sources.end(js);
        self.shells.end(js);
        #[cfg(unix)]
        ADDON.sockets().close_all_of(self.number);
        let class = self.error_class.take();
        let words = self.token_words.get().map(|(kept, _)| *kept);
        for reference in class.into_iter().chain(words) {
            js.forget(reference);
        }
        self.scratch.clear();
    }
}

/// Its functions may be called late and on other threads, so they carry its slot.
impl Owner for Environment {
    fn error_class(&self) -> Option<Reference> {
        self.error_class.get()
    }

    fn keep(_own: &Rc<Self>, _js: Js<'_>, _function: Value<'_>) -> Outcome<()> {
        // the cleanup hook keeps it alive
        Ok(())
    }

    fn data(own: &Rc<Self>) -> *mut c_void {
        own.slot.data()
    }

    unsafe fn of(data: *mut c_void) -> Option<Rc<Self>> {
        // SAFETY: as the caller promises, `data` comes from `data` above.
        unsafe { Self::of_data(data) }
    }
}

/// The runtime calls this on the environment's thread after a ring.
extern "C" fn on_ring(
    env: sys::napi_env,
    _function: sys::napi_value,
    context: *mut c_void,
    source: *mut c_void,
) {
    // rings still queued at the environment's end come without an environment
    if env.is_null() || context.is_null() {
        return;
    }
    // SAFETY: `context` is the slot of the environment that opened the line.
    let Some(environment) = (unsafe { Environment::of_data(context) }) else {
        return;
    };
    // SAFETY: the runtime calls this on the environment's thread.
    let js = unsafe { Js::new(env) };
    guarded(js, &*environment, |js| {
        environment.answer(js, source.addr())
    });
}

/// The line calls this on the environment's thread after rings of sources with this place. Does not panic.
#[cfg(unix)]
fn on_signal(js: Js<'_>, slot: &Slot, place: usize) {
    let Some(environment) = Environment::in_slot(slot) else {
        return;
    };
    for number in (place..environment.sources.count()).step_by(PLACES) {
        guarded(js, &*environment, |js| environment.answer(js, number));
    }
}

/// The runtime calls this when it is done with the line; some runtimes do so before the cleanup hook.
extern "C" fn on_line_ended(_env: sys::napi_env, context: *mut c_void, _hint: *mut c_void) {
    // SAFETY: as in `on_ring`.
    let environment = unsafe { Environment::of_data(context) };
    if let Some(line) = environment.as_ref().and_then(|known| known.line.get()) {
        line.cut();
    }
}

/// The runtime calls this when it has collected a function.
extern "C" fn on_collected(_env: sys::napi_env, data: *mut c_void, number: *mut c_void) {
    // SAFETY: `data` is the slot of the environment that the function belonged to.
    let environment = unsafe { Environment::of_data(data) };
    // a panic cannot be reported here, and it must not unwind into C
    let _panicked = catch_unwind(AssertUnwindSafe(|| {
        if let Some(environment) = environment {
            environment.shells.function_lost(number.addr());
        }
    }));
}

/// Adopted bytes are weighed in portions of this size, which costs less than weighing each buffer.
const WEIGHED_BYTES: usize = 512 * 1024;

/// By which factor adopted bytes are overstated. V8 collects after about 32 MiB are counted, so a fifth of that is
/// garbage; `benchmark/NOTES-sockety.md` has the cost of other factors.
const WEIGHT: usize = 4;

/// The runtime calls this when the environment ends, for whatever reason.
extern "C" fn on_cleanup(hook: *mut c_void) {
    // SAFETY: `open` made it, and the runtime calls this once, on the environment's thread.
    let hook = unsafe { Box::from_raw(hook.cast::<Hook>()) };
    // SAFETY: the environment exists until its hooks have run. It is used to delete references, which needs no open
    // scope.
    let js = unsafe { Js::new(hook.env) };
    // as in `on_collected`
    let _panicked = catch_unwind(AssertUnwindSafe(|| hook.environment.close(js)));
}
