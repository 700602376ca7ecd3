//! An asynchronous handle of libuv's event loop: how a thread of Node.js is woken. A `ThreadsafeFunction` wakes it while it
//! holds a mutex, for which the woken thread waits if both have one core. Owns the handle's memory, the async context of
//! its callbacks, and the hook that closes it before the environment ends; the line guards it against rings after that.
#![expect(
    unsafe_code,
    reason = "a handle is memory that libuv uses until it is closed"
)]

use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use napi::sys;

use super::libuv::Libuv;
use super::rings::Rings;
use crate::failure::{Failure, Outcome, check};
use crate::js::{Js, Value};

/// What is called on the environment's thread.
pub(super) struct Calls {
    /// Answers the sources of a place, in a callback scope. Does not panic.
    pub(super) answer: Box<dyn Fn(Js<'_>, usize)>,
    /// The environment ends: returns when nobody rings and nobody will.
    pub(super) ended: Box<dyn Fn()>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Handle {
    libuv: Libuv,
    raw: *mut c_void,
    rings: Arc<Rings>,
}

// SAFETY: `uv_async_send` is made for any thread; every other use of the pointer is on the loop's thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// What belongs to a handle until it is closed. Used on the loop's thread only.
struct Home {
    libuv: Libuv,
    raw: *mut c_void,
    layout: Layout,
    rings: Arc<Rings>,
    env: sys::napi_env,
    context: sys::napi_async_context,
    calls: Calls,
    /// See [`Rings::answer`].
    answering: Cell<bool>,
    /// The hook that runs until the handle is closed; null before.
    hook: Cell<sys::napi_async_cleanup_hook_handle>,
}

impl Handle {
    /// Makes a handle that does not keep the process running until [`hold`](Self::hold). `name` names its callbacks in
    /// asynchronous hooks.
    pub(super) fn open(js: Js<'_>, libuv: Libuv, name: Value<'_>, calls: Calls) -> Outcome<Self> {
        let mut event_loop = ptr::null_mut();
        // SAFETY: `js` proves a live environment on this thread.
        check(unsafe { sys::napi_get_uv_event_loop(js.env(), &raw mut event_loop) })?;
        let context = js.async_context(name)?;
        let (raw, layout) = match memory(libuv, event_loop.cast()) {
            Ok(made) => made,
            Err(failure) => {
                js.end_async_context(context);
                return Err(failure);
            }
        };
        let rings = Arc::new(Rings::new());
        let home = Box::into_raw(Box::new(Home {
            libuv,
            raw,
            layout,
            rings: Arc::clone(&rings),
            env: js.env(),
            context,
            calls,
            answering: Cell::new(false),
            hook: Cell::new(ptr::null_mut()),
        }));
        // SAFETY: the first word of a handle is its user's, and libuv calls nothing before this function returns.
        unsafe { raw.cast::<*mut Home>().write(home) };
        // SAFETY: the handle was just made.
        unsafe { (libuv.release)(raw) };
        // SAFETY: the environment is alive, and calls `on_end` once, with what was made for it.
        let hooked = check(unsafe {
            sys::napi_add_async_cleanup_hook(js.env(), Some(on_end), home.cast(), ptr::null_mut())
        });
        if let Err(failure) = hooked {
            js.end_async_context(context);
            // SAFETY: nobody knows the handle; `on_closed` frees what was made for it.
            unsafe { (libuv.close)(raw, on_closed) };
            return Err(failure);
        }
        Ok(Self { libuv, raw, rings })
    }

    /// Keeps the process running.
    ///
    /// # Safety
    /// The caller is on the handle's thread, and the handle is not closed.
    pub(super) unsafe fn hold(&self) {
        // SAFETY: as the caller promises.
        unsafe { (self.libuv.hold)(self.raw) };
    }

    /// Lets the process end.
    ///
    /// # Safety
    /// As for [`hold`](Self::hold).
    pub(super) unsafe fn release(&self) {
        // SAFETY: as the caller promises.
        unsafe { (self.libuv.release)(self.raw) };
    }

    /// Rings for a source.
    ///
    /// # Safety
    /// The handle is not closed during the call.
    pub(super) unsafe fn ring(&self, source: usize) {
        if self.rings.ring(source) {
            // SAFETY: as the caller promises. It fails only for a handle of another kind.
            let _sent = unsafe { (self.libuv.async_send)(self.raw) };
        }
    }
}

/// A handle of this loop and the layout of its memory, which stays until the handle is closed.
fn memory(libuv: Libuv, event_loop: *mut c_void) -> Outcome<(*mut c_void, Layout)> {
    let layout = Layout::from_size_align(libuv.async_bytes(), ALIGN)
        .ok()
        .filter(|layout| layout.size() >= size_of::<*mut Home>())
        .ok_or_else(|| Failure::internal("libuv's handles have no size"))?;
    // SAFETY: the layout has a size.
    let raw = unsafe { alloc::alloc_zeroed(layout) }.cast::<c_void>();
    if raw.is_null() {
        alloc::handle_alloc_error(layout);
    }
    // SAFETY: the memory is large enough, and the loop is that of this thread.
    let status = unsafe { (libuv.async_init)(event_loop, raw, on_signal) };
    if status == 0 {
        return Ok((raw, layout));
    }
    // SAFETY: libuv did not take it.
    unsafe { alloc::dealloc(raw.cast(), layout) };
    Err(Failure::internal("libuv made no handle"))
}

impl Home {
    fn answer(&self, place: usize) {
        // SAFETY: libuv calls back on the environment's thread, and the environment's end begins with `on_end`, which
        // closes the handle. A scope is opened before anything is made.
        let js = unsafe { Js::new(self.env) };
        let _no_scope =
            js.scoped(|js| js.in_callback_scope(self.context, |js| (self.calls.answer)(js, place)));
    }
}

/// libuv calls this on its loop's thread after one signal or several.
unsafe extern "C" fn on_signal(raw: *mut c_void) {
    // SAFETY: `open` has put the home there, and it stays until `on_closed`, which libuv calls last.
    let home = unsafe { &**raw.cast::<*const Home>() };
    let is_left = home
        .rings
        .answer(&home.answering, MOST_ROUNDS, |place| home.answer(place));
    if is_left {
        // the application's timers and sockets have their turn first
        // SAFETY: libuv is calling back for this handle, so it is not closed.
        let _sent = unsafe { (home.libuv.async_send)(raw) };
    }
}

/// The environment calls this when it ends, and waits until the hook is removed.
unsafe extern "C" fn on_end(hook: sys::napi_async_cleanup_hook_handle, home: *mut c_void) {
    // SAFETY: as in `on_signal`; the environment calls this once.
    let home = unsafe { &*home.cast_const().cast::<Home>() };
    (home.calls.ended)();
    home.hook.set(hook);
    // SAFETY: the environment exists until the hook is removed, and a context needs no scope to end.
    unsafe { Js::new(home.env) }.end_async_context(home.context);
    // SAFETY: the handle is open, this is its loop's thread, and nobody uses it any more.
    unsafe { (home.libuv.close)(home.raw, on_closed) };
}

/// libuv calls this when it does not use the handle's memory any more.
unsafe extern "C" fn on_closed(raw: *mut c_void) {
    // SAFETY: `open` has put it there, and nobody else uses it after this.
    let home = unsafe { Box::from_raw(raw.cast::<*mut Home>().read()) };
    let hook = home.hook.get();
    // SAFETY: it was allocated with this layout.
    unsafe { alloc::dealloc(raw.cast(), home.layout) };
    drop(home);
    if !hook.is_null() {
        // SAFETY: the environment waits for this hook, and it is removed once. A failure is that of a null pointer.
        let _removed = unsafe { sys::napi_remove_async_cleanup_hook(hook) };
    }
}

/// The alignment of memory that C allocates.
const ALIGN: usize = 16;

/// How often a thread looks for rings before the rest of its event loop has a turn.
const MOST_ROUNDS: usize = 4;
