//! The query of a request: names and values with percent escapes, as forms and `URLSearchParams` write them.

/// The value of a name, decoded; `None` if it is missing or an escape is broken.
pub(super) fn value(query: Option<&str>, name: &str) -> Option<Vec<u8>> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    decode(value)
}

fn decode(value: &str) -> Option<Vec<u8>> {
    let mut bytes = value.bytes();
    let mut decoded = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high << 4 | low).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_may_be_any_bytes() {
        let query = Some("a=1&b=%00%ff%2B+x&c&d=&a=2&e=%4");
        let is = |name, expected: &[u8]| value(query, name).as_deref() == Some(expected);
        assert!(is("a", b"1") && is("b", b"\0\xff+ x") && is("d", b""));
        assert_eq!(value(query, "c").or(value(query, "e")), None);
        assert_eq!(value(None, "a"), None);
    }
}
