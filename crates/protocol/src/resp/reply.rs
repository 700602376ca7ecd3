//! Replies: the types of RESP, and the types of version 2 that represent those of version 3.

use super::number::append_integer;

/// The version of RESP that a connection uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// The version at the beginning of every connection.
    #[default]
    Resp2,
    /// The version after `HELLO 3`.
    Resp3,
}

/// Appends replies of one version to a buffer.
///
/// # Example
///
/// ```
/// use millrace_protocol::resp::{Reply, Version};
///
/// let mut out = Vec::new();
/// let mut reply = Reply::new(Version::Resp2, &mut out);
/// reply.map(1);
/// reply.bulk(b"proto");
/// reply.integer(2);
/// assert_eq!(out, b"*2\r\n$5\r\nproto\r\n:2\r\n");
/// ```
#[derive(Debug)]
pub struct Reply<'a> {
    version: Version,
    out: &'a mut Vec<u8>,
}

impl<'a> Reply<'a> {
    /// Makes a writer that appends to `out`.
    pub fn new(version: Version, out: &'a mut Vec<u8>) -> Self {
        Self { version, out }
    }

    /// A simple string such as `OK`.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error with its code, such as `ERR no such thing`. Line breaks at both ends are removed, others become
    /// blanks.
    pub fn error(&mut self, text: &[u8]) {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let start = text.iter().position(|byte| !is_break(byte));
        let end = text.iter().rposition(|byte| !is_break(byte));
        let trimmed = match (start, end) {
            (Some(start), Some(end)) => text.get(start..=end).unwrap_or_default(),
            _ => &[],
        };
        self.out.push(b'-');
        let blanked = |byte: &u8| if is_break(byte) { b' ' } else { *byte };
        self.out.extend(trimmed.iter().map(blanked));
        self.out.extend_from_slice(b"\r\n");
    }

    /// An integer.
    pub fn integer(&mut self, number: i64) {
        self.out.push(b':');
        append_integer(number, self.out);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        // reserves once: appending the last two bytes could otherwise double the capacity of a large buffer
        self.out.reserve(bytes.len() + BULK_AROUND);
        self.head(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Bytes, or a null if there are none.
    pub fn optional(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// A null in the place of bytes.
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Resp2 => b"$-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// A null in the place of an array.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Resp2 => b"*-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// The head of an array. `length` replies must follow.
    pub fn array(&mut self, length: usize) {
        self.head(b'*', length);
    }

    /// The head of a map. `pairs` times two replies must follow.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.head(b'*', pairs * 2),
            Version::Resp3 => self.head(b'%', pairs),
        }
    }

    /// The head of a set. `length` replies must follow.
    pub fn set(&mut self, length: usize) {
        self.head(self.either(b'*', b'~'), length);
    }

    /// The head of a push, which is not a reply to a request. `length` replies must follow.
    pub fn push(&mut self, length: usize) {
        self.head(self.either(b'*', b'>'), length);
    }

    /// A floating-point number.
    pub fn double(&mut self, number: f64) {
        let text = if number.is_nan() {
            "nan".to_owned()
        } else {
            number.to_string()
        };
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// True or false.
    pub fn boolean(&mut self, value: bool) {
        match self.version {
            Version::Resp2 => self.integer(i64::from(value)),
            Version::Resp3 => self.line(b'#', if value { b"t" } else { b"f" }),
        }
    }

    /// Text to be displayed unchanged. `format` names its format in three letters.
    pub fn verbatim(&mut self, format: &[u8; 3], text: &str) {
        self.out.reserve(text.len() + BULK_AROUND);
        self.verbatim_head(format, text.len());
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    /// The head of a verbatim text. `length` bytes and a line end must follow.
    pub fn verbatim_head(&mut self, format: &[u8; 3], length: usize) {
        if self.version == Version::Resp2 {
            return self.head(b'$', length);
        }
        self.head(b'=', length + format.len() + 1);
        self.out.extend_from_slice(format);
        self.out.push(b':');
    }

    /// An integer of any size, in decimal digits.
    pub fn big_number(&mut self, digits: &str) {
        match self.version {
            Version::Resp2 => self.bulk(digits.as_bytes()),
            Version::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// The version of the replies.
    pub fn version(&self) -> Version {
        self.version
    }

    fn either(&self, resp2: u8, resp3: u8) -> u8 {
        match self.version {
            Version::Resp2 => resp2,
            Version::Resp3 => resp3,
        }
    }

    fn head(&mut self, kind: u8, length: usize) {
        self.out.push(kind);
        append_integer(i64::try_from(length).unwrap_or(i64::MAX), self.out);
        self.out.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// The most bytes that a bulk reply adds to its content.
const BULK_AROUND: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, write: impl FnOnce(&mut Reply<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Reply::new(version, &mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_type_has_its_form_in_both_versions() {
        let all = |reply: &mut Reply<'_>| {
            reply.simple("OK");
            reply.error(b"\r\nERR a\nb\r\n");
            reply.integer(-1);
            reply.bulk(b"ab");
            reply.optional(None);
            reply.null_array();
            reply.array(0);
            reply.map(1);
            reply.set(2);
            reply.push(3);
            reply.double(1.5);
            reply.double(f64::NEG_INFINITY);
            reply.boolean(true);
            reply.verbatim(b"txt", "x");
            reply.big_number("12");
        };
        assert_eq!(
            written(Version::Resp2, all),
            "+OK\r\n-ERR a b\r\n:-1\r\n$2\r\nab\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*2\r\n*3\r\n$3\r\n1.5\r\n$4\r\n-inf\r\n:1\r\n\
             $1\r\nx\r\n$2\r\n12\r\n"
        );
        assert_eq!(
            written(Version::Resp3, all),
            "+OK\r\n-ERR a b\r\n:-1\r\n$2\r\nab\r\n_\r\n_\r\n*0\r\n%1\r\n~2\r\n>3\r\n,1.5\r\n,-inf\r\n#t\r\n\
             =5\r\ntxt:x\r\n(12\r\n"
        );
    }
}
