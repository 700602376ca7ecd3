//! Commands in the format of Redis: arrays of words with their lengths. Owns the format only.

/// Appends a command with these words.
pub(super) fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        put(out, &[word]);
    }
}

/// Appends a command with one argument, which is given in parts.
pub(super) fn split_command(out: &mut Vec<u8>, name: &[u8], argument: &[&[u8]]) {
    out.extend_from_slice(b"*2\r\n");
    put(out, &[name]);
    put(out, argument);
}

/// Appends one word, which is given in parts.
pub(super) fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.push(b'$');
    put_number(out, length);
    out.extend_from_slice(b"\r\n");
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a number in decimal digits.
pub(super) fn put_number(out: &mut Vec<u8>, number: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        if let Some(place) = digits.get_mut(at) {
            *place = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(at..).unwrap_or_default());
}
