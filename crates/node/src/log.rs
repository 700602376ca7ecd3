//! The log of a gateway on the JavaScript thread that starts it: the functions that open it and take its
//! lines. Owns the shape of the lines there; filters and formats nothing.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::Outcome;
use crate::js::{Js, Type, Value};
use crate::log_relay::Logging;
use crate::log_sink::{Field, Filter, Line, Sink};
use crate::numbers;
use crate::sources::Listener;

/// `openLog(filter, onLines)`: keeps what the I/O threads of the next `start` log for `takeLog`, and calls
/// `onLines` when there are lines. `filter` contains targets, as prefixes, and levels alternately: 0 is off,
/// 1 is `error`, 5 is `trace`. The longest matching prefix counts.
pub(crate) fn open_log<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let (js, [list, listener, ..]) = (call.js, call.arguments);
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "filter", "an array"));
    }
    if js.type_of(listener)? != Type::Function {
        return Err(arguments::wrong(js, listener, "onLines", "a function"));
    }
    let mut filter = Filter::default();
    for index in (1..js.array_length(list)?).step_by(2) {
        let prefix = arguments::text(js, js.element(list, index - 1)?, "filter")?;
        filter.add(
            prefix,
            arguments::whole(js, js.element(list, index)?, "filter")?,
        );
    }
    close_log(call);
    let listener = Listener::new(js, listener)?;
    let mut sink = None;
    let number = call.own.environment().add_source(js, |door, _line| {
        sink = Some(Arc::new(Sink::new(filter, door)));
        listener
    })?;
    if let Some(sink) = sink {
        let beside = Dispatch::new(NoSubscriber::new());
        let (relayed, dispatch) = match call.own.shared() {
            Some(shared) => {
                let (relayed, dispatch) = shared.log.add(&sink);
                (Some(relayed), dispatch)
            }
            None => (None, Dispatch::new(Arc::clone(&sink))),
        };
        call.own.log().replace(Some(Logging {
            sink,
            dispatch,
            number,
            _relayed: relayed,
            _beside: beside,
        }));
    }
    Ok(None)
}

/// The log dispatch for the start of the gateway.
pub(crate) fn dispatch(bound: &Bound) -> Option<Dispatch> {
    let log = bound.log().borrow();
    log.as_ref().map(|logging| logging.dispatch.clone())
}

/// Closes the log, because the gateway has ended or gets another log.
pub(crate) fn close_log(call: &Call<'_, Bound>) {
    let Some(logging) = call.own.log().take() else {
        return;
    };
    let source = call.own.environment().remove_source(logging.number);
    if let Some(listener) = source {
        listener.end(call.js);
    }
}

/// `takeLog(): {lines, dropped}`: returns the lines since the last call and the number of dropped lines.
pub(crate) fn take_log<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let js = call.js;
    let log = call.own.log().borrow();
    let (lines, dropped) = log
        .as_ref()
        .map(|logging| logging.sink.take())
        .unwrap_or_default();
    let list = js.array(lines.len())?;
    for (index, line) in (0_u32..).zip(&lines) {
        js.scoped(|js| js.set_element(list, index, show(js, line)?))?;
    }
    let taken = js.object()?;
    js.set(taken, c"lines", list)?;
    js.set(taken, c"dropped", js.number(numbers::from_u64(dropped))?)?;
    Ok(Some(taken))
}

fn show<'s>(js: Js<'s>, line: &Line) -> Outcome<Value<'s>> {
    let object = js.object()?;
    let since = line.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or_default();
    js.set(object, c"time", js.number(numbers::from_u64(millis))?)?;
    js.set(object, c"level", js.string(line.level)?)?;
    js.set(object, c"target", js.string(line.target)?)?;
    js.set(object, c"message", js.string(&line.message)?)?;
    let fields = js.object()?;
    for (name, field) in &line.fields {
        let value = match field {
            Field::Text(text) => js.string(text)?,
            Field::Number(number) => js.number(*number)?,
            Field::Flag(flag) => js.boolean(*flag)?,
        };
        js.set_key(fields, js.string(name)?, value)?;
    }
    js.set(object, c"fields", fields)?;
    Ok(object)
}
