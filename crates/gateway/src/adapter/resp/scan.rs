//! Iterating over the keys.

use millrace_core::Pattern;
use millrace_protocol::resp::parse_integer;

use super::call::{Call, Flow, NO_INTEGER};
use super::long::{Long, Unfit};

pub(super) fn keys(call: &mut Call<'_, '_>) -> Flow {
    let pattern = match read_pattern(call.argument(1)) {
        Ok(pattern) => pattern,
        Err(text) => return call.error(text),
    };
    let (mut found, mut cursor) = (Found::new(call), 0);
    loop {
        cursor = found.look(call, cursor, KEYS_AT_ONCE, pattern.as_ref());
        if let Err(unfit) = found.fits {
            return call.error(unfit.text("ERR the list is too long: SCAN gives it in parts"));
        }
        if cursor == 0 {
            break;
        }
    }
    let whole = found.list.finish(|reply| reply.array(found.count));
    call.reply_whole(whole)
}

pub(super) fn scan(call: &mut Call<'_, '_>) -> Flow {
    let Some(cursor) = parse_cursor(call.argument(1)) else {
        return call.error("ERR invalid cursor");
    };
    let wanted = match Wanted::read(call) {
        Ok(wanted) => wanted,
        Err(text) => return call.error(text),
    };
    let mut found = Found::new(call);
    let next = found.look(call, cursor, wanted.count, wanted.pattern.as_ref());
    if let Err(unfit) = found.fits {
        return call.error(unfit.text("ERR the list is too long: ask for fewer"));
    }
    if wanted.other_type {
        found = Found::new(call);
    }
    let next = next.to_string();
    let whole = found.list.finish(|reply| {
        reply.array(2);
        reply.bulk(next.as_bytes());
        reply.array(found.count);
    });
    call.reply_whole(whole)
}

/// Parses a cursor like the C function that Redis uses: an empty text is 0, and a sign may precede the digits.
fn parse_cursor(text: &[u8]) -> Option<u64> {
    let (negative, digits) = match text {
        [] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// `None` selects every key. As in Redis `*` does so, although patterns do not match the empty name.
fn read_pattern(text: &[u8]) -> Result<Option<Pattern>, String> {
    if text == b"*" {
        return Ok(None);
    }
    let pattern = Pattern::new(text).map_err(|error| format!("ERR {error}"))?;
    Ok(Some(pattern))
}

/// What `SCAN` looks for.
struct Wanted {
    pattern: Option<Pattern>,
    /// About how many keys to look at.
    count: usize,
    /// Whether it asks for a type that no key has.
    other_type: bool,
}

impl Wanted {
    fn read(call: &Call<'_, '_>) -> Result<Self, String> {
        let mut wanted = Self {
            pattern: None,
            count: 10,
            other_type: false,
        };
        let mut words = call.arguments(2);
        while let Some(word) = words.next() {
            let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
            let value = words.next().ok_or(SYNTAX)?;
            if is(b"match") {
                wanted.pattern = read_pattern(value)?;
            } else if is(b"count") {
                let count = parse_integer(value).ok_or(NO_INTEGER)?;
                if count < 1 {
                    return Err(SYNTAX.to_owned());
                }
                let count = usize::try_from(count).unwrap_or(KEYS_AT_ONCE);
                wanted.count = count.min(KEYS_AT_ONCE);
            } else if is(b"type") {
                wanted.other_type = !value.eq_ignore_ascii_case(b"string");
            } else {
                return Err(SYNTAX.to_owned());
            }
        }
        Ok(wanted)
    }
}

/// The keys found so far.
struct Found {
    list: Long,
    count: usize,
    /// Whether the keys found so far fit into the reply.
    fits: Result<(), Unfit>,
}

impl Found {
    fn new(call: &Call<'_, '_>) -> Self {
        Self {
            list: call.long(),
            count: 0,
            fits: Ok(()),
        }
    }

    /// Looks at about `count` keys from `cursor` on. Returns the next cursor, 0 at the end.
    fn look(
        &mut self,
        call: &Call<'_, '_>,
        cursor: u64,
        count: usize,
        pattern: Option<&Pattern>,
    ) -> u64 {
        let hub = call.hub();
        hub.scan_keys(cursor, count, &mut |key, _| {
            if self.fits.is_ok() && pattern.is_none_or(|pattern| pattern.matches(key)) {
                self.count += 1;
                self.fits = self.list.write(key.len(), |reply| reply.bulk(key));
            }
        })
    }
}

/// Keys that are looked at in one step.
const KEYS_AT_ONCE: usize = 10_000;

const SYNTAX: &str = "ERR syntax error";
