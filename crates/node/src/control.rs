//! Starting, listening, stopping: the functions that are called a few times in a process's life. Owns their argument
//! lists; the gateway or JavaScript makes every decision.

use std::sync::Arc;
use std::time::Duration;

use millrace_gateway::{Doorbell, Notice, SpreadTerms, StopTerms};

use crate::arguments;
use crate::bound::Bound;
use crate::config;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::hot::close_code;
use crate::js::{Js, Type, Value};
use crate::sources::Listener;
use crate::{log, numbers};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `start(config, onNotice)`: starts the I/O shards and keeps the process running. `onNotice` is called when there are
/// notices to take. If this thread has started the gateway already, it only compares the options. A shared gateway is
/// started by the first of its threads.
pub(crate) fn start<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [options, listener, ..]) = (call.js, call.arguments);
    let mut config = config::gateway(js, options)?;
    config.log = log::dispatch(call.own);
    if js.type_of(listener)? != Type::Function {
        return Err(arguments::wrong(js, listener, "onNotice", "a function"));
    }
    if call.own.notices().is_some() {
        return call.own.start(config, Arc::new(Silent)).map(|()| None);
    }
    let listener = Listener::new(js, listener)?;
    let mut door: Option<Arc<dyn Doorbell>> = None;
    let environment = call.own.environment();
    let number = environment.add_source(js, |made, _line| {
        door = Some(made);
        listener
    })?;
    call.own.set_notices(Some(number));
    let started = match door {
        Some(door) => environment
            .hold(js)
            .and_then(|()| call.own.start(config, door)),
        None => Err(Failure::internal("a source was added without a doorbell")),
    };
    match started {
        Ok(()) => {
            call.own.set_started(true);
            Ok(None)
        }
        Err(failure) => {
            forget_notices(call)?;
            Err(failure)
        }
    }
}

/// The doorbell of a start that only compares options: the gateway keeps its own.
struct Silent;

impl Doorbell for Silent {
    fn ring(&self) {}
}

fn forget_notices(call: &Call<'_, Bound>) -> Outcome<()> {
    let Some(number) = call.own.notices() else {
        return Ok(());
    };
    call.own.set_notices(None);
    call.own.forget_member();
    let environment = call.own.environment();
    if let Some(listener) = environment.remove_source(number) {
        listener.end(call.js);
    }
    if call.own.set_held(true) {
        environment.release(call.js)?;
    }
    Ok(())
}

/// `isRunning(): boolean`: for a shared gateway, whether this thread is a member, too.
pub(crate) fn is_running<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    call.js.boolean(call.own.is_running()?).map(Some)
}

/// `listen(config): {id, address}`
pub(crate) fn listen<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    let config = config::listener(js, call.arguments[0])?;
    let listening = match call.own.party()? {
        Some(member) => member.listen(config),
        None => call.own.gateway()?.listen(config),
    };
    let listening = listening.map_err(|error| Failure::Coded(error.code(), error.to_string()))?;
    let object = js.object()?;
    js.set(object, c"id", js.number(f64::from(listening.id))?)?;
    js.set(object, c"address", js.string(&listening.address)?)?;
    Ok(Some(object))
}

/// `reloadTls(listeners)`: takes `{id, tls}` for each listener and replaces all of them or none.
pub(crate) fn reload_tls<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, list) = (call.js, call.arguments[0]);
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "listeners", "an array"));
    }
    let mut configs = Vec::new();
    for index in 0..js.array_length(list)? {
        let entry = js.element(list, index)?;
        let id = arguments::whole(js, js.get(entry, c"id")?, "id")?;
        configs.push((id, config::tls(js, js.get(entry, c"tls")?)?));
    }
    call.own
        .gateway()?
        .reload_tls(&configs)
        .map_err(|error| Failure::Coded(error.code(), error.to_string()))?;
    Ok(None)
}

/// `stopListeners(ids, drainMs, spreadMs, code): ticket`: with a spread of 0, all connections are closed at once, and the
/// code is not used. Listeners of a thread that shares its gateway have no spread.
pub(crate) fn stop_listeners<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [list, drain, spread, code, ..]) = (call.js, call.arguments);
    let ids = listener_ids(js, list)?;
    let drain = time(js, drain, "drain")?;
    let spread = SpreadTerms {
        time: time(js, spread, "spread")?,
        code: close_code(js, code)?,
    };
    let ticket = if let Some(member) = call.own.member() {
        member.stop_listeners(&ids, drain)
    } else {
        let spread = (!spread.time.is_zero()).then_some(spread);
        let terms = StopTerms { drain, spread };
        call.own.gateway()?.stop_listeners(&ids, terms)
    };
    js.number(f64::from(ticket)).map(Some)
}

