//! The gateway object of a JavaScript thread. Owns the list of its functions.

use std::rc::Rc;
use std::sync::Arc;

use millrace_gateway::Gateway;

use crate::addon::{ADDON, Shared};
use crate::bound::{self, Bound};
use crate::entry::{Call, define};
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::js::{Js, Value};
use crate::{
    add_worker, adopt, backpressure, calling, cluster, control, debug, dial, hot, log, past,
    presence, replies, stats, streams,
};

/// Makes an object with every function of `gateway`.
pub(crate) fn object<'s>(
    js: Js<'s>,
    environment: &Rc<Environment>,
    gateway: Arc<Gateway>,
) -> Outcome<Value<'s>> {
    functions(js, &Bound::new(Rc::clone(environment), gateway))
}

/// Does the same as [`object`] for a shared gateway.
pub(crate) fn shared_object<'s>(
    js: Js<'s>,
    environment: &Rc<Environment>,
    shared: Arc<Shared>,
) -> Outcome<Value<'s>> {
    functions(js, &Bound::shared_by(Rc::clone(environment), shared))
}

fn functions<'s>(js: Js<'s>, bound: &Rc<Bound>) -> Outcome<Value<'s>> {
    let object = js.object()?;
    define!(js, object, bound, {
        c"send" => hot::send,
        c"sendLong" => hot::send_long,
        c"sendUncompressed" => hot::send_uncompressed,
        c"reply" => replies::reply,
        c"subscribe" => hot::subscribe,
        c"unsubscribe" => hot::unsubscribe,
        c"publish" => past::publish,
        c"subscribeAt" => past::subscribe_at,
        c"history" => past::history,
        c"takePast" => past::take_past,
        c"presence" => presence::members,
        c"presenceCount" => presence::count,
        c"setPresence" => presence::set,
        c"copySubscriptions" => hot::copy_subscriptions,
        c"hasSubscriptions" => hot::has_subscriptions,
        c"createVirtualSocket" => hot::create_virtual_socket,
        c"deleteVirtualSocket" => hot::delete_virtual_socket,
        c"setToken" => hot::set_token,
        c"token" => hot::token,
        c"getKey" => hot::get_key,
        c"setKey" => hot::set_key,
        c"setKeyIf" => hot::set_key_if,
        c"close" => hot::close,
        c"terminate" => hot::terminate,
        c"ping" => hot::ping,
        c"outboxBytes" => backpressure::outbox_bytes,
        c"openAnswers" => backpressure::open_answers,
        c"whenDrained" => backpressure::when_drained,
        c"callClient" => calling::call_client,
        c"takeResult" => calling::take_result,
        c"takeAnswers" => backpressure::take_answers,
        c"forgetAnswer" => backpressure::forget_answer,
        c"beginStream" => streams::begin_stream,
        c"streamPart" => streams::stream_part,
        c"endStream" => streams::end_stream,
        c"openLog" => log::open_log,
        c"takeLog" => log::take_log,
        c"start" => control::start,
        c"isRunning" => control::is_running,
        c"listen" => control::listen,
        c"adopt" => adopt::adopt,
        c"dial" => dial::dial,
        c"reloadTls" => control::reload_tls,
        c"stopListeners" => control::stop_listeners,
        c"hastenStop" => control::hasten_stop,
        c"stopAccepting" => control::stop_accepting,
        c"setHeld" => control::set_held,
        c"shutdown" => control::shutdown,
        c"takeNotices" => control::take_notices,
        c"suspendLiveness" => control::suspend_liveness,
        c"ended" => control::ended,
        c"addWorker" => add_worker::add_worker,
        c"debugState" => debug::debug_state,
        c"stats" => stats::stats,
        c"countError" => stats::count_error,
        c"askCluster" => cluster::ask_cluster,
        c"clusterAnswer" => cluster::cluster_answer,
    });
    Ok(object)
}

/// `bind(id)`: returns the functions of a gateway.
pub(crate) fn bind<'s>(call: &Call<'s, Environment>) -> Outcome<Option<Value<'s>>> {
    let id = crate::arguments::whole(call.js, call.arguments[0], "id")?;
    let Some(gateway) = ADDON.find(id) else {
        return Err(bound::gone());
    };
    object(call.js, call.own, gateway).map(Some)
}
