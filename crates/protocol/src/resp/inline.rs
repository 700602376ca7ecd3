//! Inline requests, which a person types: one line of words, some of them quoted.

/// A quote that is not closed, or whose end is followed by another character than a blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unbalanced quotes")]
pub struct UnbalancedQuotes;

/// Splits a line into its words and calls `word` with each of them, without quotes.
///
/// Within double quotes `\n`, `\r`, `\t`, `\b`, `\a` and `\xff` have their meaning in C, and a backslash before another
/// byte stands for that byte. Within single quotes only `\'` is special. A closing quote ends the word.
///
/// # Example
///
/// ```
/// use millrace_protocol::resp::split_line;
///
/// let mut words = Vec::new();
/// split_line(br#"set 'a key' "line\n""#, |word| words.push(word.to_vec())).unwrap();
/// assert_eq!(words, [&b"set"[..], b"a key", b"line\n"]);
/// ```
pub fn split_line(line: &[u8], mut word: impl FnMut(&[u8])) -> Result<(), UnbalancedQuotes> {
    let mut rest = line;
    let mut current = Vec::new();
    loop {
        while let [first, behind @ ..] = rest
            && is_blank(*first)
        {
            rest = behind;
        }
        if rest.is_empty() {
            return Ok(());
        }
        current.clear();
        rest = take_word(rest, &mut current)?;
        word(&current);
    }
}

/// Reads one word. Returns the rest of the line.
fn take_word<'a>(line: &'a [u8], word: &mut Vec<u8>) -> Result<&'a [u8], UnbalancedQuotes> {
    let mut rest = line;
    while let [first, behind @ ..] = rest {
        match first {
            b' ' | b'\n' | b'\r' | b'\t' => break,
            b'"' => return close(double_quoted(behind, word)?),
            b'\'' => return close(single_quoted(behind, word)?),
            byte => word.push(*byte),
        }
        rest = behind;
    }
    Ok(rest)
}

/// Checks that a word ends with its closing quote.
fn close(behind: &[u8]) -> Result<&[u8], UnbalancedQuotes> {
    match behind.first() {
        Some(next) if !is_blank(*next) => Err(UnbalancedQuotes),
        _ => Ok(behind),
    }
}

fn double_quoted<'a>(text: &'a [u8], word: &mut Vec<u8>) -> Result<&'a [u8], UnbalancedQuotes> {
    let mut rest = text;
    loop {
        let (byte, behind) = match rest {
            [] => return Err(UnbalancedQuotes),
            [b'"', behind @ ..] => return Ok(behind),
            [b'\\', b'x', high, low, behind @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (hex(*high) << 4 | hex(*low), behind)
            }
            [b'\\', escaped, behind @ ..] => (unescape(*escaped), behind),
            [byte, behind @ ..] => (*byte, behind),
        };
        word.push(byte);
        rest = behind;
    }
}

fn single_quoted<'a>(text: &'a [u8], word: &mut Vec<u8>) -> Result<&'a [u8], UnbalancedQuotes> {
    let mut rest = text;
    loop {
        let (byte, behind) = match rest {
            [] => return Err(UnbalancedQuotes),
            [b'\'', behind @ ..] => return Ok(behind),
            [b'\\', b'\'', behind @ ..] => (b'\'', behind),
            [byte, behind @ ..] => (*byte, behind),
        };
        word.push(byte);
        rest = behind;
    }
}

fn unescape(escaped: u8) -> u8 {
    match escaped {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}

/// Whether C's `isspace` is true for a byte.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<u8>>> {
        let mut words = Vec::new();
        split_line(line.as_bytes(), |word| words.push(word.to_vec()))
            .ok()
            .map(|()| words)
    }

    #[test]
    fn lines_are_split_like_in_redis() {
        let is = |line: &str, expected: &[&[u8]]| {
            let expected: Vec<_> = expected.iter().map(|word| word.to_vec()).collect();
            assert_eq!(words(line), Some(expected), "{line}");
        };
        is("", &[]);
        is(" \t\x0b\x0c ", &[]);
        is("  ping  ", &[b"ping"]);
        is("set a b", &[b"set", b"a", b"b"]);
        is(r#"set "" ''"#, &[b"set", b"", b""]);
        is(r#"a"b c" d"#, &[b"ab c", b"d"]);
        is(
            r#""\x41\xff\n\r\t\b\a\\\"\q\xg""#,
            &[b"A\xff\n\r\t\x08\x07\\\"qxg"],
        );
        is(r"'it\'s \n'", &[br"it's \n"]);
        is("a\x0bb", &[b"a\x0bb"]);
    }

    #[test]
    fn quotes_have_to_close_at_the_end_of_a_word() {
        for line in [
            r#"""#,
            "'",
            r#"get "a"#,
            r#""a"b"#,
            "'a'b",
            r#"get "a\"#,
            r#"get "a\""#,
        ] {
            assert_eq!(words(line), None, "{line}");
        }
    }
}
