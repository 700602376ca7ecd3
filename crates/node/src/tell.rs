//! What a worker tells the protocol of a socket beside messages and closes. Owns the argument list; the operations are the
//! protocol's.

use crate::arguments;
use crate::entry::Call;
use crate::failure::Outcome;
use crate::handlers::HandlerThread;
use crate::js::Value;

/// `tell(socketId, operation, fields, payload): boolean`: false if the socket is gone, or its I/O thread has too much to do.
pub(crate) fn tell<'s>(call: &Call<'s, HandlerThread>) -> Outcome<Option<Value<'s>>> {
    let (js, [socket, operation, fields, payload, _]) = (call.js, call.arguments);
    let socket = arguments::id(js, socket, "socketId")?;
    let operation = arguments::whole(js, operation, "operation")?;
    let bound = call.own.bound();
    let tell = |fields: &[u8], payload: &[u8]| {
        bound.post(|gateway, dirty| gateway.tell(socket, operation, fields, payload, dirty))
    };
    let mut scratch = call.own.environment().scratch().borrow();
    let place = arguments::name(js, fields, "fields", &mut scratch)?;
    let told = if call.given < 4 || arguments::is_undefined(js, payload)? {
        tell(scratch.get(place).unwrap_or_default(), &[])?
    } else {
        arguments::with_data(
            js,
            payload,
            "payload",
            &mut scratch,
            |before, _kind, payload| tell(before.get(place).unwrap_or_default(), payload),
        )??
    };
    js.boolean(told).map(Some)
}
