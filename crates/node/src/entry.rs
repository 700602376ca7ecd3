//! The entry from JavaScript into Rust: raw callbacks, because a generated function costs more than most of these
//! functions do. Owns reading the arguments, catching panics and throwing failures.
#![expect(unsafe_code, reason = "a raw callback gets raw pointers")]

use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::sys;

use crate::failure::{Failure, Outcome, check};
use crate::js::{Js, Reference, Value};

/// An object that a group of functions works on.
pub(crate) trait Owner: Sized + 'static {
    /// The class of errors with a code, after JavaScript has set it.
    fn error_class(&self) -> Option<Reference>;

    /// Keeps the object alive as long as `function`, which carries its [`data`](Self::data).
    fn keep(own: &Rc<Self>, js: Js<'_>, function: Value<'_>) -> Outcome<()>;

    /// The pointer that its functions carry.
    fn data(own: &Rc<Self>) -> *mut c_void {
        Rc::as_ptr(own).cast_mut().cast()
    }

    /// The object that a function belongs to; `None` if the function may be called after the object is gone.
    ///
    /// # Safety
    /// `data` comes from [`data`](Self::data), and the function that carries it is being called and was
    /// [kept](Self::keep).
    unsafe fn of(data: *mut c_void) -> Option<Rc<Self>> {
        let own = data.cast_const().cast::<Self>();
        // SAFETY: the object exists, as the caller promises. The count added here belongs to the caller, so the
        // object also outlives what the call does to it.
        Some(unsafe {
            Rc::increment_strong_count(own);
            Rc::from_raw(own)
        })
    }
}

/// One call from JavaScript. Omitted arguments are `undefined`.
#[derive(Debug)]
pub(crate) struct Call<'s, T: 'static> {
    pub(crate) js: Js<'s>,
    pub(crate) own: &'s Rc<T>,
    pub(crate) arguments: [Value<'s>; MOST_ARGUMENTS],
    /// The number of arguments that were given.
    pub(crate) given: usize,
}

/// The signature of a function; `None` is `undefined`.
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

/// Adds one function to `object`. The body is a parameter so that its type and the owner's type match.
pub(crate) fn attach<T: Owner>(
    js: Js<'_>,
    object: Value<'_>,
    (name, raw): (&CStr, Raw),
    own: &Rc<T>,
    _body: Body<T>,
) -> Outcome<()> {
    let function = js.function(name, raw, T::data(own))?;
    T::keep(own, js, function)?;
    js.set(object, name, function)
}

/// # Safety
/// The runtime calls this as a function that was [attached](attach) to a `T`.
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
    // SAFETY: as the caller promises.
    let Some(own) = (unsafe { T::of(data) }) else {
        return ptr::null_mut();
    };
    // SAFETY: a callback runs on its environment's thread with a scope open, and the runtime has just filled `raw`.
    let (js, arguments) = unsafe {
        let js = Js::new(env);
        (js, raw.map(|value| js.value_of(value)))
    };
    let call = Call {
        js,
        own: &own,
        arguments,
        given: count,
    };
    let failure = match catch_unwind(AssertUnwindSafe(|| body(&call))) {
        Ok(Ok(Some(value))) => return value.raw(),
        Ok(Ok(None)) => return ptr::null_mut(),
        Ok(Err(failure)) => failure,
        Err(_panic) => Failure::internal(PANICKED),
    };
    raise(js, &*own, failure);
    ptr::null_mut()
}

/// Throws a failure.
pub(crate) fn raise(js: Js<'_>, owner: &impl Owner, failure: Failure) {
    let error = match failure {
        Failure::Abandoned => return,
        Failure::Argument(message) => js.type_error(&message),
        Failure::Coded(code, message) => coded_error(js, owner, code, &message),
    };
    if let Ok(error) = error {
        js.throw(error);
    }
}

fn coded_error<'s>(
    js: Js<'s>,
    owner: &impl Owner,
    code: &str,
    message: &str,
) -> Outcome<Value<'s>> {
    match owner.error_class() {
        Some(class) => js.construct(js.kept(class)?, [js.string(code)?, js.string(message)?]),
        None => js.error(code, message),
    }
}

/// Runs a callback that has no result, in a scope of its own, because not every runtime opens one. A failure or
/// panic becomes an uncaught exception.
pub(crate) fn guarded(js: Js<'_>, owner: &impl Owner, work: impl FnOnce(Js<'_>) -> Outcome<()>) {
    let _no_scope = js.scoped(|js| {
        match catch_unwind(AssertUnwindSafe(|| work(js))) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => raise(js, owner, failure),
            Err(_panic) => raise(js, owner, Failure::internal(PANICKED)),
        }
        js.report_pending();
        Ok(())
    });
}

const PANICKED: &str = "Millrace panicked; the message is on the standard error output";
