//! Queries about all nodes, from any thread: a query returns a ticket, and the thread polls for the result. Owns
//! the shape of the result; knows no node.

use millrace_gateway::{ClusterInfo, MOST_CHANNELS};

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers::from_u64;

/// `askCluster(channels): ticket`
pub(crate) fn ask_cluster<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let (js, list) = (call.js, call.arguments[0]);
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "channels", "an array"));
    }
    let count = js.array_length(list)?;
    if usize::try_from(count).is_ok_and(|count| count > MOST_CHANNELS) {
        return Err(Failure::Argument(format!(
            "argument 'channels' must have at most {MOST_CHANNELS} names, not {count}"
        )));
    }
    let mut channels = Vec::new();
    let mut scratch = call.own.environment().scratch().borrow();
    for index in 0..count {
        let element = js.element(list, index)?;
        let name = arguments::name(js, element, &format!("channels[{index}]"), &mut scratch)?;
        channels.push(scratch.get(name).unwrap_or_default().into());
    }
    let ticket = call.own.with(|gateway| gateway.ask_cluster(channels))?;
    js.number(f64::from(ticket)).map(Some)
}

/// `clusterAnswer(ticket)`: returns the results of all nodes when they have come.
pub(crate) fn cluster_answer<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let js = call.js;
    let ticket = arguments::whole(js, call.arguments[0], "ticket")?;
    let info = call.own.with(|gateway| gateway.cluster_answer(ticket))?;
    info.map(|info| show(js, &info)).transpose()
}

fn show<'s>(js: Js<'s>, info: &ClusterInfo) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let nodes = js.array(info.nodes.len())?;
    for (index, node) in (0_u32..).zip(&info.nodes) {
        let entry = js.object()?;
        js.set(entry, c"id", js.string(&format!("{:016x}", node.node))?)?;
        js.set(entry, c"isSelf", js.boolean(node.is_self)?)?;
        let census = node.census;
        for (name, count) in [
            (c"sockets", census.sockets),
            (c"channels", census.channels),
            (c"subscriptions", census.subscriptions),
        ] {
            js.set(entry, name, js.number(from_u64(count))?)?;
        }
        js.set_element(nodes, index, entry)?;
    }
    js.set(object, c"nodes", nodes)?;
    let subscribers = js.array(info.subscribers.len())?;
    for (index, count) in (0_u32..).zip(&info.subscribers) {
        js.set_element(subscribers, index, js.number(from_u64(*count))?)?;
    }
    js.set(object, c"subscribers", subscribers)?;
    js.set(object, c"isComplete", js.boolean(info.is_complete)?)?;
    Ok(object)
}
