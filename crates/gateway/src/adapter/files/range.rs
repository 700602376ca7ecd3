//! The `Range` header: which single range is served, if any.

use std::ops::Range;

use http::HeaderMap;
use http::header::RANGE;

/// What a request asks of a file of the given length.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Everything: there is no range, there are several, or its form is unknown.
    Whole,
    /// These bytes: at least one, and all of them in the file.
    Part(Range<u64>),
    /// Bytes that the file does not have.
    Beyond,
}

/// Reads the header.
pub(super) fn read(headers: &HeaderMap, length: u64) -> Asked {
    let mut values = headers.get_all(RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Asked::Whole;
    };
    value
        .to_str()
        .ok()
        .and_then(|text| parse(text, length))
        .unwrap_or(Asked::Whole)
}

fn parse(text: &str, length: u64) -> Option<Asked> {
    let (unit, range) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        // a suffix range: the last so many bytes
        let wanted = number(last)?.min(length);
        return Some(if wanted == 0 {
            Asked::Beyond
        } else {
            Asked::Part(length - wanted..length)
        });
    }
    let first = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    if last < first {
        return None;
    }
    Some(if first >= length {
        Asked::Beyond
    } else {
        Asked::Part(first..last.saturating_add(1).min(length))
    })
}

/// Parses digits only; a number that is too large becomes the greatest one.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, length: u64) -> Asked {
        parse(text, length).unwrap_or(Asked::Whole)
    }

    #[test]
    fn one_range_is_cut_to_the_file() {
        for (text, range) in [
            ("bytes=0-0", 0..1),
            ("bytes=2-4", 2..5),
            ("bytes=2-", 2..10),
            ("bytes=2-99999999999999999999", 2..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
            ("Bytes = 1-2 ", 1..3),
        ] {
            assert_eq!(asked(text, 10), Asked::Part(range), "{text}");
        }
    }

    #[test]
    fn a_range_beyond_the_file_is_refused() {
        for (text, length) in [
            ("bytes=10-", 10),
            ("bytes=99999999999999999999-", 10),
            ("bytes=-0", 10),
            ("bytes=0-", 0),
            ("bytes=-1", 0),
        ] {
            assert_eq!(asked(text, length), Asked::Beyond, "{text}");
        }
    }

    #[test]
    fn anything_but_a_single_range_is_ignored() {
        for text in [
            "bytes=0-1,3-4",
            "bytes=4-2",
            "bytes=",
            "bytes=-",
            "bytes",
            "lines=0-1",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=1--2",
            "bytes=0x1-2",
            "",
        ] {
            assert_eq!(asked(text, 10), Asked::Whole, "{text}");
        }
    }

    #[test]
    fn two_range_headers_are_ignored() {
        let mut headers = HeaderMap::new();
        headers.append(RANGE, http::HeaderValue::from_static("bytes=0-1"));
        assert_eq!(read(&headers, 10), Asked::Part(0..2));
        headers.append(RANGE, http::HeaderValue::from_static("bytes=2-3"));
        assert_eq!(read(&headers, 10), Asked::Whole);
    }
}
