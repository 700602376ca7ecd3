//! The key/value store that JavaScript shares: strings, and whole numbers in digits.

use bytes::Bytes;
use millrace_protocol::resp::{append_integer, parse_integer};

use super::call::{Call, Flow};

pub(super) fn get(call: &mut Call<'_>) -> Flow {
    let value = call.session.gateway.key(call.argument(1));
    call.reply(|reply| reply.optional(value.as_deref()))
}

pub(super) fn getdel(call: &mut Call<'_>) -> Flow {
    let value = call.session.gateway.set_key(call.argument(1), None);
    call.reply(|reply| reply.optional(value.as_deref()))
}

/// What `SET` was given.
#[derive(Default)]
struct Options {
    only_absent: bool,
    only_present: bool,
    gives_old: bool,
}

pub(super) fn set(call: &mut Call<'_>) -> Flow {
    let options = match options(call) {
        Ok(options) => options,
        Err(text) => return call.error(text),
    };
    let (key, value) = (call.argument(1), Bytes::copy_from_slice(call.argument(2)));
    let Options {
        only_absent,
        only_present,
        gives_old,
    } = options;
    let gateway = &call.session.gateway;
    let (old, done) = if only_absent || only_present {
        loop {
            let old = gateway.key(key);
            if old.is_some() == only_absent {
                break (old, false);
            }
            if gateway.set_key_if(key, Some(value.clone()), old.as_deref()) {
                break (old, true);
            }
        }
    } else {
        (gateway.set_key(key, Some(value)), true)
    };
    call.reply(|reply| {
        if gives_old {
            reply.optional(old.as_deref());
        } else if done {
            reply.simple("OK");
        } else {
            reply.null();
        }
    })
}

fn options(call: &Call<'_>) -> Result<Options, &'static str> {
    let mut options = Options::default();
    for word in call.arguments(3) {
        let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
        if is(b"nx") && !options.only_present {
            options.only_absent = true;
        } else if is(b"xx") && !options.only_absent {
            options.only_present = true;
        } else if is(b"get") {
            options.gives_old = true;
        } else if [&b"ex"[..], b"px", b"exat", b"pxat"].into_iter().any(is) {
            return Err("ERR keys do not expire here");
        } else if !is(b"keepttl") {
            return Err("ERR syntax error");
        }
    }
    Ok(options)
}

pub(super) fn setnx(call: &mut Call<'_>) -> Flow {
    let value = Bytes::copy_from_slice(call.argument(2));
    let gateway = &call.session.gateway;
    let set = gateway.set_key_if(call.argument(1), Some(value), None);
    call.integer(usize::from(set))
}

pub(super) fn del(call: &mut Call<'_>) -> Flow {
    let gateway = &call.session.gateway;
    let gone = call
        .arguments(1)
        .filter(|key| gateway.set_key(key, None).is_some());
    let gone = gone.count();
    call.integer(gone)
}

pub(super) fn exists(call: &mut Call<'_>) -> Flow {
    let gateway = &call.session.gateway;
    let there = call.arguments(1).filter(|key| gateway.key(key).is_some());
    let there = there.count();
    call.integer(there)
}

pub(super) fn mget(call: &mut Call<'_>) -> Flow {
    let gateway = &call.session.gateway;
    let (mut values, mut bytes) = (Vec::with_capacity(call.request.count() - 1), 0);
    for key in call.arguments(1) {
        let value = gateway.key(key);
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
        call.session.gateway.set_key(key, Some(value));
    }
    call.ok()
}

pub(super) fn dbsize(call: &mut Call<'_>) -> Flow {
    let keys = call.session.gateway.core().counts().keys;
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
    loop {
        let old = call.session.gateway.key(key);
        let Some(before) = old.as_deref().map_or(Some(0), parse_integer) else {
            return call.error(NO_INTEGER);
        };
        let Some(sum) = before.checked_add(number) else {
            return call.error("ERR increment or decrement would overflow");
        };
        let mut digits = Vec::new();
        append_integer(sum, &mut digits);
        let gateway = &call.session.gateway;
        if gateway.set_key_if(key, Some(digits.into()), old.as_deref()) {
            return call.reply(|reply| reply.integer(sum));
        }
    }
}

/// Bytes of values given at once.
const VALUES_BYTES: usize = 64 * 1024 * 1024;

const NO_INTEGER: &str = "ERR value is not an integer or out of range";
