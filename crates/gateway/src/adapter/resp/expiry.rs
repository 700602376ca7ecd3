//! Expiry of keys: the options of `SET`, and the commands that change it. Times are milliseconds of Unix time.

use millrace_core::Update;
use millrace_protocol::resp::parse_integer;

use super::call::{Call, Flow, NO_INTEGER};
use crate::contract::unix_ms;

/// The options of `SET`.
#[derive(Debug, Default)]
pub(super) struct SetOptions {
    pub(super) only_absent: bool,
    pub(super) only_present: bool,
    pub(super) gives_old: bool,
    pub(super) until: Until,
}

/// When a key that is set expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Until {
    #[default]
    Never,
    /// When the value before would have expired.
    AsBefore,
    At(u64),
}

impl SetOptions {
    pub(super) fn read(call: &Call<'_, '_>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = call.arguments(3);
        while let Some(word) = words.next() {
            let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
            let forever = options.until == Until::Never;
            if is(b"nx") && !options.only_present {
                options.only_absent = true;
            } else if is(b"xx") && !options.only_absent {
                options.only_present = true;
            } else if is(b"get") {
                options.gives_old = true;
            } else if is(b"keepttl") && forever {
                options.until = Until::AsBefore;
            } else {
                let (unit, start) = match word.to_ascii_lowercase().as_slice() {
                    b"ex" => (1000, now()),
                    b"px" => (1, now()),
                    b"exat" => (1000, 0),
                    b"pxat" => (1, 0),
                    _ => return Err(SYNTAX.to_owned()),
                };
                let value = words.next().filter(|_| forever).ok_or(SYNTAX)?;
                let value = parse_integer(value).ok_or(NO_INTEGER)?;
                let time = Some(value).filter(|value| *value > 0);
                let time = time.and_then(|time| moment(time, unit, start));
                let time = time.ok_or("ERR invalid expire time in 'set' command")?;
                options.until = Until::At(time);
            }
        }
        Ok(options)
    }
}

pub(super) fn expire(call: &mut Call<'_, '_>) -> Flow {
    end(call, 1000)
}

pub(super) fn pexpire(call: &mut Call<'_, '_>) -> Flow {
    end(call, 1)
}

pub(super) fn persist(call: &mut Call<'_, '_>) -> Flow {
    let key = call.argument(1);
    let changed = call.hub().update_key(key, |held| {
        if held.is_some_and(|held| held.until.is_some()) {
            (Update::Until(None), 1)
        } else {
            (Update::Keep, 0)
        }
    });
    call.integer(changed)
}

pub(super) fn ttl(call: &mut Call<'_, '_>) -> Flow {
    left(call, 1000)
}

pub(super) fn pttl(call: &mut Call<'_, '_>) -> Flow {
    left(call, 1)
}

/// Answers how many units of this many milliseconds a key has left.
fn left(call: &mut Call<'_, '_>, unit: i64) -> Flow {
    let key = call.argument(1);
    let hub = call.hub();
    let until = hub.update_key(key, |held| (Update::Keep, held.map(|held| held.until)));
    let number = match until {
        None => -2,
        Some(None) => -1,
        Some(Some(until)) => {
            let left = i64::try_from(until.saturating_sub(unix_ms())).unwrap_or(i64::MAX);
            left.saturating_add(unit / 2) / unit
        }
    };
    call.reply(|reply| reply.integer(number))
}

/// Makes a key expire after a number of units.
fn end(call: &mut Call<'_, '_>, unit: i64) -> Flow {
    let conditions = match Conditions::read(call) {
        Ok(conditions) => conditions,
        Err(text) => return call.error(text),
    };
    let Some(value) = parse_integer(call.argument(2)) else {
        return call.error(NO_INTEGER);
    };
    let start = now();
    let time = value
        .checked_mul(unit)
        .and_then(|value| value.checked_add(start));
    let Some(time) = time else {
        let name = call.command.name;
        return call.error(format!("ERR invalid expire time in '{name}' command"));
    };
    let key = call.argument(1);
    let changed = call.hub().update_key(key, |held| {
        if !held.is_some_and(|held| conditions.allow(held.until, time)) {
            return (Update::Keep, 0);
        }
        match u64::try_from(time).ok().filter(|_| time > start) {
            Some(time) => (Update::Until(Some(time)), 1),
            None => (Update::Delete, 1),
        }
    });
    call.integer(changed)
}

/// The conditions under which an expiry may be replaced.
#[derive(Default)]
struct Conditions {
    /// Whether the key must have an expiry (`XX`) or must not have one (`NX`).
    present: Option<bool>,
    /// Whether the new expiry must be later (`GT`) or earlier (`LT`) than the old one.
    later: Option<bool>,
}

impl Conditions {
    fn read(call: &Call<'_, '_>) -> Result<Self, Vec<u8>> {
        let [mut nx, mut xx, mut gt, mut lt] = [false; 4];
        for word in call.arguments(3) {
            match word.to_ascii_lowercase().as_slice() {
                b"nx" => nx = true,
                b"xx" => xx = true,
                b"gt" => gt = true,
                b"lt" => lt = true,
                _ => return Err([&b"ERR Unsupported option "[..], word].concat()),
            }
        }
        if nx && (xx || gt || lt) {
            return Err(NX_AND_OTHERS.into());
        }
        if gt && lt {
            return Err(GT_AND_LT.into());
        }
        Ok(Self {
            present: (nx || xx).then_some(xx),
            later: (gt || lt).then_some(gt),
        })
    }

    /// Whether the conditions allow this expiry. A key without an expiry counts as one that expires last.
    fn allow(&self, until: Option<u64>, time: i64) -> bool {
        let fits = match self.later {
            None => true,
            Some(later) => {
                let until =
                    until.map_or(i64::MAX, |until| i64::try_from(until).unwrap_or(i64::MAX));
                if later { time > until } else { time < until }
            }
        };
        fits && self
            .present
            .is_none_or(|present| present == until.is_some())
    }
}

fn now() -> i64 {
    i64::try_from(unix_ms()).unwrap_or(i64::MAX)
}

/// The time that many units after `start`.
fn moment(value: i64, unit: i64, start: i64) -> Option<u64> {
    let time = value.checked_mul(unit)?.checked_add(start)?;
    u64::try_from(time).ok()
}

const SYNTAX: &str = "ERR syntax error";
const NX_AND_OTHERS: &str = "ERR NX and XX, GT or LT options at the same time are not compatible";
const GT_AND_LT: &str = "ERR GT and LT options at the same time are not compatible";
