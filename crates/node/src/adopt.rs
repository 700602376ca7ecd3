//! Connections of a server of `node:http`, which become connections of an attached listener. Owns how a descriptor is
//! found: in the socket's handle, never in an argument.

use millrace_gateway::Adopted;

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::Value;

/// `adopt(listener, socket, bytes): boolean`: takes over the connection of a `net.Socket`, of which these bytes were
/// read. The socket keeps its own descriptor, and is to be destroyed. False: the peer has left, or the listener is being
/// stopped.
pub(crate) fn adopt<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let (js, [listener, socket, bytes, ..]) = (call.js, call.arguments);
    let listener = arguments::whole(js, listener, "listener")?;
    let early = js
        .with_bytes(bytes, <[u8]>::to_vec)?
        .ok_or_else(|| arguments::wrong(js, bytes, "bytes", "bytes"))?;
    let taken = match adopted(call, socket)? {
        Some(adopted) => call.own.gateway()?.adopt(listener, adopted, early),
        None => false,
    };
    js.boolean(taken).map(Some)
}

/// `None`: the peer has left.
#[cfg(unix)]
fn adopted(call: &Call<'_, Bound>, socket: Value<'_>) -> Outcome<Option<Adopted>> {
    use std::io::ErrorKind;

    use millrace_sockets::{Duplicate, duplicate};

    use crate::js::Type;

    let js = call.js;
    let no_socket = || arguments::wrong(js, socket, "socket", "a connected net.Socket");
    if js.type_of(socket)? != Type::Object {
        return Err(no_socket());
    }
    let handle = js.get(socket, c"_handle")?;
    if js.type_of(handle)? != Type::Object {
        return Err(no_socket());
    }
    let descriptor = js.as_number(js.get(handle, c"fd")?)?;
    let descriptor = descriptor
        .and_then(crate::numbers::to_u32)
        .and_then(|descriptor| i32::try_from(descriptor).ok())
        .ok_or_else(no_socket)?;
    match duplicate(descriptor) {
        Ok(Duplicate::Tcp(stream)) => Ok(Some(stream.into())),
        Ok(Duplicate::Unix(stream)) => Ok(Some(stream.into())),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(None),
        Err(error) => Err(Failure::Coded(
            "ERR_MILLRACE_CANNOT_ATTACH",
            format!("the connection of an HTTP server cannot be taken over: {error}"),
        )),
    }
}

#[cfg(not(unix))]
fn adopted(_call: &Call<'_, Bound>, _socket: Value<'_>) -> Outcome<Option<Adopted>> {
    Err(Failure::Coded(
        "ERR_MILLRACE_CANNOT_ATTACH",
        "connections of an HTTP server cannot be taken over on this system".to_owned(),
    ))
}
