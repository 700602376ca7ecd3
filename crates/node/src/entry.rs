//! The way from JavaScript into Rust: raw callbacks, because a generated function costs more than most
//! of these do. Owns reading the arguments, catching panics and throwing failures.
#![expect(unsafe_code, reason = "a raw callback gets raw pointers")]

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi::sys;

use crate::environment::Environment;
use crate::failure::{Failure, Outcome, check};
use crate::js::{Js, Value};

/// What a group of functions works on. Lives as long as the process, because a runtime may call late.
pub(crate) trait Owner: 'static {
    fn environment(&'static self) -> &'static Environment;
}

/// One call from JavaScript. Arguments that were not given are `undefined`.
#[derive(Debug)]
pub(crate) struct Call<'s, T: 'static> {
    pub(crate) js: Js<'s>,
    pub(crate) own: &'static T,
    pub(crate) arguments: [Value<'s>; MOST_ARGUMENTS],
    /// How many arguments were given.
    pub(crate) given: usize,
}

/// What a function of ours looks like; `None` is `undefined`.
pub(crate) type Body<T> = for<'s> fn(&Call<'s, T>) -> Outcome<Option<Value<'s>>>;

/// The longest argument list of any function here.
pub(crate) const MOST_ARGUMENTS: usize = 5;

/// Puts functions on an object: `define!(js, object, owner, { c"name" => path::to::body, … })`.
macro_rules! define {
    ($js:expr, $object:expr, $own:expr, { $($name:literal => $body:path),* $(,)? }) => {{
        $({
            #[expect(unsafe_code, reason = "a raw callback gets raw pointers")]
            extern "C" fn raw(
                env: napi::sys::napi_env,
                info: napi::sys::napi_callback_info,
            ) -> napi::sys::napi_value {
                // SAFETY: the runtime calls this on the environment's thread, and `attach` was given this
                // body together with the owner that it gets back as data.
                unsafe { $crate::entry::enter(env, info, $body) }
            }
            $crate::entry::attach($js, $object, ($name, raw), $own, $body)?;
        })*
    }};
}
pub(crate) use define;

type Raw = extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// Puts one function on `object`. The body is taken so that it and the owner agree in type.
pub(crate) fn attach<T: Owner>(
    js: Js<'_>,
    object: Value<'_>,
    (name, raw): (&CStr, Raw),
    own: &'static T,
    _body: Body<T>,
) -> Outcome<()> {
    let function = js.function(name, raw, ptr::from_ref(own).cast_mut().cast::<c_void>())?;
    js.set(object, name, function)
}

/// # Safety
/// Called by the runtime as a callback whose data is a `&'static T`.
pub(crate) unsafe fn enter<T: Owner>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    body: Body<T>,
) -> sys::napi_value {
    let mut count = MOST_ARGUMENTS;
    let mut raw = [ptr::null_mut(); MOST_ARGUMENTS];
    let mut data = ptr::null_mut();
    // SAFETY: all out-pointers are locals, and `raw` has room for `count` values.
    let status = unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            raw.as_mut_ptr(),
            ptr::null_mut(),
            &raw mut data,
        )
    };
    if check(status).is_err() || data.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise.
    let own = unsafe { &*data.cast_const().cast::<T>() };
    // SAFETY: a callback runs on its environment's thread with a scope open; the runtime has just filled `raw`.
    let (js, arguments) = unsafe {
        let js = Js::new(env);
        (js, raw.map(|value| js.value_of(value)))
    };
    let call = Call {
        js,
        own,
        arguments,
        given: count,
    };
    let failure = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(Some(value))) => return value.raw(),
        Ok(Ok(None)) => return ptr::null_mut(),
        Ok(Err(failure)) => failure,
        Err(_panic) => Failure::internal(PANICKED),
    };
    raise(js, own.environment(), failure);
    ptr::null_mut()
}

/// Throws a failure.
pub(crate) fn raise(js: Js<'_>, environment: &Environment, failure: Failure) {
    let error = match failure {
        Failure::Abandoned => return,
        Failure::Argument(message) => js.type_error(&message),
        Failure::Coded(code, message) => coded_error(js, environment, code, &message),
    };
    if let Ok(error) = error {
        js.throw(error);
    }
}

fn coded_error<'s>(
    js: Js<'s>,
    environment: &Environment,
    code: &str,
    message: &str,
) -> Outcome<Value<'s>> {
    match environment.error_class() {
        Some(class) => js.construct(js.kept(class)?, [js.string(code)?, js.string(message)?]),
        None => js.error(code, message),
    }
}

/// Runs a callback that has no call to answer, in a scope of its own: not every runtime opens one.
/// A failure or panic becomes an uncaught exception.
pub(crate) fn guarded(
    js: Js<'_>,
    environment: &Environment,
    work: impl FnOnce(Js<'_>) -> Outcome<()>,
) {
    let _no_scope = js.scoped(|js| {
        match catch_unwind(AssertUnwindSafe(|| work(js))) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => raise(js, environment, failure),
            Err(_panic) => raise(js, environment, Failure::internal(PANICKED)),
        }
        js.report_pending();
        Ok(())
    });
}

const PANICKED: &str = "Millrace panicked; the message is on the standard error output";
