//! `poll` and `epoll`, with arrays of alternating numbers.

use millrace_sockets::Turn;

#[cfg(target_os = "linux")]
use super::arguments::descriptor;
use super::arguments::int;
#[cfg(target_os = "linux")]
use super::done;
use super::{Answer, table, told};
use crate::arguments::wrong;
use crate::entry::Call;
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::js::{Js, Value};
use crate::numbers;

/// `poll(entries, timeout): number[] | undefined | number`: `entries` has descriptors and events alternately. Returns
/// what happened at each descriptor.
pub(super) fn poll<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let mut entries = pairs(js, call.arguments[0])?;
    let timeout = int(call, 1, "timeout")?;
    told(js, table().poll(&mut entries, timeout), |turn| {
        if turn == Turn::Waiting {
            return Ok(None);
        }
        let events = entries
            .iter()
            .map(|(_, events)| f64::from(events.cast_unsigned()));
        list(js, events).map(Some)
    })
}

/// `epollCreate(flags): number`
#[cfg(target_os = "linux")]
pub(super) fn epoll_create<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let flags = int(call, 0, "flags")?;
    let made = table().epoll_create(call.own.number(), flags);
    told(call.js, made, |number| {
        call.js.number(f64::from(number)).map(Some)
    })
}

/// `epollControl(epfd, op, fd, events): number`
#[cfg(target_os = "linux")]
pub(super) fn epoll_control<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let (epoll, of) = (descriptor(call, 0, "epfd")?, descriptor(call, 2, "fd")?);
    let (operation, events) = (int(call, 1, "op")?, int(call, 3, "events")?);
    let result = table().epoll_control(epoll, operation, of, events.cast_unsigned());
    done(call.js, result)
}

/// `epollWait(epfd, maxevents, timeout): number[] | undefined | number`: returns descriptors and events alternately.
#[cfg(target_os = "linux")]
pub(super) fn epoll_wait<'s>(call: &Call<'s, Environment>) -> Answer<'s> {
    let js = call.js;
    let epoll = descriptor(call, 0, "epfd")?;
    let (most, timeout) = (int(call, 1, "maxevents")?, int(call, 2, "timeout")?);
    told(js, table().epoll_wait(epoll, most, timeout), |turn| {
        let Turn::Done(events) = turn else {
            return Ok(None);
        };
        let numbers: Vec<f64> = events
            .into_iter()
            .flat_map(|(number, events)| [f64::from(number), f64::from(events)])
            .collect();
        list(js, numbers.into_iter()).map(Some)
    })
}

/// Converts numbers to an array.
fn list(js: Js<'_>, numbers: impl ExactSizeIterator<Item = f64>) -> Outcome<Value<'_>> {
    let array = js.array(numbers.len())?;
    for (index, number) in (0..).zip(numbers) {
        js.scoped(|js| js.set_element(array, index, js.number(number)?))?;
    }
    Ok(array)
}

/// Reads the descriptors and events of an array in which JavaScript has put only integers.
fn pairs(js: Js<'_>, value: Value<'_>) -> Outcome<Vec<(u32, i16)>> {
    if !js.is_array(value)? {
        return Err(wrong(js, value, "entries", "an array"));
    }
    let mut pairs = Vec::new();
    for index in 0..js.array_length(value)? / 2 {
        let pair = js.scoped(|js| {
            let fd = js.as_number(js.element(value, 2 * index)?)?;
            let events = js.as_number(js.element(value, 2 * index + 1)?)?;
            Ok((fd, events))
        })?;
        let fd = pair.0.and_then(numbers::to_u32).unwrap_or(u32::MAX);
        let events = pair.1.and_then(numbers::to_i32).unwrap_or(0);
        // the events of `poll` have 16 bits
        let [low, high, ..] = events.to_le_bytes();
        pairs.push((fd, i16::from_le_bytes([low, high])));
    }
    Ok(pairs)
}
