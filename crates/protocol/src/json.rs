//! JSON (RFC 8259), parsed in place. A document is validated once as a whole, and its values are located on demand.
//! Allocates only for strings with escapes, when they are decoded.

use std::borrow::Cow;

/// A value of a validated document.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(&'a str),
    String(Text<'a>),
    Array(Array<'a>),
    Object(Object<'a>),
}

/// A string as written, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a>(&'a str);

/// The text between the brackets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<'a>(&'a str);

/// The text between the braces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a>(&'a str);

/// The deepest nesting that is accepted.
const MOST_DEPTH: u32 = 32;

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The value of a document; `None` if it is not JSON or nested too deeply.
pub(crate) fn parse(document: &[u8]) -> Option<Value<'_>> {
    let text = simdutf8::basic::from_utf8(document).ok()?;
    let mut reader = Reader { rest: text };
    let value = reader.value(MOST_DEPTH)?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(value)
}

impl Value<'_> {
    /// The number as an integer, if it has no fraction or exponent and fits.
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }
}

impl<'a> Text<'a> {
    /// The length as written, which is at least the length of the string itself.
    pub(crate) fn written_bytes(self) -> usize {
        self.0.len()
    }

    /// Decodes the string; `None` if it has an unpaired surrogate.
    pub(crate) fn decode_paired(self) -> Option<Cow<'a, str>> {
        if !self.0.contains('\\') {
            return Some(Cow::Borrowed(self.0));
        }
        let mut rest = self.0;
        while let Some((_, behind)) = rest.split_once('\\') {
            let (one, after) = escaped(behind)?;
            // U+FFFD stands for an unpaired surrogate, unless it was written as such
            let is_itself = |digits: &str| digits.eq_ignore_ascii_case("ufffd");
            if one == char::REPLACEMENT_CHARACTER && !behind.get(..5).is_some_and(is_itself) {
                return None;
            }
            rest = after;
        }
        Some(self.decode())
    }

    /// Decodes the string. Unpaired surrogates become U+FFFD.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if !self.0.contains('\\') {
            return Cow::Borrowed(self.0);
        }
        let mut text = String::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some((before, behind)) = rest.split_once('\\') {
            text.push_str(before);
            let (one, behind) = escaped(behind).unwrap_or((char::REPLACEMENT_CHARACTER, ""));
            text.push(one);
            rest = behind;
        }
        text.push_str(rest);
        Cow::Owned(text)
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        // an escape has at most six bytes for a character, or the character itself has several
        self.0.len() <= other.len().saturating_mul(6) && self.decode() == other
    }
}

impl<'a> Array<'a> {
    /// The values of the array, in order.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        let mut reader = Reader { rest: self.0 };
        std::iter::from_fn(move || {
            let value = reader.value(MOST_DEPTH)?;
            reader.skip_token(',');
            Some(value)
        })
    }
}

impl<'a> Object<'a> {
    /// The members of the object, in order.
    pub(crate) fn members(self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> {
        self.written_members().map(|(name, value, _)| (name, value))
    }

    /// The members of the object, in order, each with its value as written.
    pub(crate) fn written_members(self) -> impl Iterator<Item = (Text<'a>, Value<'a>, &'a str)> {
        let mut reader = Reader { rest: self.0 };
        std::iter::from_fn(move || {
            let member = reader.member(MOST_DEPTH)?;
            reader.skip_token(',');
            Some(member)
        })
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: u32) -> Option<Value<'a>> {
        self.skip_blanks();
        let first = self.rest.bytes().next()?;
        match first {
            b'n' => self.literal("null", Value::Null),
            b't' => self.literal("true", Value::Bool(true)),
            b'f' => self.literal("false", Value::Bool(false)),
            b'"' => self.string().map(Value::String),
            b'[' => self
                .within(depth, ']', |reader, depth| reader.value(depth).map(|_| ()))
                .map(|inner| Value::Array(Array(inner))),
            b'{' => self
                .within(depth, '}', |reader, depth| reader.member(depth).map(|_| ()))
                .map(|inner| Value::Object(Object(inner))),
            _ => self.number(),
        }
    }

