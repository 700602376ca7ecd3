//! Integers as RESP writes them, in requests and in replies.

/// Parses an integer. Accepts only the form that Redis accepts: without blanks, a plus sign, leading zeros or a
/// negative zero.
pub fn parse_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    match digits {
        b"0" if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= MOST_DIGITS => {}
        _ => return None,
    }
    let mut number: i64 = 0;
    for byte in digits {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        // computes with negative numbers, because their range has one value more
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative {
        Some(number)
    } else {
        number.checked_neg()
    }
}

/// Appends an integer in decimal digits.
pub fn append_integer(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0; MOST_DIGITS];
    let mut start = digits.len();
    let mut rest = number.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        start -= 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// The number of digits of the longest integer.
const MOST_DIGITS: usize = 19;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_canonical_form_of_an_integer_is_accepted() {
        for bad in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "-01",
            " 1",
            "1 ",
            "1.0",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(parse_integer(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_integer(b"0"), Some(0));
        assert_eq!(parse_integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_integer(b"9223372036854775807"), Some(i64::MAX));
    }

    proptest! {
        #[test]
        fn written_integers_are_parsed(number: i64) {
            let mut text = Vec::new();
            append_integer(number, &mut text);
            let expected = number.to_string();
            prop_assert_eq!(&text[..], expected.as_bytes());
            prop_assert_eq!(parse_integer(&text), Some(number));
        }
    }
}
