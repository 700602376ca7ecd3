//! The module's exports: the functions that need no gateway. Owns their argument lists.

use crate::addon::{self, ADDON};
use crate::arguments;
use crate::bind;
use crate::entry::{Call, define};
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::js::{Js, Type, Value};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// Fills the module's exports.
pub(crate) fn define_module(
    js: Js<'_>,
    exports: Value<'_>,
    environment: &'static Environment,
) -> Outcome<()> {
    js.set(exports, c"version", js.string(env!("CARGO_PKG_VERSION"))?)?;
    js.set(exports, c"state", js.string(&addon::identity())?)?;
    js.set(exports, c"file", js.module_file()?)?;
    define!(js, exports, environment, {
        c"isOfThisThread" => is_of_this_thread,
        c"setErrorClass" => set_error_class,
        c"ringAgain" => ring_again,
        c"createGateway" => create_gateway,
        c"bind" => bind::bind,
    });
    Ok(())
}

/// `isOfThisThread(): boolean`: false on a stale module object, made for another thread or one that ended.
fn is_of_this_thread<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    call.js.boolean(call.own.is_of_this_thread()).map(Some)
}

/// `setErrorClass(class)`: what is thrown for failures with a code, constructed with code and message.
fn set_error_class<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let class = call.arguments[0];
    if call.js.type_of(class)? != Type::Function {
        return Err(arguments::wrong(call.js, class, "class", "a class"));
    }
    call.own.set_error_class(call.js, class)?;
    Ok(None)
}

/// `ringAgain(): void`: the runtime loses rings; to be called before anything else that rings.
fn ring_again<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    call.own.ring_again().map(|()| None)
}

/// `createGateway(): {id, gateway}`: an isolated gateway, bound to this thread.
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
