//! Looking through the keys.

use bytes::Bytes;
use millrace_core::Pattern;
use millrace_protocol::resp::parse_integer;

use super::call::{Call, Flow};
use crate::gateway::unix_ms;

pub(super) fn keys(call: &mut Call<'_>) -> Flow {
    let pattern = match Pattern::new(call.argument(1)) {
        Ok(pattern) => pattern,
        Err(error) => return call.error(format!("ERR {error}")),
    };
    let Some(found) = matching(call, Some(&pattern)) else {
        return call.error(TOO_MANY);
    };
    call.reply(|reply| {
        reply.array(found.len());
        for key in &found {
            reply.bulk(key);
        }
    })
}

/// Gives all keys at once: as many as Redis likes to give is up to Redis too.
pub(super) fn scan(call: &mut Call<'_>) -> Flow {
    let cursor = std::str::from_utf8(call.argument(1)).map(str::parse::<u64>);
    let Ok(Ok(cursor)) = cursor else {
        return call.error("ERR invalid cursor");
    };
    let mut wanted = Wanted::default();
    if let Err(text) = wanted.read(call) {
        return call.error(text);
    }
    let found = if cursor != 0 || wanted.other_type {
        Some(Vec::new())
    } else {
        matching(call, wanted.pattern.as_ref())
    };
    let Some(found) = found else {
        return call.error(TOO_MANY);
    };
    call.reply(|reply| {
        reply.array(2);
        reply.bulk(b"0");
        reply.array(found.len());
        for key in &found {
            reply.bulk(key);
        }
    })
}

/// What `SCAN` looks for.
#[derive(Default)]
struct Wanted {
    pattern: Option<Pattern>,
    /// Something that no key is.
    other_type: bool,
}

impl Wanted {
    fn read(&mut self, call: &Call<'_>) -> Result<(), String> {
        let mut words = call.arguments(2);
        while let Some(word) = words.next() {
            let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
            let value = words.next().ok_or(SYNTAX)?;
            if is(b"match") {
                let pattern = Pattern::new(value).map_err(|error| format!("ERR {error}"))?;
                self.pattern = Some(pattern);
            } else if is(b"count") {
                let count =
                    parse_integer(value).ok_or("ERR value is not an integer or out of range")?;
                if count < 1 {
                    return Err(SYNTAX.to_owned());
                }
            } else if is(b"type") {
                self.other_type = !value.eq_ignore_ascii_case(b"string");
            } else {
                return Err(SYNTAX.to_owned());
            }
        }
        Ok(())
    }
}

/// The keys that match; `None`: too many to be told.
fn matching(call: &Call<'_>, pattern: Option<&Pattern>) -> Option<Vec<Bytes>> {
    let mut bytes = 0;
    let mut found = Vec::new();
    for (key, _) in call.session.gateway.core().keys(usize::MAX, unix_ms()) {
        if pattern.is_none_or(|pattern| pattern.matches(&key)) {
            bytes += key.len();
            if bytes > KEYS_BYTES {
                return None;
            }
            found.push(key);
        }
    }
    Some(found)
}

/// Bytes of keys given at once.
const KEYS_BYTES: usize = 64 * 1024 * 1024;

const TOO_MANY: &str = "ERR the list is too long: ask for fewer";
const SYNTAX: &str = "ERR syntax error";
