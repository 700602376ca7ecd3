//! The functions of `millrace/sockets`, on every Unix. They return a result or a negative number, the system's `errno`.
//! `false` means an invalid address, and `undefined` means that a slice of waiting has ended and the call must be
//! repeated. JavaScript turns these into errors. Owns the results; `crates/sockets` makes the calls.

mod arguments;
mod events;
mod transfer;

use millrace_sockets::{Fault, Place, Table, constants, error_text, host_address};

use crate::addon::ADDON;
use crate::arguments as general;
use crate::entry::{Call, define};
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::js::{Js, Value};
use arguments::{descriptor, int, port};

type Answer<'s> = Outcome<Option<Value<'s>>>;

/// `sockets()`: returns an object with the functions.
pub(crate) fn sockets<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let object = call.js.object()?;
    define!(call.js, object, call.own, {
        c"constants" => all_constants,
        c"errorText" => text_of_error,
        c"isDetached" => is_detached,
        c"socket" => socket,
        c"bind" => bind,
        c"listen" => listen,
        c"shutdown" => shutdown,
        c"setNonblocking" => set_nonblocking,
        c"close" => close,
        c"setOption" => set_option,
        c"option" => option,
        c"ownAddress" => own_address,
        c"peerAddress" => peer_address,
        c"isConnected" => is_connected,
        c"hostAddress" => address_of_host,
        c"accept" => transfer::accept,
        c"connect" => transfer::connect,
        c"send" => transfer::send,
        c"sendTo" => transfer::send_to,
        c"receive" => transfer::receive,
        c"receiveFrom" => transfer::receive_from,
        c"poll" => events::poll,
    });
    #[cfg(target_os = "linux")]
    define!(call.js, object, call.own, {
        c"epollCreate" => events::epoll_create,
        c"epollControl" => events::epoll_control,
        c"epollWait" => events::epoll_wait,
    });
    Ok(Some(object))
}

/// The descriptors of all threads.
fn table() -> &'static Table {
    ADDON.sockets()
}

/// Converts the result of a call for JavaScript.
fn told<'s, T>(
    js: Js<'s>,
    result: Result<T, Fault>,
    show: impl FnOnce(T) -> Answer<'s>,
) -> Answer<'s> {
    match result {
        Ok(value) => show(value),
        Err(Fault::System(errno)) => js.number(f64::from(-errno)).map(Some),
        Err(_) => js.boolean(false).map(Some),
    }
}

/// Converts the result of a call that returns no value.
#[inline(never)]
fn done(js: Js<'_>, result: Result<(), Fault>) -> Answer<'_> {
    told(js, result, |()| js.number(0.0).map(Some))
}

#[inline(never)]
fn show_place<'s>(js: Js<'s>, object: Value<'s>, place: &Place) -> Outcome<()> {
    js.set(object, c"address", js.string(&place.address)?)?;
    js.set(object, c"port", js.number(f64::from(place.port))?)
}

/// `constants(): Record<string, number>`
fn all_constants<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let object = js.object()?;
    for (name, number) in constants() {
        js.set_key(object, js.string(name)?, js.number(f64::from(number))?)?;
    }
    Ok(Some(object))
}

/// `errorText(errno): string`
fn text_of_error<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let errno = int(call, 0, "errno")?;
    call.js.string(&error_text(errno)).map(Some)
}

/// `isDetached(buffer): boolean`
fn is_detached<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let is = call.js.is_detached(call.arguments[0])?;
    call.js.boolean(is).map(Some)
}

/// `socket(domain, type, protocol): number`
fn socket<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (domain, kind) = (int(call, 0, "domain")?, int(call, 1, "type")?);
    let protocol = int(call, 2, "protocol")?;
    let made = table().socket(call.own.number(), domain, kind, protocol);
    told(call.js, made, |number| {
        call.js.number(f64::from(number)).map(Some)
    })
}

/// `bind(fd, address, port): number | false`
fn bind<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    let address = general::text(call.js, call.arguments[1], "address")?;
    let port = port(call, 2, number)?;
    done(call.js, table().bind(number, &address, port))
}

/// `listen(fd, backlog): number`
fn listen<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (number, backlog) = (descriptor(call, 0, "fd")?, int(call, 1, "backlog")?);
    done(call.js, table().listen(number, backlog))
}

/// `shutdown(fd, how): number`
fn shutdown<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (number, how) = (descriptor(call, 0, "fd")?, int(call, 1, "how")?);
    done(call.js, table().shutdown(number, how))
}

/// `setNonblocking(fd): number`
fn set_nonblocking<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    done(call.js, table().set_nonblocking(number))
}

/// `close(fd): number`
fn close<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    done(call.js, table().close(number))
}

/// `setOption(fd, level, name, value): number`
fn set_option<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (number, level) = (descriptor(call, 0, "fd")?, int(call, 1, "level")?);
    let (name, value) = (int(call, 2, "name")?, int(call, 3, "value")?);
    done(call.js, table().set_option(number, level, name, value))
}

/// `option(fd, level, name): [number] | number`: an array, because a value may also be negative.
fn option<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let (number, level) = (descriptor(call, 0, "fd")?, int(call, 1, "level")?);
    let name = int(call, 2, "name")?;
    told(js, table().option(number, level, name), |value| {
        let answer = js.array(1)?;
        js.set_element(answer, 0, js.number(f64::from(value))?)?;
        Ok(Some(answer))
    })
}

/// `ownAddress(fd): {address, port} | number`
fn own_address<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    shown(call.js, table().own_address(number))
}

/// `peerAddress(fd): {address, port} | number`
fn peer_address<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    shown(call.js, table().peer_address(number))
}

fn shown(js: Js<'_>, place: Result<Place, Fault>) -> Answer<'_> {
    told(js, place, |place| {
        let object = js.object()?;
        show_place(js, object, &place)?;
        Ok(Some(object))
    })
}

/// `isConnected(fd): boolean | number`
fn is_connected<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let number = descriptor(call, 0, "fd")?;
    told(call.js, table().is_connected(number), |is| {
        call.js.boolean(is).map(Some)
    })
}

/// `hostAddress(name): string | number`: waits for the system's resolver.
fn address_of_host<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let name = general::text(js, call.arguments[0], "name")?;
    let found = host_address(&name).map_err(Fault::System);
    told(js, found, |address| {
        js.string(&address.to_string()).map(Some)
    })
}
