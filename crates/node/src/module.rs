//! The module: what a thread that loads the addon gets, and the functions that need no gateway. Owns their
//! argument lists.
#![expect(unsafe_code, reason = "the module's initialisation gets raw pointers")]

use std::rc::Rc;
use std::sync::atomic::Ordering;

use napi::sys;

use crate::addon::{self, ADDON};
use crate::arguments;
use crate::bind;
use crate::entry::{Call, define, raise};
use crate::environment::{self, Environment};
use crate::failure::Outcome;
use crate::http_request::parse_http_request;
use crate::js::{Js, Type, Value};
use crate::numbers;
#[cfg(unix)]
use crate::sockets;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// Fills the exports for a thread that has just loaded the addon.
pub(crate) fn open(env: sys::napi_env, exports: sys::napi_value) -> napi::Result<()> {
    // SAFETY: the runtime is calling the module's initialisation on this thread, in a scope, with this value.
    let (js, exports) = unsafe {
        let js = Js::new(env);
        (js, js.value_of(exports))
    };
    let environment = environment::open(js)
        .map_err(|failure| napi::Error::from_reason(format!("no environment: {failure:?}")))?;
    define_module(js, exports, &environment).map_err(|failure| {
        raise(js, &*environment, failure);
        napi::Error::from_status(napi::Status::PendingException)
    })
}

/// Fills the module's exports.
fn define_module(js: Js<'_>, exports: Value<'_>, environment: &Rc<Environment>) -> Outcome<()> {
    js.set(exports, c"version", js.string(env!("CARGO_PKG_VERSION"))?)?;
    js.set(exports, c"state", js.string(&addon::identity())?)?;
    js.set(exports, c"file", js.module_file()?)?;
    define!(js, exports, environment, {
        c"isOfThisThread" => is_of_this_thread,
        c"setErrorClass" => set_error_class,
        c"ringAgain" => ring_again,
        c"wakeByLibuv" => wake_by_libuv,
        c"weighBuffers" => weigh_buffers,
        c"createGateway" => create_gateway,
        c"sharedGateway" => shared_gateway,
        c"bind" => bind::bind,
        c"counts" => counts,
        c"parseHttpRequest" => parse_http_request,
    });
    #[cfg(unix)]
    define!(js, exports, environment, { c"sockets" => sockets::sockets });
    Ok(())
}

/// `isOfThisThread(): boolean`: returns `undefined` on a stale module object, whose thread has ended or is
/// another one.
fn is_of_this_thread<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    call.js.boolean(true).map(Some)
}

/// `counts(): {environments, gateways, workers}`: the current numbers of objects made for JavaScript threads.
fn counts<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let object = js.object()?;
    let counts = ADDON.counts();
    for (name, count) in [
        (c"environments", &counts.environments),
        (c"gateways", &counts.gateways),
        (c"workers", &counts.workers),
    ] {
        let count = numbers::from_usize(count.load(Ordering::Relaxed));
        js.set(object, name, js.number(count)?)?;
    }
    Ok(Some(object))
}

/// `setErrorClass(class)`: sets the class of errors with a code. It is constructed with code and message.
fn set_error_class<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let class = call.arguments[0];
    if call.js.type_of(class)? != Type::Function {
        return Err(arguments::wrong(call.js, class, "class", "a class"));
    }
    call.own.set_error_class(call.js, class)?;
    Ok(None)
}

/// `ringAgain(): void`: tells that the runtime loses rings. Must be called before anything that rings.
fn ring_again<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    call.own.ring_again().map(|()| None)
}

/// `wakeByLibuv(version): void`: tells that the runtime's event loop is libuv of this version, by which the thread is woken
/// from then on. Does nothing where the program does not show libuv's functions, and on Windows.
fn wake_by_libuv<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let version = arguments::text(call.js, call.arguments[0], "version")?;
    #[cfg(unix)]
    call.own.wake_by_libuv(&version);
    #[cfg(not(unix))]
    drop(version);
    Ok(None)
}

/// `weighBuffers(): void`: tells that the runtime collects external buffers too late.
#[expect(clippy::unnecessary_wraps, reason = "every callback has this shape")]
fn weigh_buffers<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    call.own.weigh();
    Ok(None)
}

/// `createGateway(): {id, gateway}`: makes an isolated gateway, bound to this thread.
fn create_gateway<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (id, gateway) = ADDON.create();
    let object = call.js.object()?;
    call.js.set(object, c"id", call.js.number(f64::from(id))?)?;
    call.js.set(
        object,
        c"gateway",
        bind::object(call.js, call.own, gateway)?,
    )?;
    Ok(Some(object))
}

/// `sharedGateway(name): {id, gateway}`: returns the process's gateway with this name, bound to this thread.
fn shared_gateway<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let shared = ADDON.shared(&arguments::text(js, call.arguments[0], "name")?);
    let object = js.object()?;
    js.set(object, c"id", js.number(f64::from(shared.id))?)?;
    js.set(
        object,
        c"gateway",
        bind::shared_object(js, call.own, shared)?,
    )?;
    Ok(Some(object))
}
