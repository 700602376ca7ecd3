//! Who writes members into the store: a run of a node until it is declared dead. Owns its written form.

use std::fmt;

/// A session. Of two of one node the greater is the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Session {
    pub(super) node: u64,
    pub(super) number: u64,
}

impl Session {
    /// Reads what [`Display`](fmt::Display) writes.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (node, rest) = text.split_first_chunk::<DIGITS>()?;
        let number = rest.strip_prefix(b"-")?;
        let session = Self {
            node: hex(node)?,
            number: hex(number)?,
        };
        (session.node != 0).then_some(session)
    }

    /// The session that follows it.
    pub(super) fn next(self, unix_ms: u64) -> Self {
        Self {
            node: self.node,
            number: unix_ms.max(self.number.saturating_add(1)),
        }
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:016x}", self.node, self.number)
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_written = digits.len() == DIGITS && digits.iter().all(is_digit);
    let text = str::from_utf8(digits).ok().filter(|_| is_written)?;
    u64::from_str_radix(text, 16).ok()
}

const DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_written_form_is_a_session() {
        for text in [
            &b""[..],
            b"0000000000000001",
            b"0000000000000001-",
            b"0000000000000001-000000000000000A",
            b"0000000000000001-0000000000000002 ",
            b"+000000000000001-0000000000000002",
            b"0000000000000000-0000000000000002",
        ] {
            assert_eq!(Session::parse(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn each_session_is_later_than_the_one_before() {
        let first = Session { node: 1, number: 0 }.next(1000);
        assert_eq!(first.number, 1000);
        assert_eq!(first.next(7).number, 1001);
        assert_eq!(first.next(2000).number, 2000);
    }

    proptest! {
        #[test]
        fn a_session_is_read_as_it_was_written(node in 1_u64.., number: u64, other: Vec<u8>) {
            let session = Session { node, number };
            prop_assert_eq!(Session::parse(session.to_string().as_bytes()), Some(session));
            Session::parse(&other);
        }
    }
}
