//! The key/value store that RESP shares with JavaScript: strings, and integers in decimal digits. Each command is one
//! atomic step per key.

use bytes::Bytes;
use millrace_core::{Held, Update};
use millrace_protocol::resp::{append_integer, parse_integer};

use super::call::{Call, Flow, NO_INTEGER};
use super::expiry::{SetOptions, Until};
use super::long::NO_ROOM;

pub(super) fn get(call: &mut Call<'_, '_>) -> Flow {
    let value = call.hub().key(call.argument(1));
    let value = value.as_deref();
    match call.room_for(value.map_or(0, <[u8]>::len)) {
        Ok(room) => call.reply_value(room, value),
        Err(_) => call.error(NO_ROOM),
    }
}

pub(super) fn getdel(call: &mut Call<'_, '_>) -> Flow {
    let hub = call.hub();
    let taken = hub.update_key(call.argument(1), |held| {
        let Some(held) = held else {
            return (Update::Keep, Ok((None, None)));
        };
        match call.room_for(held.value.len()) {
            Ok(room) => (Update::Delete, Ok((room, Some(held.value.clone())))),
            // the value stays, or it would be lost
            Err(unfit) => (Update::Keep, Err(unfit)),
        }
    });
    match taken {
        Ok((room, value)) => call.reply_value(room, value.as_deref()),
        Err(_) => call.error(NO_ROOM),
    }
}

pub(super) fn set(call: &mut Call<'_, '_>) -> Flow {
    let options = match SetOptions::read(call) {
        Ok(options) => options,
        Err(text) => return call.error(text),
    };
    let (key, value) = (call.argument(1), Bytes::copy_from_slice(call.argument(2)));
    let set = call.hub().update_key(key, |held| {
        let old = held.map(|held| held.value.clone());
        let given = old.as_ref().filter(|_| options.gives_old);
        let room = match call.room_for(given.map_or(0, Bytes::len)) {
            Ok(room) => room,
            Err(unfit) => return (Update::Keep, Err(unfit)),
        };
        let is_refused = if held.is_some() {
            options.only_absent
        } else {
            options.only_present
        };
        if is_refused {
            return (Update::Keep, Ok((room, old, false)));
        }
        let until = match options.until {
            Until::Never => None,
            Until::AsBefore => held.and_then(|held| held.until),
            Until::At(time) => Some(time),
        };
        (Update::Set { value, until }, Ok((room, old, true)))
    });
    let Ok((room, old, done)) = set else {
        return call.error(NO_ROOM);
    };
    if options.gives_old {
        return call.reply_value(room, old.as_deref());
    }
    call.reply(|reply| {
        if done {
            reply.simple("OK");
        } else {
            reply.null();
        }
    })
}

pub(super) fn setnx(call: &mut Call<'_, '_>) -> Flow {
    let value = Bytes::copy_from_slice(call.argument(2));
    let hub = call.hub();
    let set = hub.set_key_if(call.argument(1), Some(value), None);
    call.integer(usize::from(set))
}

pub(super) fn del(call: &mut Call<'_, '_>) -> Flow {
    let hub = call.hub();
    let gone = call
        .arguments(1)
        .filter(|key| hub.set_key(key, None).is_some());
    let gone = gone.count();
    call.integer(gone)
}

pub(super) fn exists(call: &mut Call<'_, '_>) -> Flow {
    let hub = call.hub();
    let there = call.arguments(1).filter(|key| hub.key(key).is_some());
    let there = there.count();
    call.integer(there)
}

pub(super) fn mget(call: &mut Call<'_, '_>) -> Flow {
    let hub = call.hub();
    let values: Vec<Option<Bytes>> = call.arguments(1).map(|key| hub.key(key)).collect();
    let length = |value: &Option<Bytes>| value.as_ref().map_or(0, Bytes::len) + BULK_AROUND;
    let mut long = call.long();
    // the same key may be named a million times
    if let Err(unfit) = long.make_room(values.iter().map(length).fold(0, usize::saturating_add)) {
        return call.error(unfit.text("ERR the values are too long: ask for fewer"));
    }
    let mut reply = long.reply();
    for value in &values {
        reply.optional(value.as_deref());
    }
    let whole = long.finish(|reply| reply.array(values.len()));
    call.reply_whole(whole)
}

pub(super) fn mset(call: &mut Call<'_, '_>) -> Flow {
    if call.request.count().is_multiple_of(2) {
        return call.wrong_arity();
    }
    let mut words = call.arguments(1);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        let value = Bytes::copy_from_slice(value);
        call.hub().set_key(key, Some(value));
    }
    call.ok()
}

pub(super) fn dbsize(call: &mut Call<'_, '_>) -> Flow {
    let hub = call.hub();
    hub.expire_keys();
    let keys = hub.core().key_count();
    call.integer(keys)
}

pub(super) fn incr(call: &mut Call<'_, '_>) -> Flow {
    add(call, 1)
}

pub(super) fn incrby(call: &mut Call<'_, '_>) -> Flow {
    match parse_integer(call.argument(2)) {
        Some(number) => add(call, number),
        None => call.error(NO_INTEGER),
    }
}

fn add(call: &mut Call<'_, '_>, number: i64) -> Flow {
    let key = call.argument(1);
    let sum = call.hub().update_key(key, |held| {
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

/// The most bytes that a reply adds to a value.
const BULK_AROUND: usize = 24;
