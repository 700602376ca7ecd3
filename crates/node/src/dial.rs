//! Outbound connections. Owns the argument list.

use crate::bound::Bound;
use crate::config;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::Value;

/// `dial(config): id`. A later event tells whether the peer was reached.
pub(crate) fn dial<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    let js = call.js;
    let config = config::dial(js, call.arguments[0])?;
    let dialled = match call.own.party()? {
        Some(member) => member.dial(config),
        None => call.own.gateway()?.dial(config),
    };
    let id = dialled.map_err(|error| Failure::Coded(error.code(), error.to_string()))?;
    js.number(f64::from(id)).map(Some)
}
