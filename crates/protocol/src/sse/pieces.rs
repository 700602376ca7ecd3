//! The event of a long message, written in pieces while its reader takes them, so that no stream holds a message a second
//! time. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{append_fields, code_of, split};

/// How a payload becomes the data of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Lines,
    Base64,
}

/// What is left of an event. The bytes of its message go through [`append`](Self::append), from the first to the last.
#[derive(Debug)]
pub struct Pieces {
    /// Bytes of the message that are copied.
    copied: usize,
    /// What stands behind them, until it is written.
    behind: Vec<u8>,
    /// Bytes of the message in whose place that is.
    replaced: usize,
    /// Bytes of the payload.
    left: usize,
    coding: Coding,
    /// Bytes whose group of three is not complete.
    carried: Vec<u8>,
    /// Whether the last byte was a carriage return, whose line feed is no further line.
    is_after_return: bool,
    /// What ends the event.
    end: &'static [u8],
    is_done: bool,
}

impl Pieces {
    /// Begins the event of a message of `millrace.v1`, as [`append_v1`](super::append_v1) makes it.
    pub fn of_v1(is_text: bool, message: &[u8], key: Option<&str>, out: &mut Vec<u8>) -> Self {
        let (header, payload) = split(message);
        let code = code_of(is_text, payload);
        out.extend_from_slice(b"data: ");
        let copied = header.strip_suffix(b"}").unwrap_or(header).len();
        let mut behind = Vec::new();
        append_fields(header, key, code, &mut behind);
        if payload.is_some() {
            behind.extend_from_slice(b"data: ");
        }
        let left = payload.map_or(0, <[u8]>::len);
        Self {
            copied,
            behind,
            replaced: message.len() - left - copied,
            left,
            coding: if code.is_some() {
                Coding::Base64
            } else {
                Coding::Lines
            },
            end: if payload.is_some() { b"\n\n" } else { b"\n" },
            ..Self::nothing_of(0)
        }
    }

    /// The data of an event whose other fields are written: the payload behind the first `before` bytes of a message.
    pub(super) fn of_data(message: &[u8], before: usize, coding: Coding) -> Self {
        Self {
            behind: b"data: ".to_vec(),
            left: message.len().saturating_sub(before),
            coding,
            end: b"\n\n",
            ..Self::nothing_of(before)
        }
    }

    /// Takes a message of this length, and writes nothing.
    pub(super) fn nothing_of(length: usize) -> Self {
        Self {
            copied: 0,
            behind: Vec::new(),
            replaced: length,
            left: 0,
            coding: Coding::Lines,
            carried: Vec::new(),
            is_after_return: false,
            end: b"",
            is_done: false,
        }
    }

    /// Whether the event is complete.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Appends what the next bytes of the message are to the event, until `out` has `most` bytes or a few more. Returns how
    /// many bytes it has used: at least one, if there is one and `out` has fewer than `most`.
    pub fn append(&mut self, bytes: &[u8], most: usize, out: &mut Vec<u8>) -> usize {
        let mut rest = bytes;
        let room = most.saturating_sub(out.len());
        out.extend_from_slice(take(&mut rest, &mut self.copied, room));
        if self.copied > 0 {
            return bytes.len() - rest.len();
        }
        out.append(&mut self.behind);
        take(&mut rest, &mut self.replaced, usize::MAX);
        let payload = rest.get(..self.left).unwrap_or(rest);
        let used = match self.coding {
            Coding::Lines => self.append_lines(payload, most, out),
            Coding::Base64 => self.append_base64(payload, most, out),
        };
        self.left -= used;
        if self.replaced == 0 && self.left == 0 && !self.is_done {
            self.is_done = true;
            append_groups(&std::mem::take(&mut self.carried), out);
            out.extend_from_slice(self.end);
        }
        bytes.len() - rest.len() + used
    }

