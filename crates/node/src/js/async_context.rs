//! Callbacks that come from the event loop and not from the runtime. Owns their async context, the hook by which the
//! environment waits for them when it ends, and what has to do with Node-API in a signal of the loop; does not know what
//! the callbacks do.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use millrace_sockets::{Libuv, LoopSignal};
use napi::sys;

use super::{Js, Value};
use crate::failure::{Failure, Outcome, check};

/// See the module. As long as this exists, so do its environment and the event loop. It stays on their thread.
pub(crate) struct AsyncContext {
    env: sys::napi_env,
    raw: sys::napi_async_context,
    /// The hook, which is removed with the context; null while it is made.
    hook: Cell<sys::napi_async_cleanup_hook_handle>,
    ending: Cell<Option<Box<dyn FnOnce()>>>,
}

impl AsyncContext {
    /// `name` is what asynchronous hooks show for the callbacks.
    pub(crate) fn new(js: Js<'_>, name: Value<'_>) -> Outcome<Rc<Self>> {
        let mut raw = ptr::null_mut();
        // SAFETY: `js` proves a live environment with an open scope on this thread; the resource may be null.
        check(unsafe { sys::napi_async_init(js.env, ptr::null_mut(), name.raw, &raw mut raw) })?;
        if raw.is_null() {
            return Err(Failure::Abandoned);
        }
        let context = Rc::new(Self {
            env: js.env,
            raw,
            hook: Cell::new(ptr::null_mut()),
            ending: Cell::new(None),
        });
        let data = Rc::as_ptr(&context).cast_mut().cast::<c_void>();
        let mut hook = ptr::null_mut();
        // SAFETY: as above. The data stays where it is until the hook is removed.
        check(unsafe {
            sys::napi_add_async_cleanup_hook(js.env, Some(on_end), data, &raw mut hook)
        })?;
        context.hook.set(hook);
        Ok(context)
    }

    /// Calls `then` when the environment begins to end. It has ended only after the context is dropped, so `then` closes
    /// what keeps it.
    pub(crate) fn when_ending(&self, then: impl FnOnce() + 'static) {
        self.ending.set(Some(Box::new(then)));
    }

    /// Opens a signal of the environment's event loop, which is libuv's. The signal keeps the context until it is closed.
    /// For the other rules see [`LoopSignal::open`].
    pub(crate) fn open_signal(
        self: &Rc<Self>,
        libuv: Libuv,
        on_signal: impl Fn(&Self) -> bool + 'static,
    ) -> Outcome<LoopSignal> {
        let mut event_loop = ptr::null_mut();
        // SAFETY: the environment is alive, and this is its thread.
        check(unsafe { sys::napi_get_uv_event_loop(self.env, &raw mut event_loop) })?;
        let context = Rc::clone(self);
        let on_signal = Box::new(move || on_signal(&context));
        // SAFETY: the loop is that of this thread, and its libuv has the version of the one whose functions these are. The
        // environment runs it until `on_signal` is dropped, which owns a context.
        let signal = unsafe { LoopSignal::open(libuv, event_loop.cast(), on_signal) };
        signal.ok_or_else(|| Failure::internal("libuv made no handle"))
    }

    /// Runs `work` as a callback of the event loop: promises and `process.nextTick` follow it.
    pub(crate) fn call(&self, work: impl FnOnce(Js<'_>)) {
        // SAFETY: the environment is alive, and this is its thread. A scope is opened before anything is made.
        let js = unsafe { Js::new(self.env) };
        let _no_scope = js.scoped(|js| self.in_callback_scope(js, work));
    }

    fn in_callback_scope(&self, js: Js<'_>, work: impl FnOnce(Js<'_>)) -> Outcome<()> {
        let mut scope = ptr::null_mut();
        // SAFETY: as in `call`; closed below, in order. The resource is ignored.
        check(unsafe {
            sys::napi_open_callback_scope(self.env, ptr::null_mut(), self.raw, &raw mut scope)
        })?;
        work(js);
        // SAFETY: it is the innermost open callback scope.
        check(unsafe { sys::napi_close_callback_scope(self.env, scope) })
    }
}

impl Drop for AsyncContext {
    fn drop(&mut self) {
        let hook = self.hook.get();
        // SAFETY: the environment is alive until the hook is removed, and this is its thread; a context needs no scope to
        // end. Both happen once, and fail only for null pointers.
        unsafe {
            let _ended = sys::napi_async_destroy(self.env, self.raw);
            if !hook.is_null() {
                let _removed = sys::napi_remove_async_cleanup_hook(hook);
            }
        }
    }
}

/// The environment calls this when it ends, and waits until the hook is removed.
extern "C" fn on_end(_hook: sys::napi_async_cleanup_hook_handle, context: *mut c_void) {
    // SAFETY: it calls this on its thread before the hook is removed, so the context is there.
    let ending = unsafe { &*context.cast_const().cast::<AsyncContext>() }
        .ending
        .take();
    if let Some(ending) = ending {
        ending();
    }
}
