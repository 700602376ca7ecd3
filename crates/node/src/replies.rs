//! Short texts that handlers sent to the sockets whose messages they were handling, collected in
//! JavaScript and handed over together. Owns their format: a list of socket ids and lengths, and
//! one string with all texts.

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;

/// The size of the list in bytes. Its entries are pairs of a socket id and a length in UTF-16
/// units.
pub(crate) const LIST_BYTES: usize = 8 * 1024;

/// Sends the collected replies: `count` entries of the list, with `texts` in one string.
pub(crate) fn send(bound: &Bound, js: Js<'_>, count: Value<'_>, texts: Value<'_>) -> Outcome<()> {
    let count = usize::try_from(arguments::whole(js, count, "count")?).unwrap_or_default();
    if count == 0 {
        return Ok(());
    }
    let mut scratch = bound.environment().scratch().borrow();
    if !js.append_string(texts, &mut scratch)? {
        return Err(arguments::wrong(js, texts, "texts", "a string"));
    }
    let Some(list) = bound.replies() else {
        return Err(Failure::internal("replies without a worker"));
    };
    let list = list.borrow();
    let Some(list) = &*list else {
        return Err(Failure::internal("replies of a worker that has ended"));
    };
    let units: f64 = list.pairs(count).map(|(_, units)| units).sum();
    let ascii =
        numbers::to_u64(units).and_then(|units| usize::try_from(units).ok()) == Some(scratch.len());
    let mut rest: &[u8] = &scratch;
    let texts = list.pairs(count).filter_map(|(id, units)| {
        let units = usize::try_from(numbers::to_u32(units)?).ok()?;
        let length = if ascii { units } else { length_of(rest, units) };
        rest = rest.get(length..)?;
        Some((numbers::to_id(id)?, length))
    });
    bound.post(|gateway, dirty| gateway.send_texts(&scratch, texts, dirty))
}

/// `reply(count, texts)`
pub(crate) fn reply<'s>(call: &Call<'s, Bound>) -> Outcome<Option<Value<'s>>> {
    send(call.own, call.js, call.arguments[0], call.arguments[1])?;
    Ok(None)
}

/// The length in UTF-8 of the first `units` UTF-16 units of a text.
fn length_of(text: &[u8], mut units: usize) -> usize {
    let mut length = 0;
    while units > 0 {
        let (bytes, taken) = match text.get(length) {
            None => break,
            Some(0..0x80) => (1, 1),
            Some(0x80..0xe0) => (2, 1),
            Some(0xe0..0xf0) => (3, 1),
            Some(0xf0..) => (4, 2),
        };
        length += bytes;
        units = units.saturating_sub(taken);
    }
    length.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_counted_like_in_javascript() {
        let texts = ["plain", "", "grüße", "日本語", "🎈a🎈", "\u{fffd}"];
        let all = texts.concat();
        let mut rest = all.as_bytes();
        for text in texts {
            let length = length_of(rest, text.encode_utf16().count());
            assert_eq!(length, text.len(), "{text}");
            rest = &rest[length..];
        }
        assert_eq!(length_of(rest, 1), 0);
        assert_eq!(length_of("é".as_bytes(), 9), 2);
    }
}