    fn append_lines(&mut self, payload: &[u8], most: usize, out: &mut Vec<u8>) -> usize {
        let mut rest = payload;
        while out.len() < most
            && let Some((first, behind)) = rest.split_first()
        {
            if std::mem::take(&mut self.is_after_return) && *first == b'\n' {
                rest = behind;
                continue;
            }
            let piece = rest.get(..most - out.len()).unwrap_or(rest);
            let end = memchr::memchr2(b'\n', b'\r', piece);
            let (line, behind) = piece.split_at(end.unwrap_or(piece.len()));
            out.extend_from_slice(line);
            let mut used = line.len();
            if let Some(ending) = behind.first() {
                self.is_after_return = *ending == b'\r';
                out.extend_from_slice(b"\ndata: ");
                used += 1;
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        payload.len() - rest.len()
    }

    fn append_base64(&mut self, payload: &[u8], most: usize, out: &mut Vec<u8>) -> usize {
        let mut missing = (GROUP - self.carried.len()) % GROUP;
        let mut rest = payload;
        let first = take(&mut rest, &mut missing, usize::MAX);
        self.carried.extend_from_slice(first);
        if missing > 0 {
            return first.len();
        }
        append_groups(&std::mem::take(&mut self.carried), out);
        let room = (most.saturating_sub(out.len()) / CODED_GROUP).max(1);
        let mut groups = (rest.len() / GROUP).min(room) * GROUP;
        append_groups(take(&mut rest, &mut groups, usize::MAX), out);
        if rest.len() < GROUP {
            self.carried.extend_from_slice(rest);
            rest = &[];
        }
        payload.len() - rest.len()
    }
}

/// Bytes that are coded together, and the characters that they become.
const GROUP: usize = 3;
const CODED_GROUP: usize = 4;

/// Takes at most `count` and at most `most` bytes from the front, and subtracts their number from `count`.
fn take<'a>(bytes: &mut &'a [u8], count: &mut usize, most: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(bytes.len().min(*count).min(most));
    *bytes = rest;
    *count -= taken.len();
    taken
}

/// Appends bytes in base64. All but the last ones of a message are whole groups.
pub(super) fn append_groups(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(GROUP) * CODED_GROUP, 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let length = STANDARD.encode_slice(bytes, room).unwrap_or_default();
    out.truncate(start + length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::append_v1;
    use super::*;

    /// The event of a message that is given in pieces of `cut` bytes, taken in pieces of `most` bytes.
    fn in_pieces(is_text: bool, message: &[u8], (cut, most): (usize, usize)) -> Vec<u8> {
        let (mut all, mut out) = (Vec::new(), Vec::new());
        let mut pieces = Pieces::of_v1(is_text, message, None, &mut out);
        for mut bytes in message.chunks(cut) {
            while !bytes.is_empty() {
                if out.len() >= most {
                    assert!(out.len() < most + AROUND, "{} of {most} bytes", out.len());
                    all.append(&mut out);
                }
                let used = pieces.append(bytes, most, &mut out);
                assert!(used > 0);
                bytes = &bytes[used..];
            }
        }
        assert!(pieces.is_done());
        all.append(&mut out);
        all
    }

    /// The fields of a header, and what follows a line.
    const AROUND: usize = 40;

    fn whole(is_text: bool, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        append_v1(&mut out, is_text, message, None);
        out
    }

    #[test]
    fn line_ends_are_whole_wherever_they_are_cut() {
        for message in [
            &b"{}\na\r\nb"[..],
            b"{\"c\":\"a\"}\n\n\n\n",
            b"{}\n\r\r\n\n\r",
            b"{}\n",
            b"{\"t\":\"pong\"}",
            "{}\né\u{1f980}\nx".as_bytes(),
        ] {
            for cut in 1..=message.len() {
                for most in 1..=message.len() * 2 {
                    for is_text in [true, false] {
                        let made = in_pieces(is_text, message, (cut, most));
                        assert_eq!(made, whole(is_text, message), "{cut} {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn plain_data_has_no_carriage_returns_wherever_it_is_cut() {
        let message = b"{}\na\r\nb\rc\n\r\n\r";
        for cut in 1..=message.len() {
            for most in 1..=message.len() {
                let (mut pieces, mut all) =
                    (Pieces::of_data(message, 3, Coding::Lines), Vec::new());
                for mut bytes in message.chunks(cut) {
                    while !bytes.is_empty() {
                        let mut out = Vec::new();
                        let used = pieces.append(bytes, most, &mut out);
                        bytes = &bytes[used..];
                        all.append(&mut out);
                    }
                }
                let mut expected = Vec::new();
                super::super::append_text(&mut expected, &message[3..]);
                assert_eq!(all, expected, "{cut} {most}");
            }
        }
    }

    proptest! {
        #[test]
        fn an_event_in_pieces_is_the_whole_one(
            payload in prop_oneof![
                proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..400),
                proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..400),
            ],
            is_text: bool,
            has_payload: bool,
            cut in 1_usize..500,
            most in 1_usize..300,
        ) {
            let mut message = b"{\"c\":\"room\",\"o\":5}".to_vec();
            if has_payload {
                message.push(b'\n');
                message.extend_from_slice(&payload);
            }
            prop_assert_eq!(in_pieces(is_text, &message, (cut, most)), whole(is_text, &message));
        }
    }
}
