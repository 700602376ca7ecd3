//! The functions for a worker's events. Owns their argument lists; never decodes a record.

use bytes::Bytes;
use millrace_gateway::{Acceptance, Rejection, SocketId};

use crate::arguments;
use crate::drain;
use crate::entry::Call;
use crate::failure::Outcome;
use crate::handlers::HandlerThread;
use crate::js::{Js, Value};
use crate::numbers;

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `activate()`: accepts connections from now on.
pub(crate) fn activate<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.present()?.activate();
    Ok(None)
}

/// `retire()`: accepts nothing any more.
#[expect(clippy::unnecessary_wraps, reason = "every callback has this shape")]
pub(crate) fn retire<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.retire(call.js);
    Ok(None)
}

/// `leave()`: the worker is replaced. It accepts no more connections, and its own are closed with 1012.
pub(crate) fn leave<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.present()?.leave();
    Ok(None)
}

/// `connections(): number`: the number of connections that are pinned to it.
pub(crate) fn connections<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let count = call.own.worker().map_or(0, |worker| worker.connections());
    call.js.number(numbers::from_u64(count)).map(Some)
}

/// `guardFile(path)`: a file that is removed when this thread ends, until `releaseFile`. It need not be there.
pub(crate) fn guard_file<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let path = arguments::text(call.js, call.arguments[0], "path")?;
    call.own.guarded_files().guard(path);
    Ok(None)
}

/// `releaseFile(path)`
pub(crate) fn release_file<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let path = arguments::text(call.js, call.arguments[0], "path")?;
    call.own.guarded_files().release(path);
    Ok(None)
}

/// `hold(socketId, events, bytes)`
pub(crate) fn hold<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (socket, events, bytes) = credit(call)?;
    call.own
        .post(|worker, dirty| worker.hold(socket, events, bytes, dirty))?;
    Ok(None)
}

/// `release(socketId, events, bytes)`
pub(crate) fn release<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (socket, events, bytes) = credit(call)?;
    call.own
        .post(|worker, dirty| worker.release(socket, events, bytes, dirty))?;
    Ok(None)
}

fn credit(call: &Call<'_, HandlerThread>) -> Outcome<(SocketId, u32, u32)> {
    let (js, [socket, events, bytes, ..]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    Ok((
        socket,
        arguments::whole(js, events, "events")?,
        arguments::whole(js, bytes, "bytes")?,
    ))
}

/// `claimClose(socketId): boolean`
pub(crate) fn claim_close<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let socket = arguments::id(call.js, call.arguments[0], "socketId")?;
    let claimed = call
        .own
        .worker()
        .is_some_and(|worker| worker.claim_close(socket));
    call.js.boolean(claimed).map(Some)
}

/// `acceptOpen(socketId, protocol, token, headers, isValue)`: `headers` has names and values alternately; `isValue`
/// tells whether the token is a serialised value.
pub(crate) fn accept_open<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [socket, protocol, token, headers, is_value]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let acceptance = acceptance(call, protocol, (token, is_value), headers)?;
    call.own
        .post(|worker, dirty| worker.accept_open(socket, acceptance, dirty))?;
    Ok(None)
}

/// `acceptWith(socketId, {protocol, token, headers, isValue, limitKey, compress})`: the same with what few connections have.
pub(crate) fn accept_with<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [socket, more, ..]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let mut acceptance = acceptance(
        call,
        js.get(more, c"protocol")?,
        (js.get(more, c"token")?, js.get(more, c"isValue")?),
        js.get(more, c"headers")?,
    )?;
    let key = js.get(more, c"limitKey")?;
    if !arguments::is_undefined(js, key)? {
        acceptance.limit_key = Some(arguments::text(js, key, "limitKey")?.into());
    }
    acceptance.uncompressed = !js.to_boolean(js.get(more, c"compress")?)?;
    call.own
        .post(|worker, dirty| worker.accept_open(socket, acceptance, dirty))?;
    Ok(None)
}

fn acceptance<'s>(
    call: &Call<'s, HandlerThread>,
    protocol: Value<'s>,
    (token, is_value): (Value<'s>, Value<'s>),
    headers: Value<'s>,
) -> Outcome<Acceptance> {
    let js = call.js;
    let protocol = if arguments::is_undefined(js, protocol)? {
        None
    } else {
        Some(arguments::text(js, protocol, "protocol")?)
    };
    let mut scratch = call.own.environment().scratch().borrow();
    let token = arguments::optional_copied(js, token, "token", &mut scratch)?;
    let token = token.map(|bytes| arguments::token(js, bytes, is_value));
    Ok(Acceptance {
        protocol,
        token: token.transpose()?,
        headers: read_headers(js, headers)?,
        limit_key: None,
        uncompressed: false,
    })
}

/// `refuseOpen(socketId, status, headers, body)`
pub(crate) fn refuse_open<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let (js, [socket, status, headers, body, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let status = u16::try_from(arguments::whole(js, status, "status")?)
        .map_err(|_| arguments::wrong(js, status, "status", "an HTTP status"))?;
    let mut scratch = call.own.environment().scratch().borrow();
    let body: Bytes =
        arguments::optional_copied(js, body, "body", &mut scratch)?.unwrap_or_default();
    let rejection = Rejection {
        status,
        headers: read_headers(js, headers)?,
        body,
    };
    call.own
        .post(|worker, dirty| worker.refuse_open(socket, rejection, dirty))?;
    Ok(None)
}

fn read_headers(js: Js<'_>, list: Value<'_>) -> Outcome<Vec<(String, String)>> {
    if arguments::is_undefined(js, list)? {
        return Ok(Vec::new());
    }
    if !js.is_array(list)? {
        return Err(arguments::wrong(js, list, "headers", "an array"));
    }
    let mut headers = Vec::new();
    for index in (1..js.array_length(list)?).step_by(2) {
        let name = arguments::text(js, js.element(list, index - 1)?, "headers")?;
        headers.push((
            name,
            arguments::text(js, js.element(list, index)?, "headers")?,
        ));
    }
    Ok(headers)
}

/// `rebatch(): ArrayBuffer | undefined`: returns the whole current batch again.
pub(crate) fn rebatch<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let batch = call.own.batch().borrow();
    batch
        .as_ref()
        .map(|batch| call.js.array_buffer(&batch.bytes).map(|(buffer, _)| buffer))
        .transpose()
}

/// `drainNow(): boolean`: does at once what a ring does. Returns whether there was something to handle.
pub(crate) fn drain_now<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let handled = drain::drain(call.js, call.own)?;
    call.js.boolean(handled).map(Some)
}

/// `observe(micros)`: records how long a handler took.
pub(crate) fn observe<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let micros = numbers::to_u64(call.js.to_number(call.arguments[0])?).unwrap_or_default();
    if let Some(worker) = call.own.worker() {
        worker.observe(micros);
    }
    Ok(None)
}

/// `wake()`: makes the I/O threads send what the running drain has posted so far.
#[expect(clippy::unnecessary_wraps, reason = "every callback has this shape")]
pub(crate) fn wake<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    call.own.bound().wake_dirty();
    Ok(None)
}

/// `isIdle(): boolean`: whether no event waits and none is being handled.
pub(crate) fn is_idle<'s>(call: &Call<'s, HandlerThread>) -> Answer<'s> {
    let idle = call.own.batch().borrow().is_none()
        && call.own.worker().is_none_or(|worker| worker.is_idle());
    call.js.boolean(idle).map(Some)
}
