//! Blanks comments, strings and character literals in Rust source, so that a check finds words in code only, and
//! splits the rest into tokens. Knows the lexical grammar of literals and comments, nothing more.

/// Replaces every comment and literal by spaces. Byte offsets and lines stay the same.
pub(crate) fn blank(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = at + literal_or_comment(&source[at..], previous_is_identifier(bytes, at));
        if end == at {
            let next = source[at..].chars().next().map_or(1, char::len_utf8);
            out.extend_from_slice(&bytes[at..at + next]);
            at += next;
        } else {
            out.extend(
                bytes[at..end]
                    .iter()
                    .map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }),
            );
            at = end;
        }
    }
    String::from_utf8(out).expect("only whole characters are copied, the rest is ASCII")
}

/// The byte offsets of every separate occurrence of `word` in blanked code.
pub(crate) fn words(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let alone = |at: &usize| {
        !previous_is_identifier(bytes, *at) && !is_identifier(bytes.get(at + word.len()))
    };
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(alone)
        .collect()
}

/// The identifier at the start of `text`, which may be empty.
pub(crate) fn identifier(text: &str) -> &str {
    let end = text
        .bytes()
        .position(|byte| !is_identifier(Some(&byte)))
        .unwrap_or(text.len());
    &text[..end]
}

/// A word, a `::` or a single character of blanked code.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    /// The text without the `r#` of a raw identifier.
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let raw = rest.strip_prefix("r#").map_or("", identifier);
        let length = if !raw.is_empty() {
            2 + raw.len()
        } else if rest.starts_with("::") {
            2
        } else {
            identifier(rest).len().max(first.len_utf8())
        };
        if !first.is_whitespace() {
            let text = if raw.is_empty() { &rest[..length] } else { raw };
            found.push(Token { text, at });
        }
        at += length;
    }
    found
}

fn previous_is_identifier(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .is_some_and(|before| is_identifier(bytes.get(before)))
}

fn is_identifier(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The length of the comment or literal at the start of `rest`; 0 if there is none.
fn literal_or_comment(rest: &str, inside_identifier: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if rest.starts_with('"') {
        return quoted(rest, 1, b'"');
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if inside_identifier {
        return 0;
    }
    let prefix = ["br", "cr", "r", "b", "c"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix).unwrap_or_default();
        after.starts_with('"') || (prefix.ends_with('r') && after.starts_with('#'))
    });
    match prefix {
        Some(prefix) if prefix.ends_with('r') => raw_string(rest, prefix.len()),
        Some(prefix) => quoted(rest, prefix.len() + 1, b'"'),
        None => 0,
    }
}

/// The length of a block comment. Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a quoted literal, from `start` after the opening quote to after the closing one.
fn quoted(rest: &str, start: usize, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of `r"…"`, `r#"…"#` and so on; 0 for `r#name`, which is an identifier.
fn raw_string(rest: &str, prefix: usize) -> usize {
    let hashes = rest[prefix..]
        .bytes()
        .take_while(|byte| *byte == b'#')
        .count();
    let open = prefix + hashes;
    if !rest[open..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let body = open + 1;
    rest[body..]
        .find(&close)
        .map_or(rest.len(), |at| body + at + close.len())
}

/// The length of a character literal such as `'x'` or `'\n'`; 0 for a lifetime such as `'a`.
fn character(rest: &str) -> usize {
    if rest[1..].starts_with('\\') {
        return quoted(rest, 1, b'\'');
    }
    let mut chars = rest.char_indices().skip(1);
    let closes = chars.next().is_some() && chars.next().is_some_and(|(_, second)| second == '\'');
    if closes { quoted(rest, 1, b'\'') } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn blanked(source: &str, expected: &str) {
        let code = blank(source);
        assert_eq!(code.len(), source.len(), "offsets stay the same");
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>().join(" "),
            expected
        );
    }

    #[test]
    fn comments_are_blanked() {
        blanked("a // unsafe\nb", "a b");
        blanked("a /* x /* y */ z */ b", "a b");
        blanked("a /* never closed", "a");
    }

    #[test]
    fn strings_are_blanked() {
        blanked(r#"a("un\"safe") b"#, "a( ) b");
        blanked("a(r#\"un\"safe\"#) b", "a( ) b");
        blanked("a(b\"x\", br\"y\", c\"z\")", "a( , , )");
        blanked("a(\"line\nline\") b", "a( ) b");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        blanked("f('\"') g('\\'') h('ü')", "f( ) g( ) h( )");
        blanked("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn raw_identifiers_and_names_that_end_like_a_prefix_are_kept() {
        blanked("r#type bar\"x\"", "r#type bar");
    }

    #[test]
    fn only_separate_words_are_found() {
        assert_eq!(words("unsafe_code unsafe {", "unsafe"), [12]);
        assert_eq!(identifier("name: Type"), "name");
    }

    #[test]
    fn tokens_are_words_and_signs_with_their_places() {
        let found = tokens("a::r#in <'b");
        let texts: Vec<&str> = found.iter().map(|token| token.text).collect();
        assert_eq!(texts, ["a", "::", "in", "<", "'", "b"]);
        assert_eq!(found[2].at, 3);
    }
}