/// `hastenStop(ticket, drainMs?, spreadMs?)`: shortens a stop in progress.
pub(crate) fn hasten_stop<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let (js, [ticket, drain, spread, ..]) = (call.js, call.arguments);
    let ticket = arguments::whole(js, ticket, "ticket")?;
    let given = |value, name| {
        let is_given = !arguments::is_undefined(js, value)?;
        is_given.then(|| time(js, value, name)).transpose()
    };
    let (drain, spread) = (given(drain, "drain")?, given(spread, "spread")?);
    call.own.gateway()?.hasten_stop(ticket, spread, drain);
    Ok(None)
}

fn time(js: Js<'_>, value: Value<'_>, name: &str) -> Outcome<Duration> {
    let ms = arguments::whole(js, value, name)?;
    Ok(Duration::from_millis(u64::from(ms)))
}

/// `stopAccepting(ids)`: makes these listeners refuse further connections.
pub(crate) fn stop_accepting<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let ids = listener_ids(call.js, call.arguments[0])?;
    call.own.gateway()?.stop_accepting(&ids);
    Ok(None)
}

fn listener_ids<'s>(js: Js<'s>, list: Value<'s>) -> Outcome<Vec<u32>> {
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "ids", "an array"));
    }
    (0..js.array_length(list)?)
        .map(|index| arguments::whole(js, js.element(list, index)?, "ids"))
        .collect()
}

/// `setHeld(held)`: sets whether the gateway that this thread started keeps the process running.
pub(crate) fn set_held<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let held = call.js.to_boolean(call.arguments[0])?;
    if call.own.notices().is_some() && call.own.set_held(held) != held {
        let environment = call.own.environment();
        if held {
            environment.hold(call.js)?;
        } else {
            environment.release(call.js)?;
        }
    }
    Ok(None)
}

/// `shutdown()`: stops the I/O shards, or leaves them to the other threads that share them. A notice follows.
pub(crate) fn shutdown<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    call.own.shutdown()?;
    Ok(None)
}

/// `takeNotices(): object[]`
pub(crate) fn take_notices<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let js = call.js;
    let notices = match call.own.member() {
        Some(member) => member.take_notices(),
        None => call.own.gateway()?.take_notices(),
    };
    let list = js.array(notices.len())?;
    for (index, notice) in (0_u32..).zip(&notices) {
        js.set_element(list, index, show_notice(js, notice)?)?;
    }
    Ok(Some(list))
}

fn show_notice<'s>(js: Js<'s>, notice: &Notice) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let kind = match notice {
        Notice::ListenersStopped { ticket, cut } => {
            js.set(object, c"ticket", js.number(f64::from(*ticket))?)?;
            js.set(object, c"cut", js.number(numbers::from_u64(*cut))?)?;
            "listenersStopped"
        }
        Notice::Stopped => "stopped",
        Notice::BackplaneReady => "backplaneReady",
        Notice::WorkerUnresponsive { worker, ms } => {
            js.set(object, c"worker", js.number(f64::from(*worker))?)?;
            js.set(object, c"ms", js.number(numbers::from_u64(*ms))?)?;
            "workerUnresponsive"
        }
        Notice::DialFailed { dial, error } => {
            js.set(object, c"dial", js.number(f64::from(*dial))?)?;
            js.set(object, c"message", js.string(&error.message)?)?;
            js.set(object, c"isTls", js.boolean(error.is_tls)?)?;
            js.set(object, c"isLate", js.boolean(error.timed_out)?)?;
            if let Some(code) = error.code {
                js.set(object, c"errno", js.number(f64::from(code))?)?;
            }
            if let Some(address) = error.address {
                js.set(object, c"address", js.string(&address.ip().to_string())?)?;
                js.set(object, c"port", js.number(f64::from(address.port()))?)?;
            }
            "dialFailed"
        }
        Notice::Error { code, message } => {
            js.set(object, c"code", js.string(code)?)?;
            js.set(object, c"message", js.string(message)?)?;
            "error"
        }
        other => return Err(Failure::internal(&format!("unknown notice {other:?}"))),
    };
    js.set(object, c"kind", js.string(kind)?)?;
    Ok(object)
}

/// `suspendLiveness(suspended)`: suspends the check that workers answer, while an inspector is attached.
pub(crate) fn suspend_liveness<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    let suspended = call.js.to_boolean(call.arguments[0])?;
    call.own
        .with(|gateway| gateway.suspend_liveness(suspended))?;
    Ok(None)
}

/// `ended()`: tells that the notice of the complete stop has come, so that the process may end.
pub(crate) fn ended<'s>(call: &Call<'s, Bound>) -> Answer<'s> {
    log::close_log(call);
    forget_notices(call)?;
    Ok(None)
}
