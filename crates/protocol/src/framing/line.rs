//! Lines. LF ends a line, and one CR before it belongs to the line end. A line that is sent never contains a line
//! end.

use std::borrow::Cow;
use std::mem;

use memchr::{memchr, memchr2};

use super::{DecodeError, hold};

/// The part of a line that was received.
#[derive(Debug, Default)]
pub(super) struct Partial {
    held: Vec<u8>,
}

impl Partial {
    #[inline]
    pub(super) fn next<'i>(
        &mut self,
        input: &mut &'i [u8],
        most: usize,
    ) -> Result<Option<Cow<'i, [u8]>>, DecodeError> {
        let bytes = *input;
        let Some(end) = memchr(b'\n', bytes) else {
            *input = &[];
            self.push(bytes, most)?;
            return Ok(None);
        };
        let (line, rest) = bytes.split_at(end);
        *input = rest.split_first().map_or(&[], |(_, behind)| behind);
        if self.held.is_empty() {
            let line = without_cr(line);
            bounded(line.len(), most)?;
            return Ok(Some(Cow::Borrowed(line)));
        }
        self.push(line, most)?;
        Ok(self.finish_line().map(Cow::Owned))
    }

    /// Keeps bytes that do not end a line. They may exceed the bound by one CR, because that may belong to the line
    /// end.
    fn push(&mut self, bytes: &[u8], most: usize) -> Result<(), DecodeError> {
        let Some(last) = bytes.last() else {
            return Ok(()); // the bytes kept before are within the bound
        };
        let length = self.held.len().saturating_add(bytes.len());
        bounded(length - usize::from(*last == b'\r'), most)?;
        hold(&mut self.held, bytes, most.saturating_add(1));
        Ok(())
    }

    /// Returns the line that earlier input began, at its end.
    fn finish_line(&mut self) -> Option<Vec<u8>> {
        let mut line = mem::take(&mut self.held);
        if line.is_empty() {
            return None;
        }
        line.truncate(without_cr(&line).len());
        Some(line)
    }

    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        self.finish_line()
    }

    pub(super) fn unfinished(&self) -> Option<usize> {
        (!self.held.is_empty()).then_some(self.held.len())
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held.capacity()
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn bounded(length: usize, most: usize) -> Result<(), DecodeError> {
    if length > most {
        return Err(DecodeError::LineTooLong(most));
    }
    Ok(())
}

/// Appends one line. CR and LF inside it become blanks, so that a payload cannot add a second line.
///
/// # Example
///
/// ```
/// use millrace_protocol::framing::append_line;
///
/// let mut out = Vec::new();
/// append_line(b"hello\r\nQUIT", &mut out);
/// assert_eq!(out, b"hello  QUIT\n");
/// ```
pub fn append_line(payload: &[u8], out: &mut Vec<u8>) {
    out.reserve(payload.len().saturating_add(1));
    let mut rest = payload;
    while let Some(at) = memchr2(b'\r', b'\n', rest) {
        let (before, behind) = rest.split_at(at);
        out.extend_from_slice(before);
        out.push(b' ');
        rest = behind.split_first().map_or(&[], |(_, behind)| behind);
    }
    out.extend_from_slice(rest);
    out.push(b'\n');
}

/// Whether bytes are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// All bytes are below 0x80.
    Ascii,
    /// Valid UTF-8.
    Utf8,
    /// Not text.
    No,
}

impl Text {
    /// Checks all bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.is_ascii() {
            return Self::Ascii;
        }
        match simdutf8::basic::from_utf8(bytes) {
            Ok(_) => Self::Utf8,
            Err(_) => Self::No,
        }
    }
}

/// Whether a line is the first line of an HTTP request: a method, a target and a version. A browser can be made by a
/// page to send such a request to a line-based server, with further lines in its body.
///
/// # Example
///
/// ```
/// use millrace_protocol::framing::is_http_request;
///
/// assert!(is_http_request(b"POST / HTTP/1.1"));
/// assert!(!is_http_request(b"GET key"));
/// ```
pub fn is_http_request(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let version = words.next_back().unwrap_or_default();
    !method.is_empty()
        && words.next().is_some()
        && method.iter().all(|byte| is_token(*byte))
        && matches!(version, [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit())
}

/// Whether a byte may be part of a method (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines_are_told_from_other_lines() {
        for line in [
            "GET / HTTP/1.1",
            "post /path?a=b HTTP/1.0",
            "PRI * HTTP/2.0",
            "M-SEARCH * HTTP/1.1",
            "OPTIONS  HTTP/1.1",
        ] {
            assert!(is_http_request(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "HTTP/1.1",
            "GET HTTP/1.1",
            " / HTTP/1.1",
            "GET / HTTP/1.1 ",
            "GET / http/1.1",
            "GET / HTTP/11",
            "say: / HTTP/1.1",
            "{\"a\": 1} HTTP/1.1",
        ] {
            assert!(!is_http_request(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn text_is_told_from_bytes() {
        assert_eq!(Text::of(b""), Text::Ascii);
        assert_eq!(Text::of(b"a\x7f\0"), Text::Ascii);
        assert_eq!(Text::of("\u{e9}".as_bytes()), Text::Utf8);
        assert_eq!(Text::of(b"\xe9"), Text::No);
        assert_eq!(Text::of(b"\xed\xa0\x80"), Text::No, "half a surrogate pair");
    }
}
