//! The grammar of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): a list of extensions with parameters.
//!
//! Never allocates, except for a quoted value with a backslash, and knows no extension.

use std::borrow::Cow;

use super::is_token;

/// A line is no list of extensions: the recipient fails the connection (§9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Sec-WebSocket-Extensions is not a list of extensions")]
pub struct Malformed;

/// A part of the list.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Element<'a> {
    /// The name of an extension. Its parameters follow.
    Extension(&'a [u8]),
    Param(Param<'a>),
}

/// A parameter of an extension. The value is a token, even if it was quoted.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Param<'a> {
    pub(in super::super) name: &'a [u8],
    pub(in super::super) value: Option<Cow<'a, [u8]>>,
}

/// The parts of one line, in order, up to the first error.
#[derive(Debug)]
pub(in super::super) struct Elements<'a> {
    rest: &'a [u8],
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the name of an extension, which must come if nothing came yet.
    Before {
        nothing_yet: bool,
    },
    /// After a name or a parameter.
    Within,
    Over,
}

impl<'a> Elements<'a> {
    pub(in super::super) fn new(line: &'a [u8]) -> Self {
        let state = State::Before { nothing_yet: true };
        Self { rest: line, state }
    }

    fn advance(&mut self) -> Result<Option<Element<'a>>, Malformed> {
        self.skip_blanks();
        if self.state == State::Within {
            match self.rest.split_first() {
                None => return Ok(None),
                Some((b';', rest)) => {
                    self.rest = rest;
                    return self.param().map(|param| Some(Element::Param(param)));
                }
                Some((b',', rest)) => {
                    self.rest = rest;
                    self.state = State::Before { nothing_yet: false };
                }
                Some(_) => return Err(Malformed),
            }
        }
        // empty elements are skipped (RFC 9110 §5.6.1)
        self.skip_blanks();
        while let [b',', rest @ ..] = self.rest {
            self.rest = rest;
            self.skip_blanks();
        }
        if self.rest.is_empty() {
            let nothing = self.state == State::Before { nothing_yet: true };
            return if nothing { Err(Malformed) } else { Ok(None) };
        }
        self.state = State::Within;
        self.token().map(|name| Some(Element::Extension(name)))
    }

    fn param(&mut self) -> Result<Param<'a>, Malformed> {
        self.skip_blanks();
        let name = self.token()?;
        self.skip_blanks();
        let [b'=', rest @ ..] = self.rest else {
            return Ok(Param { name, value: None });
        };
        self.rest = rest;
        self.skip_blanks();
        let value = match self.rest {
            [b'"', rest @ ..] => {
                self.rest = rest;
                self.quoted()?
            }
            _ => Cow::Borrowed(self.token()?),
        };
        Ok(Param {
            name,
            value: Some(value),
        })
    }

    fn token(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.rest.iter().take_while(|byte| is_token(&[**byte]));
        let (token, rest) = self.rest.split_at(length.count());
        self.rest = rest;
        if token.is_empty() {
            Err(Malformed)
        } else {
            Ok(token)
        }
    }

    /// The value after the quote that opens it. Without its backslashes it must be a token.
    fn quoted(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        let quote = self
            .rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\'));
        let (plain, rest) = self.rest.split_at(quote.ok_or(Malformed)?);
        let mut value = Cow::Borrowed(plain);
        self.rest = rest;
        loop {
            match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return if is_token(&value) {
                        Ok(value)
                    } else {
                        Err(Malformed)
                    };
                }
                [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                    value.to_mut().push(*byte);
                    self.rest = rest;
                }
                [] => return Err(Malformed),
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Over {
            return None;
        }
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            self.state = State::Over;
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(line: &str) -> Result<Vec<String>, Malformed> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let shown = |element| match element {
            Element::Extension(name) => text(name),
            Element::Param(Param { name, value: None }) => format!(";{}", text(name)),
            Element::Param(Param {
                name,
                value: Some(value),
            }) => {
                format!(";{}={}", text(name), text(&value))
            }
        };
        let elements = Elements::new(line.as_bytes());
        elements.map(|element| element.map(shown)).collect()
    }

    #[test]
    fn lists_are_read_with_blanks_quotes_and_empty_elements() {
        for (line, expected) in [
            ("a", vec!["a"]),
            ("a;b", vec!["a", ";b"]),
            (
                " a ; b = c ,\t, d;e=\"f\" ,",
                vec!["a", ";b=c", "d", ";e=f"],
            ),
            ("a;b=\"1\\5\";c", vec!["a", ";b=15", ";c"]),
            (",,a", vec!["a"]),
            ("a;b=\"\\\\c\"", vec![]),
        ] {
            let found = list(line);
            if expected.is_empty() {
                assert_eq!(found, Err(Malformed), "a backslash is not in tokens");
            } else {
                assert_eq!(found.unwrap(), expected, "{line}");
            }
        }
    }

    #[test]
    fn what_is_no_list_is_malformed() {
        for line in [
            "",
            " ",
            ",",
            ", ,",
            ";",
            "a;",
            "a;;b",
            "a b",
            "a;b c",
            "a;=b",
            "a;b=",
            "a;b=;c",
            "a;b=c d",
            "a;b=\"",
            "a;b=\"c",
            "a;b=\"c\\",
            "a;b=\"\"",
            "a;b=\"c d\"",
            "a;b=\"c\"d",
            "=a",
            "a=b",
            "\"a\"",
            "a/b",
            "a;b\u{e9}",
            "a,b;",
            "a;b,;c",
        ] {
            assert_eq!(list(line), Err(Malformed), "{line:?}");
        }
    }
}
