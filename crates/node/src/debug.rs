//! The result of `getDebugState`. Owns its shape; changes nothing.

use millrace_gateway::{Annotation, ChannelState, Handlers, SocketState, unix_ms};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Type, Value};
use crate::numbers;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `debugState(mode, key)`
pub(crate) fn debug_state<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    match arguments::text(js, call.arguments[0], "mode")?.as_str() {
        "channels" => channels(call),
        "sockets" => sockets(call),
        "workers" => workers(call),
        "kv" => keys(call),
        other => Err(Failure::Argument(format!(
            "Invalid mode: argument 'mode' must be 'channels', 'sockets', 'workers' or 'kv', not '{other}'"
        ))),
    }
}

fn channels<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, key) = (call.js, call.arguments[1]);
    let gateway = call.own.gateway()?;
    let states = match js.type_of(key)? {
        Type::Undefined => gateway.core().channels(MOST),
        Type::Number => gateway
            .core()
            .channels_of(arguments::id(js, key, "key")?, MOST),
        _ => {
            let mut scratch = call.own.environment().scratch().borrow();
            let name = arguments::name(js, key, "key", &mut scratch)?;
            let state = gateway
                .core()
                .channel(scratch.get(name).unwrap_or_default());
            return state.map(|state| show_channel(js, &state)).transpose();
        }
    };
    let list = js.array(states.len())?;
    for (index, state) in (0_u32..).zip(&states) {
        js.scoped(|js| js.set_element(list, index, show_channel(js, state)?))?;
    }
    Ok(Some(list))
}

fn show_channel<'s>(js: Js<'s>, state: &ChannelState) -> Outcome<Value<'s>> {
    let object = js.object()?;
    js.set(object, c"channel", js.buffer(&state.name)?)?;
    let subscribers = js.object()?;
    for (id, count) in &state.subscribers {
        js.scoped(|js| {
            js.set_key(
                subscribers,
                js.number(numbers::from_id(*id))?,
                js.number(f64::from(*count))?,
            )
        })?;
    }
    js.set(object, c"subscribers", subscribers)?;
    Ok(object)
}

fn sockets<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    let gateway = call.own.gateway()?;
    if let Some(id) = arguments::optional_id(js, call.arguments[1], "key")? {
        return gateway
            .core()
            .socket(id)
            .map(|state| show_socket(js, &state))
            .transpose();
    }
    let object = js.object()?;
    for (id, state) in gateway.core().sockets() {
        js.scoped(|js| {
            js.set_key(
                object,
                js.number(numbers::from_id(id))?,
                show_socket(js, &state)?,
            )
        })?;
    }
    Ok(Some(object))
}

fn show_socket<'s>(js: Js<'s>, state: &SocketState) -> Outcome<Value<'s>> {
    let object = js.object()?;
    match state {
        SocketState::Real {
            address, worker, ..
        } => {
            let ip = address
                .map(|address| address.to_string())
                .unwrap_or_default();
            js.set(object, c"ip", js.string(&ip)?)?;
            js.set(object, c"workerId", js.number(f64::from(*worker))?)?;
        }
        SocketState::Virtual { target, annotation } => {
            js.set(
                object,
                c"targetSocketId",
                js.number(numbers::from_id(*target))?,
            )?;
            match annotation.as_deref() {
                None => {}
                Some(Annotation::Prefix(prefix)) => {
                    js.set(object, c"userPrefix", js.buffer(prefix)?)?;
                }
                Some(Annotation::UserData(data)) => {
                    js.set(object, c"userData", js.number(f64::from(*data))?)?;
                }
            }
        }
    }
    Ok(object)
}

fn workers<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, key) = (call.js, call.arguments[1]);
    let all = call.own.with(|gateway| gateway.active_workers())?;
    if !arguments::is_undefined(js, key)? {
        let wanted = arguments::whole(js, key, "key")?;
        return all
            .iter()
            .find(|worker| worker.id() == wanted)
            .map(|worker| show_worker(js, worker.handlers()))
            .transpose();
    }
    let object = js.object()?;
    for worker in all {
        js.scoped(|js| {
            js.set_key(
                object,
                js.number(f64::from(worker.id()))?,
                show_worker(js, worker.handlers())?,
            )
        })?;
    }
    Ok(Some(object))
}

fn show_worker(js: Js<'_>, handlers: Handlers) -> Outcome<Value<'_>> {
    let object = js.object()?;
    js.set(
        object,
        c"hasTextHandler",
        js.boolean(handlers.contains(Handlers::TEXT))?,
    )?;
    js.set(
        object,
        c"hasBinaryHandler",
        js.boolean(handlers.contains(Handlers::BINARY))?,
    )?;
    js.set(
        object,
        c"hasCloseHandler",
        js.boolean(handlers.contains(Handlers::CLOSE))?,
    )?;
    js.set(
        object,
        c"hasOpenHandler",
        js.boolean(handlers.contains(Handlers::OPEN))?,
    )?;
    Ok(object)
}

fn keys<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, key) = (call.js, call.arguments[1]);
    let gateway = call.own.gateway()?;
    if !arguments::is_undefined(js, key)? {
        let mut scratch = call.own.environment().scratch().borrow();
        let place = arguments::name(js, key, "key", &mut scratch)?;
        let key = scratch.get(place).unwrap_or_default();
        return gateway
            .key(key)
            .map(|value| show_pair(js, key, &value))
            .transpose();
    }
    let pairs = gateway.core().keys(MOST, unix_ms());
    let list = js.array(pairs.len())?;
    for (index, (key, value)) in (0_u32..).zip(&pairs) {
        js.scoped(|js| js.set_element(list, index, show_pair(js, key, value)?))?;
    }
    Ok(Some(list))
}

fn show_pair<'s>(js: Js<'s>, key: &[u8], value: &[u8]) -> Outcome<Value<'s>> {
    let object = js.object()?;
    js.set(object, c"key", js.buffer(key)?)?;
    js.set(object, c"value", js.buffer(value)?)?;
    Ok(object)
}

/// The most channels or keys that are shown.
const MOST: usize = 2000;
