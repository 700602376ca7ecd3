//! The numbers that the functions of `millrace/sockets` get. Numbers never wrap: one that does not fit is a
//! `TypeError`. No function is inlined, because the addon would contain thirty copies of each, next to system calls
//! that take much longer.

use super::table;
use crate::arguments::{is_undefined, wrong};
use crate::entry::Call;
use crate::environment::Environment;
use crate::failure::Outcome;
use crate::numbers;

/// Reads a number that may be a descriptor: any integer of at most 32 bits. A number that cannot be a descriptor is
/// replaced by another that cannot be one.
#[inline(never)]
pub(super) fn descriptor(call: &Call<'_, Environment>, at: usize, name: &str) -> Outcome<u32> {
    let given = call.arguments[at];
    if let Some(number) = call.js.as_number(given)? {
        if let Some(number) = numbers::to_u32(number) {
            return Ok(number);
        }
        if numbers::to_i32(number).is_some() {
            return Ok(u32::MAX);
        }
    }
    Err(wrong(call.js, given, name, INTEGER))
}

/// Reads an integer of 32 bits.
#[inline(never)]
pub(super) fn int(call: &Call<'_, Environment>, at: usize, name: &str) -> Outcome<i32> {
    let given = call.arguments[at];
    if let Some(number) = call.js.as_number(given)?
        && let Some(number) = numbers::to_i32(number)
    {
        return Ok(number);
    }
    Err(wrong(call.js, given, name, INTEGER))
}

/// Reads a port. It may be omitted if addresses of the family `of` have none.
#[inline(never)]
pub(super) fn port(call: &Call<'_, Environment>, at: usize, of: u32) -> Outcome<u16> {
    let given = call.arguments[at];
    if is_undefined(call.js, given)? && !table().has_ports(of) {
        return Ok(0);
    }
    if let Some(number) = call.js.as_number(given)?
        && let Some(number) = numbers::to_u32(number)
        && let Ok(port) = u16::try_from(number)
    {
        return Ok(port);
    }
    Err(wrong(
        call.js,
        given,
        "port",
        "a whole number from 0 to 65535",
    ))
}

/// Reads how many bytes to receive.
#[inline(never)]
pub(super) fn size(call: &Call<'_, Environment>, at: usize) -> Outcome<usize> {
    let given = call.arguments[at];
    if let Some(number) = call.js.as_number(given)?
        && let Some(size) = numbers::to_u32(number).filter(|size| *size > 0)
    {
        return Ok(usize::try_from(size).map_or(MOST_BYTES, |size| size.min(MOST_BYTES)));
    }
    let expected = "a whole number of at least 1";
    Err(wrong(call.js, given, "bufsize", expected))
}

const INTEGER: &str = "an integer of at most 32 bits";

/// The most bytes that one call receives.
const MOST_BYTES: usize = 65_536;