    /// The next member, with its value as written.
    fn member(&mut self, depth: u32) -> Option<(Text<'a>, Value<'a>, &'a str)> {
        self.skip_blanks();
        let name = self.string()?;
        self.skip_token(':').then_some(())?;
        let before = self.rest;
        let value = self.value(depth)?;
        let written = before.get(..before.len() - self.rest.len())?;
        // a bracket is read together with the blanks behind it
        Some((name, value, written.trim_end_matches(BLANKS)))
    }

    /// Skips to the closing bracket and returns the text between the brackets.
    fn within(
        &mut self,
        depth: u32,
        close: char,
        mut element: impl FnMut(&mut Self, u32) -> Option<()>,
    ) -> Option<&'a str> {
        let depth = depth.checked_sub(1)?;
        let inside = self.rest.get(1..)?;
        self.rest = inside;
        let mut more = false;
        loop {
            self.skip_blanks();
            let length = inside.len() - self.rest.len();
            if !more && self.skip_token(close) {
                return inside.get(..length);
            }
            element(self, depth)?;
            more = self.skip_token(',');
            if !more && !self.rest.starts_with(close) {
                return None;
            }
        }
    }

    fn literal(&mut self, word: &str, value: Value<'a>) -> Option<Value<'a>> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(value)
    }

    fn string(&mut self) -> Option<Text<'a>> {
        let inside = self.rest.strip_prefix('"')?;
        let mut rest = inside;
        loop {
            let end = rest
                .bytes()
                .position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
            let (found, behind) = rest.get(end..)?.split_at_checked(1)?;
            match found {
                "\"" => {
                    self.rest = behind;
                    let length = inside.len() - behind.len() - 1;
                    return inside.get(..length).map(Text);
                }
                "\\" => rest = escaped(behind)?.1,
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Value<'a>> {
        let whole = self.rest;
        self.skip_char('-');
        if !self.skip_char('0') {
            self.digits()?;
        }
        if self.skip_char('.') {
            self.digits()?;
        }
        if self.skip_char('e') || self.skip_char('E') {
            let _ = self.skip_char('+') || self.skip_char('-');
            self.digits()?;
        }
        let length = whole.len() - self.rest.len();
        whole.get(..length).map(Value::Number)
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self
            .rest
            .trim_start_matches(|one: char| one.is_ascii_digit());
        (rest.len() < self.rest.len()).then(|| self.rest = rest)
    }

    fn skip_char(&mut self, one: char) -> bool {
        let rest = self.rest.strip_prefix(one);
        rest.map(|rest| self.rest = rest).is_some()
    }

    /// Skips one character and the blanks around it.
    fn skip_token(&mut self, token: char) -> bool {
        self.skip_blanks();
        let found = self.skip_char(token);
        self.skip_blanks();
        found
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(BLANKS);
    }
}

/// Decodes the escape whose backslash was read. Returns its character and the rest of the text.
fn escaped(text: &str) -> Option<(char, &str)> {
    let (kind, rest) = text.split_at_checked(1)?;
    let one = match kind {
        "\"" | "\\" | "/" => kind.chars().next()?,
        "b" => '\u{8}',
        "f" => '\u{c}',
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        "u" => return unicode(rest),
        _ => return None,
    };
    Some((one, rest))
}

fn unicode(text: &str) -> Option<(char, &str)> {
    let (unit, rest) = hex_unit(text)?;
    let high = match unit {
        0xd800..=0xdbff => unit - 0xd800,
        _ => {
            return Some((
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                rest,
            ));
        }
    };
    let low = rest.strip_prefix("\\u").and_then(hex_unit);
    if let Some((low @ 0xdc00..=0xdfff, rest)) = low {
        let one = char::from_u32(0x1_0000 + (high << 10) + (low - 0xdc00))?;
        return Some((one, rest));
    }
    Some((char::REPLACEMENT_CHARACTER, rest))
}

fn hex_unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = is_hex.then(|| u32::from_str_radix(digits, 16).ok())??;
    Some((unit, rest))
}

/// Whether a text is a JSON document that is not nested too deeply.
pub fn is_json(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

/// Appends a string with its quotes.
pub fn append_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for one in text.chars() {
        match one {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..=' ' if one != ' ' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(one)).as_bytes());
            }
            _ => out.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests;
