//! Where the members of a JSON object begin and end. Owns a strict check of RFC 8259's grammar, in one
//! pass and without recursion; never builds values.

use std::ops::Range;

/// The positions of the members in a text that is one JSON object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// The range between the outer braces.
    pub(crate) inside: Range<usize>,
    /// The number of members, without those of nested objects.
    pub(crate) members: usize,
    /// The members with the given name. Each range is from behind the comma or brace before the member
    /// to in front of the one after it.
    pub(crate) named: Vec<Range<usize>>,
}

/// Finds the members called `name` in a text that is a JSON object; `None` if the text is anything else.
/// `name` is ASCII and has no character with a short escape.
pub(crate) fn parse(text: &[u8], name: &str) -> Option<Object> {
    let mut scan = Scan { text, at: 0 };
    scan.space();
    scan.expect(b'{')?;
    let start = scan.at;
    let mut object = Object {
        inside: start..start,
        members: 0,
        named: Vec::new(),
    };
    scan.space();
    if !scan.take(b'}') {
        loop {
            let member = if object.members == 0 { start } else { scan.at };
            let key = scan.key()?;
            scan.value()?;
            scan.space();
            object.members += 1;
            if means(&text[key], name) {
                object.named.push(member..scan.at);
            }
            if !scan.take(b',') {
                scan.expect(b'}')?;
                break;
            }
        }
    }
    object.inside.end = scan.at - 1;
    scan.space();
    (scan.at == text.len()).then_some(object)
}

/// Whether a key, as written between its quotes, is equal to `name`.
fn means(mut key: &[u8], name: &str) -> bool {
    name.bytes().all(|wanted| {
        let escaped = key
            .strip_prefix(b"\\u00")
            .and_then(|rest| rest.split_at_checked(2));
        let (given, rest) = match (escaped, key.split_first()) {
            (Some((digits, rest)), _) => (hex(digits), rest),
            (None, Some((byte, rest))) => (Some(*byte), rest),
            (None, None) => return false,
        };
        key = rest;
        given == Some(wanted)
    }) && key.is_empty()
}

fn hex(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// Reads a member's key with the colon and space after it. Returns the range between the quotes.
    fn key(&mut self) -> Option<Range<usize>> {
        self.space();
        let start = self.at + 1;
        self.string()?;
        let key = start..self.at - 1;
        self.space();
        self.expect(b':')?;
        self.space();
        Some(key)
    }

    /// Reads any value, at any depth.
    fn value(&mut self) -> Option<()> {
        let mut closers = Vec::new();
        loop {
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    self.space();
                    if !self.take(b'}') {
                        closers.push(b'}');
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if !self.take(b']') {
                        closers.push(b']');
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => self.number()?,
            }
            loop {
                let Some(&closer) = closers.last() else {
                    return Some(());
                };
                self.space();
                if self.take(b',') {
                    if closer == b'}' {
                        self.key()?;
                    }
                    self.space();
                    break;
                }
                self.expect(closer)?;
                closers.pop();
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let byte = self.next()?;
            match byte {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    /// Reads at least one digit.
    fn digits(&mut self) -> Option<()> {
        self.peek().filter(u8::is_ascii_digit)?;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_object(text: &str) -> bool {
        parse(text.as_bytes(), "k").is_some()
    }

    /// Wraps a value in an object, so that only the value decides the result.
    fn is_value(value: &str) -> bool {
        is_object(&format!("{{\"a\":{value}}}"))
    }

    #[test]
    fn every_value_of_the_grammar_is_accepted() {
        for value in [
            "0",
            "-0",
            "12",
            "0.5",
            "1e5",
            "1E+5",
            "1.25e-3",
            "true",
            "false",
            "null",
            "\"\"",
            "\"\\n\\u00e9\\\"\"",
            "[]",
            "[ ]",
            "{}",
            "{ }",
            "[1,2]",
            "[[],{}]",
            "{\"b\":[{\"c\":null}],\"d\":1}",
            " [ 1 , 2 ] ",
        ] {
            assert!(is_value(value), "{value}");
        }
    }

    #[test]
    fn everything_outside_the_grammar_is_refused() {
        for value in [
            "",
            "00",
            "01",
            "-",
            "+1",
            ".5",
            "1.",
            "1e",
            "1e+",
            "tru",
            "True",
            "nul",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12",
            "\"\n\"",
            "[",
            "]",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{",
            "{\"b\"}",
            "{\"b\":}",
            "{\"b\":1,}",
            "{b:1}",
            "[}",
            "{]",
            "1,",
            "1 2",
            "'a'",
            "\u{a0}1",
            "//\n1",
        ] {
            assert!(!is_value(value), "{value}");
        }
    }

    #[test]
    fn a_truncated_object_is_refused() {
        let text = r#" {"a":[1.5e3,"\u00e9\\",{"b":true}],"k":-0} "#;
        assert!(is_object(text));
        for end in 0..text.len() - 1 {
            assert!(!is_object(&text[..end]), "{}", &text[..end]);
        }
    }

    #[test]
    fn only_top_level_members_of_the_name_are_found() {
        let text = r#"{ "k" : 1 ,"a":{"k":2},"\u006b":3}"#;
        let object = parse(text.as_bytes(), "k").unwrap();
        assert_eq!(object.members, 3);
        let found: Vec<&str> = object.named.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, [r#" "k" : 1 "#, r#""\u006b":3"#]);
        assert_eq!(&text[object.inside], &text[1..text.len() - 1]);
    }

    #[test]
    fn similar_names_do_not_match() {
        for key in [
            "",
            "K",
            "kk",
            "\\u006B\\u006b",
            "\\u016b",
            "\\k",
            "\\\\u006b",
            "\\u00",
        ] {
            assert!(!means(key.as_bytes(), "k"), "{key}");
        }
        assert!(means(b"\\u006B", "k"));
    }

    #[test]
    fn nesting_uses_no_stack() {
        let deep = 1_000_000;
        assert!(is_value(&("[".repeat(deep) + &"]".repeat(deep))));
        assert!(!is_value(&"[".repeat(deep)));
    }
}
