//! Calls, throws and keeps values. Reads none.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use napi::sys;

use super::{Js, Reference, Type, Value};
use crate::failure::{Failure, Outcome, check};

/// SAFETY of every call here: `self` proves a live environment with an open scope on this thread, and
/// out-pointers point to locals.
impl<'s> Js<'s> {
    pub(crate) fn call(self, function: Value<'_>, arguments: &[Value<'_>]) -> Outcome<Value<'s>> {
        const MOST: usize = 4;
        let this = self.undefined()?;
        let mut raw = [ptr::null_mut(); MOST];
        let count = arguments.len().min(MOST);
        for (place, argument) in raw.iter_mut().zip(arguments) {
            *place = argument.raw;
        }
        // SAFETY: see the impl block; `count` of `raw` are values.
        self.make(|out| unsafe {
            sys::napi_call_function(self.env, this.raw, function.raw, count, raw.as_ptr(), out)
        })
    }

    pub(crate) fn construct(
        self,
        class: Value<'_>,
        arguments: [Value<'_>; 2],
    ) -> Outcome<Value<'s>> {
        let raw = arguments.map(|argument| argument.raw);
        // SAFETY: see the impl block.
        self.make(|out| unsafe {
            sys::napi_new_instance(self.env, class.raw, raw.len(), raw.as_ptr(), out)
        })
    }

    pub(crate) fn throw(self, error: Value<'_>) {
        // SAFETY: see the impl block. A failure means that an exception is pending or that nothing can be thrown.
        let _cannot_throw = unsafe { sys::napi_throw(self.env, error.raw) };
    }

    /// Turns a pending exception into an uncaught one. None stays pending: a terminated worker leaves one, which must
    /// be gone when the environment is cleaned up.
    pub(crate) fn report_pending(self) {
        let mut pending = false;
        // SAFETY: see the impl block.
        let status = unsafe { sys::napi_is_exception_pending(self.env, &raw mut pending) };
        if status != sys::Status::napi_ok || !pending {
            return;
        }
        // SAFETY: see the impl block.
        let taken =
            self.make(|out| unsafe { sys::napi_get_and_clear_last_exception(self.env, out) });
        // a termination is not an object
        if let Ok(exception) = taken
            && self
                .type_of(exception)
                .is_ok_and(|kind| kind == Type::Object)
        {
            // SAFETY: see the impl block. It fails when the environment is ending, and then the exception can be
            // ignored.
            let _going_away = unsafe { sys::napi_fatal_exception(self.env, exception.raw) };
        }
    }

    pub(crate) fn type_error(self, message: &str) -> Outcome<Value<'s>> {
        let message = self.string(message)?;
        // SAFETY: see the impl block; the code may be null.
        self.make(|out| unsafe {
            sys::napi_create_type_error(self.env, ptr::null_mut(), message.raw, out)
        })
    }

    pub(crate) fn error(self, code: &str, message: &str) -> Outcome<Value<'s>> {
        let (code, message) = (self.string(code)?, self.string(message)?);
        // SAFETY: see the impl block.
        self.make(|out| unsafe { sys::napi_create_error(self.env, code.raw, message.raw, out) })
    }

    pub(crate) fn keep(self, value: Value<'_>) -> Outcome<Reference> {
        let mut raw = ptr::null_mut();
        // SAFETY: see the impl block.
        check(unsafe { sys::napi_create_reference(self.env, value.raw, 1, &raw mut raw) })?;
        if raw.is_null() {
            Err(Failure::Abandoned)
        } else {
            Ok(Reference(raw))
        }
    }

    pub(crate) fn kept(self, reference: Reference) -> Outcome<Value<'s>> {
        // SAFETY: the reference was made in this environment and is not deleted before `forget`.
        self.make(|out| unsafe { sys::napi_get_reference_value(self.env, reference.0, out) })
    }

    /// Lets the value be collected. The reference must not be used again.
    pub(crate) fn forget(self, reference: Reference) {
        // SAFETY: as in `kept`. A failure means that the environment is ending with all references.
        let _going_away = unsafe { sys::napi_delete_reference(self.env, reference.0) };
    }

    /// Calls `then` with `data` and `hint` on this thread when `value` is collected. For values that still exist when
    /// the environment ends, some runtimes never call it, and some call it after the cleanup hooks.
    pub(crate) fn when_collected(
        self,
        value: Value<'_>,
        then: Finalizer,
        data: *mut c_void,
        hint: *mut c_void,
    ) -> Outcome<()> {
        // SAFETY: see the impl block; the caller has made `then` for these two pointers.
        check(unsafe {
            sys::napi_add_finalizer(self.env, value.raw, data, Some(then), hint, ptr::null_mut())
        })
    }

    /// Tells the runtime that its collectable objects hold so many more (or fewer) bytes of memory outside its heap.
    pub(crate) fn count_memory(self, change: i64) {
        let mut total = 0;
        if change != 0 {
            // SAFETY: see the impl block. A failure means that the environment is ending, and nothing is collected any
            // more.
            let _going_away =
                unsafe { sys::napi_adjust_external_memory(self.env, change, &raw mut total) };
        }
    }

    /// Runs `work` in a handle scope of its own.
    pub(crate) fn scoped<R>(self, work: impl FnOnce(Js<'_>) -> Outcome<R>) -> Outcome<R> {
        let mut scope = ptr::null_mut();
        // SAFETY: see the impl block; closed below, in order.
        check(unsafe { sys::napi_open_handle_scope(self.env, &raw mut scope) })?;
        let result = work(Js {
            env: self.env,
            scope: PhantomData,
        });
        // SAFETY: it is the innermost open scope. A failure leaves the handles to the outer scope.
        let _kept_longer = unsafe { sys::napi_close_handle_scope(self.env, scope) };
        result
    }
}

/// A function that the runtime calls with the two pointers that it was given.
pub(crate) type Finalizer = unsafe extern "C" fn(sys::napi_env, *mut c_void, *mut c_void);
