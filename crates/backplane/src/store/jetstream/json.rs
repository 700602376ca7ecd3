//! What is read of a JetStream server's JSON, and of the JSON that is sent. Owns the few forms that are needed. A field is
//! found by its quoted name: within a string, quotes are escaped, so no text of others can look like a field.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The whole number of the first field with this name.
pub(in crate::store) fn number(json: &[u8], name: &str) -> Option<u64> {
    let value = value(json, name)?;
    let end = value.iter().position(|byte| !byte.is_ascii_digit());
    let digits = value.get(..end.unwrap_or(value.len()))?;
    str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether the first field with this name is true.
pub(in crate::store) fn is_true(json: &[u8], name: &str) -> bool {
    value(json, name).is_some_and(|value| value.starts_with(b"true"))
}

/// The text of the first field with this name, as it is written: escaped.
pub(in crate::store) fn text<'j>(json: &'j [u8], name: &str) -> Option<&'j [u8]> {
    let rest = value(json, name)?.strip_prefix(b"\"")?;
    let mut is_escaped = false;
    let end = rest.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    rest.get(..end)
}

/// The bytes of the first field with this name, which are in base64.
pub(in crate::store) fn bytes(json: &[u8], name: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text(json, name)?).ok()
}

/// The object of the first field with this name, with its braces.
pub(in crate::store) fn object<'j>(json: &'j [u8], name: &str) -> Option<&'j [u8]> {
    let value = value(json, name).filter(|value| value.starts_with(b"{"))?;
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in value.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' if !is_text => depth += 1,
            b'}' if !is_text => {
                depth -= 1;
                if depth == 0 {
                    return value.get(..=place);
                }
            }
            _ => {}
        }
    }
    None
}

/// An object in which the first field with this name has another number.
pub(in crate::store) fn with_number(object: &[u8], name: &str, number: u64) -> Option<Vec<u8>> {
    let value = value(object, name)?;
    let (front, _) = object.split_at_checked(object.len() - value.len())?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
    let end = value.iter().position(|byte| !is_digit(byte))?;
    let behind = value.get(end..)?;
    Some([front, number.to_string().as_bytes(), behind].concat())
}

/// What is behind the first field with this name and its colon.
fn value<'j>(json: &'j [u8], name: &str) -> Option<&'j [u8]> {
    let quoted = format!("\"{name}\":");
    let place = find(json, quoted.as_bytes())?;
    let value = json.get(place + quoted.len()..)?;
    Some(value.trim_ascii_start())
}

/// The first place of these bytes.
pub(in crate::store) fn find(json: &[u8], wanted: &[u8]) -> Option<usize> {
    json.windows(wanted.len()).position(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = br#"{"type":"x","message":{"subject":"a\",\"seq\":9","seq":12,"data":"aGVsbG8="},"is":true,"no":false}"#;

    #[test]
    fn fields_are_found_and_texts_cannot_look_like_fields() {
        assert_eq!(number(ANSWER, "seq"), Some(12));
        assert_eq!(text(ANSWER, "subject"), Some(&br#"a\",\"seq\":9"#[..]));
        assert_eq!(bytes(ANSWER, "data").as_deref(), Some(&b"hello"[..]));
        assert!(is_true(ANSWER, "is") && !is_true(ANSWER, "no") && !is_true(ANSWER, "none"));
        assert_eq!(number(ANSWER, "type"), None);
        assert_eq!(text(ANSWER, "seq"), None);
        assert_eq!(bytes(ANSWER, "type"), None);
    }

    #[test]
    fn an_object_ends_at_its_own_brace() {
        let json = br#"{"config":{"name":"}","inner":{"a":1},"max_age":-1},"state":{}}"#;
        let config = object(json, "config").unwrap();
        assert_eq!(config, br#"{"name":"}","inner":{"a":1},"max_age":-1}"#);
        let changed = with_number(config, "max_age", 5).unwrap();
        assert_eq!(changed, br#"{"name":"}","inner":{"a":1},"max_age":5}"#);
        assert_eq!(with_number(config, "none", 5), None);
        assert_eq!(object(json, "name"), None);
    }

    #[test]
    fn what_is_cut_off_says_nothing() {
        for end in 0..ANSWER.len() {
            let json = &ANSWER[..end];
            let _any = (number(json, "seq"), is_true(json, "is"));
            assert_eq!(text(json, "subject").is_some(), end > 47, "{end}");
            assert_eq!(object(json, "message").is_some(), end > 75, "{end}");
        }
        let braces = br#"{"a":}}"#;
        assert_eq!(object(braces, "a"), None);
    }
}
