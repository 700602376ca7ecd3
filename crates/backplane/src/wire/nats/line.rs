//! The parts of NATS's lines, and JSON strings. Owns their formats.

/// Parses `subject id [reply-to] length` to the subscription's number, the subject and the payload's
/// length.
pub(super) fn message_line(line: &[u8]) -> Option<(u64, &[u8], usize)> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let (subject, id, third) = (words.next()?, words.next()?, words.next()?);
    let length = words.next().unwrap_or(third);
    let id = str::from_utf8(id).ok()?.parse().ok()?;
    let length = str::from_utf8(length).ok()?.parse().ok()?;
    Some((id, subject, length))
}

/// Appends a JSON string.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend_from_slice(format!("\\{letter}").as_bytes()),
            control if control.is_control() => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(control)).as_bytes());
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}
