//! Connections and bytes. A call that does not end within a slice of time returns `undefined` and is repeated.

use millrace_sockets::{Place, Turn};

use super::arguments::{descriptor, int, port, size};
use super::{Answer, done, show_place, table, told};
use crate::arguments as general;
use crate::entry::Call;
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::js::{Js, Value};
use crate::numbers;

/// `accept(fd): {fd, address, port} | null | undefined | number`
pub(super) fn accept<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let number = descriptor(call, 0, "fd")?;
    let accepted = table().accept(call.own.number(), number);
    told(js, accepted, |turn| {
        turned(js, turn, |(fd, place)| {
            let object = js.object()?;
            js.set(object, c"fd", js.number(f64::from(fd))?)?;
            show_place(js, object, &place)?;
            Ok(object)
        })
    })
}

/// `connect(fd, address, port, again): number | false | undefined`
pub(super) fn connect<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let number = descriptor(call, 0, "fd")?;
    let address = general::text(js, call.arguments[1], "address")?;
    let port = port(call, 2, number)?;
    let again = js.to_boolean(call.arguments[3])?;
    match table().connect(number, &address, port, again) {
        Ok(Turn::Waiting) => Ok(None),
        other => done(js, other.map(|_| ())),
    }
}

/// `send(fd, data, flags, from): number | [number]`: omits the first `from` bytes. If more bytes must be sent, returns
/// an array with the number of bytes sent.
pub(super) fn send<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let number = descriptor(call, 0, "fd")?;
    let flags = int(call, 2, "flags")?;
    let from = general::whole(js, call.arguments[3], "from")?;
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    let sent = with_data(call, |bytes| {
        table().send(number, bytes.get(from..).unwrap_or_default(), flags, None)
    })?;
    told(js, sent, |(turn, count)| {
        let count = js.number(numbers::from_usize(count))?;
        if turn != Turn::Waiting {
            return Ok(Some(count));
        }
        let answer = js.array(1)?;
        js.set_element(answer, 0, count)?;
        Ok(Some(answer))
    })
}

/// `sendTo(fd, data, flags, address, port): number | false | undefined`
pub(super) fn send_to<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let number = descriptor(call, 0, "fd")?;
    let flags = int(call, 2, "flags")?;
    let address = general::text(js, call.arguments[3], "address")?;
    let port = port(call, 4, number)?;
    let to = Some((address.as_str(), port));
    let sent = with_data(call, |bytes| table().send(number, bytes, flags, to))?;
    told(js, sent, |(turn, count)| match turn {
        Turn::Waiting if count == 0 => Ok(None),
        _ => js.number(numbers::from_usize(count)).map(Some),
    })
}

/// `receive(fd, bufsize, flags, bytes): string | ArrayBuffer | null | undefined | number`
pub(super) fn receive<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let (number, most) = (descriptor(call, 0, "fd")?, size(call, 1)?);
    let flags = int(call, 2, "flags")?;
    let as_bytes = js.to_boolean(call.arguments[3])?;
    let mut room = call.own.scratch().borrow();
    let received = table().receive(number, &mut room, most, flags);
    told(js, received, |turn| {
        turned(js, turn, |()| show_data(js, &room, as_bytes))
    })
}

/// `receiveFrom(fd, bufsize, flags, bytes): {data, address, port} | null | undefined | number`
pub(super) fn receive_from<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let (number, most) = (descriptor(call, 0, "fd")?, size(call, 1)?);
    let flags = int(call, 2, "flags")?;
    let as_bytes = js.to_boolean(call.arguments[3])?;
    let mut room = call.own.scratch().borrow();
    let received = table().receive_from(number, &mut room, most, flags);
    told(js, received, |turn| {
        turned(js, turn, |place: Place| {
            let object = js.object()?;
            js.set(object, c"data", show_data(js, &room, as_bytes)?)?;
            show_place(js, object, &place)?;
            Ok(object)
        })
    })
}

/// Converts bytes to text as UTF-8, with invalid bytes replaced, or to an `ArrayBuffer`.
fn show_data<'s>(js: Js<'s>, bytes: &[u8], as_bytes: bool) -> Outcome<Value<'s>> {
    if as_bytes {
        return js.array_buffer(bytes).map(|(buffer, _)| buffer);
    }
    if bytes.is_ascii() {
        return js.ascii_string(bytes);
    }
    js.string(&String::from_utf8_lossy(bytes))
}

fn turned<'s, T>(
    js: Js<'s>,
    turn: Turn<T>,
    show: impl FnOnce(T) -> Outcome<Value<'s>>,
) -> Answer<'s> {
    match turn {
        Turn::Done(value) => show(value).map(Some),
        Turn::WouldBlock => js.null().map(Some),
        Turn::Waiting => Ok(None),
    }
}

fn with_data<R>(call: &Call<'_, Environment>, look: impl FnOnce(&[u8]) -> R) -> Outcome<R> {
    let mut scratch = call.own.scratch().borrow();
    general::with_data(
        call.js,
        call.arguments[1],
        "data",
        &mut scratch,
        |_before, _kind, bytes| look(bytes),
    )
}
