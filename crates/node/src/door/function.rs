//! A `ThreadsafeFunction` of Node-API: how a thread is woken in runtimes without libuv. Owns the calls, and makes none when
//! the environment is ending.
#![expect(
    unsafe_code,
    reason = "a ThreadsafeFunction is used from threads that have no environment"
)]

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use napi::sys;

use super::Life;
use crate::failure::{Failure, Outcome, check};
use crate::js::{Finalizer, Js, Value};

/// See the module.
#[derive(Debug)]
pub(super) struct Function {
    raw: sys::napi_threadsafe_function,
    life: Arc<Life>,
}

// SAFETY: Node-API documents `napi_call_threadsafe_function` for use on any thread; every other use of it is on the
// environment's thread.
unsafe impl Send for Function {}
// SAFETY: as above; calls from several threads at once are its purpose.
unsafe impl Sync for Function {}

/// The function that the runtime calls on the environment's thread after a ring.
pub(crate) type Answer =
    unsafe extern "C" fn(sys::napi_env, sys::napi_value, *mut c_void, *mut c_void);

impl Function {
    /// Makes one that calls `answer` with `context` and the number of a source, and `ended` with `context` when the
    /// runtime is done with it. It keeps the process running until [`release`](Self::release), and does not ring after the
    /// end of `life`, which is that of the environment.
    pub(super) fn new(
        js: Js<'_>,
        name: Value<'_>,
        (answer, ended): (Answer, Finalizer),
        context: *mut c_void,
        life: &Arc<Life>,
    ) -> Outcome<Self> {
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
        Ok(Self {
            raw: function,
            life: Arc::clone(life),
        })
    }

    /// Keeps the process running.
    pub(super) fn hold(&self, js: Js<'_>) -> Outcome<()> {
        // SAFETY: `js` proves a live environment, which is the one the function was made in.
        check(unsafe { sys::napi_ref_threadsafe_function(js.env(), self.raw) })
    }

    /// Lets the process end.
    pub(super) fn release(&self, js: Js<'_>) -> Outcome<()> {
        // SAFETY: as in `hold`.
        check(unsafe { sys::napi_unref_threadsafe_function(js.env(), self.raw) })
    }

    /// Rings for a source, unless the environment has ended.
    pub(super) fn ring(&self, source: usize) {
        let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
        let source = ptr::without_provenance_mut::<c_void>(source);
        self.life.while_alive(|| {
            // SAFETY: the function lives until the environment ends, which it does not during this call. Any failure means
            // that the environment is closing: its cleanup hook retires what rings here.
            let _closing = unsafe { sys::napi_call_threadsafe_function(self.raw, source, mode) };
        });
    }
}
