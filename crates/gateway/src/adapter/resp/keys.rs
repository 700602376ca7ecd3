//! The key/value store that JavaScript shares: strings, and whole numbers in digits. Each command is
//! one step on each key.

use bytes::Bytes;
use millrace_core::{Held, Update};
use millrace_protocol::resp::{append_integer, parse_integer};

use super::call::{Call, Flow};
use super::expiry::{SetOptions, Until};

pub(super) fn get(call: &mut Call<'_>) -> Flow {
    let value = call.session.hub.key(call.argument(1));
    call.reply(|reply| reply.optional(value.as_deref()))
}

pub(super) fn getdel(call: &mut Call<'_>) -> Flow {
    let value = call.session.hub.set_key(call.argument(1), None);
    call.reply(|reply| reply.optional(value.as_deref()))
}

pub(super) fn set(call: &mut Call<'_>) -> Flow {
    let options = match SetOptions::read(call) {
        Ok(options) => options,
        Err(text) => return call.error(text),
    };
    let (key, value) = (call.argument(1), Bytes::copy_from_slice(call.argument(2)));
    let (old, done) = call.session.hub.update_key(key, |held| {
        let old = held.map(|held| held.value.clone());
        let is_refused = if held.is_some() {
            options.only_absent
        } else {
            options.only_present
        };
        if is_refused {
            return (Update::Keep, (old, false));
        }
        let until = match options.until {
            Until::Never => None,
            Until::AsBefore => held.and_then(|held| held.until),
            Until::At(time) => Some(time),
        };
        (Update::Set { value, until }, (old, true))
    });
    call.reply(|reply| {
        if options.gives_old {
            reply.optional(old.as_deref());
        } else if done {
            reply.simple("OK");
        } else {
            reply.null();
        }
    })
}

pub(super) fn setnx(call: &mut Call<'_>) -> Flow {
    let value = Bytes::copy_from_slice(call.argument(2));
    let hub = &call.session.hub;
    let set = hub.set_key_if(call.argument(1), Some(value), None);
    call.integer(usize::from(set))
}

pub(super) fn del(call: &mut Call<'_>) -> Flow {
    let hub = &call.session.hub;
    let gone = call
        .arguments(1)
        .filter(|key| hub.set_key(key, None).is_some());
    let gone = gone.count();
    call.integer(gone)
}

pub(super) fn exists(call: &mut Call<'_>) -> Flow {
    let hub = &call.session.hub;
    let there = call.arguments(1).filter(|key| hub.key(key).is_some());
    let there = there.count();
    call.integer(there)
}

pub(super) fn mget(call: &mut Call<'_>) -> Flow {
    let hub = &call.session.hub;
    let (mut values, mut bytes) = (Vec::with_capacity(call.request.count() - 1), 0);
    for key in call.arguments(1) {
        let value = hub.key(key);
        bytes += value.as_ref().map_or(0, Bytes::len);
        if bytes > VALUES_BYTES {
            return call.error("ERR the values are too long: ask for fewer");
        }
        values.push(value);
    }
    call.reply(|reply| {
        reply.array(values.len());
        for value in &values {
            reply.optional(value.as_deref());
        }
    })
}

pub(super) fn mset(call: &mut Call<'_>) -> Flow {
    if call.request.count().is_multiple_of(2) {
        return call.wrong_arity();
    }
    let mut words = call.arguments(1);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        let value = Bytes::copy_from_slice(value);
        call.session.hub.set_key(key, Some(value));
    }
    call.ok()
}

pub(super) fn dbsize(call: &mut Call<'_>) -> Flow {
    let hub = &call.session.hub;
    hub.expire_keys();
    let keys = hub.core().key_count();
    call.integer(keys)
}

pub(super) fn incr(call: &mut Call<'_>) -> Flow {
    add(call, 1)
}

pub(super) fn incrby(call: &mut Call<'_>) -> Flow {
    match parse_integer(call.argument(2)) {
        Some(number) => add(call, number),
        None => call.error(NO_INTEGER),
    }
}

fn add(call: &mut Call<'_>, number: i64) -> Flow {
    let key = call.argument(1);
    let sum = call.session.hub.update_key(key, |held| {
        let sum = sum(held, number);
        let update = sum.map_or(Update::Keep, |sum| {
            let mut digits = Vec::new();
            append_integer(sum, &mut digits);
            Update::Set {
                value: digits.into(),
                until: held.and_then(|held| held.until),
            }
        });
        (update, sum)
    });
    match sum {
        Ok(sum) => call.reply(|reply| reply.integer(sum)),
        Err(text) => call.error(text),
    }
}

fn sum(held: Option<Held<'_>>, number: i64) -> Result<i64, &'static str> {
    let before = match held {
        None => 0,
        Some(held) => parse_integer(held.value).ok_or(NO_INTEGER)?,
    };
    before
        .checked_add(number)
        .ok_or("ERR increment or decrement would overflow")
}

/// Bytes of values given at once.
const VALUES_BYTES: usize = 64 * 1024 * 1024;

pub(super) const NO_INTEGER: &str = "ERR value is not an integer or out of range";
