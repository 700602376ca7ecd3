//! Texts that handlers sent to the sockets whose messages they were handling, collected in
//! JavaScript and handed over together. Owns their format: one string with all short texts, and a
//! list of socket ids, each with the text's length or, if it is the message that was received, its
//! place.

use std::iter;

use millrace_gateway::TextPlace;

use crate::arguments;
use crate::bound::Bound;
use crate::entry::Call;
use crate::failure::{Failure, Outcome};
use crate::js::{Js, Value};
use crate::numbers;

/// The size of the list in bytes. Its entries are pairs of a socket id and a length in UTF-16
/// units. A number below 0 is the place of a record in the batch: the word where it begins is
/// `-1 - number`.
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
    let Some(answering) = bound.answering() else {
        return Err(Failure::internal("replies without a worker"));
    };
    let list = answering.list.borrow();
    let Some(list) = &*list else {
        return Err(Failure::internal("replies of a worker that has ended"));
    };
    let units: f64 = list.pairs(count).map(|(_, units)| units.max(0.0)).sum();
    let ascii =
        numbers::to_u64(units).and_then(|units| usize::try_from(units).ok()) == Some(scratch.len());
    let mut rest: &[u8] = &scratch;
    let batch = answering.batch.borrow();
    let mut pairs = list.pairs(count);
    let mut texts = answering.texts.borrow_mut();
    bound.post(|gateway, dirty| {
        loop {
            // long texts are sent one by one, in order with the short ones
            let mut long = None;
            let short = iter::from_fn(|| {
                for (id, number) in pairs.by_ref() {
                    let text = if number < 0.0 {
                        batch
                            .as_ref()
                            .and_then(|batch| batch.text_at(place(number)?))
                    } else {
                        take(&mut rest, number, ascii).map(TextPlace::Inline)
                    };
                    match (numbers::to_id(id), text) {
                        (Some(id), Some(TextPlace::Inline(text))) => return Some((id, text)),
                        (Some(id), Some(TextPlace::Beside(index))) => {
                            long = Some((id, index));
                            return None;
                        }
                        _ => {}
                    }
                }
                None
            });
            gateway.send_texts(short, dirty);
            let Some((id, index)) = long else {
                break;
            };
            if let Some(text) = texts.forwardable(index, |text| gateway.forwardable(text)) {
                gateway.send_received(id, text, dirty);
            }
        }
    })
}

/// The word of a batch at which a record begins, by its number in the list.
fn place(number: f64) -> Option<usize> {
    usize::try_from(numbers::to_u32(-1.0 - number)?).ok()
}

/// Takes a text of so many UTF-16 units from the front of all texts.
fn take<'t>(rest: &mut &'t [u8], units: f64, ascii: bool) -> Option<&'t [u8]> {
    let units = usize::try_from(numbers::to_u32(units)?).ok()?;
    let length = if ascii { units } else { length_of(rest, units) };
    let (text, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(text)
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
