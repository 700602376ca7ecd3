//! A response of HTTP/1.1 as text that trusted code wrote. Owns how far the response has been read, so that its reader
//! knows where it ends; it checks only what that needs. Keeps no bytes: a head, or the rest after the last chunk, must
//! come in one piece.

use super::bytes::{lists, split_once};
use super::field;
use super::head::without_cr;
use super::head_lines::HeadLines;

/// Follows one response.
#[derive(Debug)]
pub struct AnswerReader {
    state: State,
    /// The request was HEAD, so the response has no body.
    heads: bool,
    /// The kind of the response has no body.
    bare: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Body(Framing),
    Chunk(Chunk),
    Ended,
}

/// Where the body of a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body.
    None,
    /// After this many bytes.
    Counted(u64),
    /// With the last chunk.
    Chunked,
    /// With the end of the connection.
    Closed,
}

/// The position in a chunked body.
#[derive(Debug, Clone, Copy)]
enum Chunk {
    Size(u64),
    Data(u64),
    /// The line end after the data of a chunk.
    End,
    Last,
}

/// A part of a response.
#[derive(Debug, PartialEq, Eq)]
pub enum AnswerPart<'a> {
    /// A head of status 1xx.
    Informational,
    /// The head.
    Head(AnswerLines<'a>),
    /// Bytes of the body.
    Data,
    /// Bytes between the data of a chunked body.
    Framing,
    /// The end of a chunked body, with the lines of its trailers.
    Trailers(&'a [u8]),
    /// Bytes that do not belong to the response.
    Excess,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerLines<'a> {
    /// From 200 to 999.
    pub status: u16,
    /// The reason phrase after the status.
    pub reason: &'a [u8],
    /// The first line with its end.
    pub first: &'a [u8],
    rest: &'a [u8],
    /// The head says that the connection ends with this response.
    pub closes: bool,
    /// Where the body ends.
    pub framing: Framing,
}

/// The text is not a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text is not a response of HTTP/1.1")]
pub struct NoAnswer;

impl AnswerReader {
    /// Starts a response. `heads`: the request was HEAD.
    pub const fn new(heads: bool) -> Self {
        Self {
            state: State::Head,
            heads,
            bare: false,
        }
    }

    /// Finds the next part at the beginning of `bytes`. Returns the part and its length. No byte is read twice.
    pub fn advance<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<Option<(usize, AnswerPart<'a>)>, NoAnswer> {
        if bytes.is_empty() {
            return Ok(None);
        }
        match self.state {
            State::Head => self.head(bytes).map(Some),
            State::Body(Framing::Counted(left)) => {
                let here = u64::try_from(bytes.len()).unwrap_or(u64::MAX).min(left);
                self.state = match left - here {
                    0 => State::Ended,
                    left => State::Body(Framing::Counted(left)),
                };
                let count = usize::try_from(here).unwrap_or(bytes.len());
                Ok(Some((count, AnswerPart::Data)))
            }
            State::Body(Framing::Closed) => Ok(Some((bytes.len(), AnswerPart::Data))),
            State::Body(_) | State::Ended => Ok(Some((bytes.len(), AnswerPart::Excess))),
            State::Chunk(chunk) => self.chunk(chunk, bytes).map(Some),
        }
    }

    /// Whether the response is complete if no more bytes follow.
    pub const fn is_whole(&self) -> bool {
        matches!(self.state, State::Ended | State::Body(Framing::Closed))
    }

    /// Whether the response has no body, even if bytes of one are written.
    pub const fn takes_no_body(&self) -> bool {
        self.bare
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, AnswerPart<'a>), NoAnswer> {
        let (head, length) = end_of_lines(bytes).ok_or(NoAnswer)?;
        let (first, _) = split_once(head, b'\n').ok_or(NoAnswer)?;
        let (first, rest) = head.split_at_checked(first.len() + 1).ok_or(NoAnswer)?;
        let (status, reason) = status(first)?;
        let mut lines = AnswerLines {
            status,
            reason,
            first,
            rest,
            closes: false,
            framing: Framing::Closed,
        };
        lines.judge()?;
        if status < 200 {
            // only the gateway may switch to another protocol
            return match status {
                101 => Err(NoAnswer),
                _ => Ok((length, AnswerPart::Informational)),
            };
        }
        if self.heads || matches!(status, 204 | 304) {
            lines.framing = Framing::None;
            self.bare = true;
        }
        self.state = match lines.framing {
            Framing::None | Framing::Counted(0) => State::Ended,
            Framing::Chunked => State::Chunk(Chunk::Size(0)),
            framing => State::Body(framing),
        };
        Ok((length, AnswerPart::Head(lines)))
    }

    fn chunk<'a>(
        &mut self,
        chunk: Chunk,
        bytes: &'a [u8],
    ) -> Result<(usize, AnswerPart<'a>), NoAnswer> {
        match chunk {
            Chunk::Size(size) => self.size(size, bytes),
            Chunk::Data(left) => {
                let here = u64::try_from(bytes.len()).unwrap_or(u64::MAX).min(left);
                let next = match left - here {
                    0 => Chunk::End,
                    left => Chunk::Data(left),
                };
                self.state = State::Chunk(next);
                let count = usize::try_from(here).unwrap_or(bytes.len());
                Ok((count, AnswerPart::Data))
            }
            Chunk::End => {
                let line_end = match bytes {
                    [b'\r', b'\n', ..] => 2,
                    [b'\r'] => return Ok((1, AnswerPart::Framing)),
                    [b'\n', ..] => 1,
                    _ => return Err(NoAnswer),
                };
                self.state = State::Chunk(Chunk::Size(0));
                Ok((line_end, AnswerPart::Framing))
            }
            Chunk::Last => {
                self.state = State::Ended;
                if bytes.starts_with(b"\r\n") {
                    return Ok((2, AnswerPart::Trailers(b"")));
                }
                let (lines, length) = end_of_lines(bytes).ok_or(NoAnswer)?;
                for line in lines.split_inclusive(|&byte| byte == b'\n') {
                    judge_line(line)?;
                }
                Ok((length, AnswerPart::Trailers(lines)))
            }
        }
    }

    /// Reads a chunk's size and the end of its line, which may come in pieces.
    fn size<'a>(
        &mut self,
        mut size: u64,
        bytes: &'a [u8],
    ) -> Result<(usize, AnswerPart<'a>), NoAnswer> {
        for (index, &byte) in bytes.iter().enumerate() {
            match byte {
                b'\r' => {}
                b'\n' => {
                    let next = if size == 0 {
                        Chunk::Last
                    } else {
                        Chunk::Data(size)
                    };
                    self.state = State::Chunk(next);
                    return Ok((index + 1, AnswerPart::Framing));
                }
                _ => {
                    let digit = char::from(byte).to_digit(16).ok_or(NoAnswer)?;
                    size = size.checked_mul(16).ok_or(NoAnswer)? | u64::from(digit);
                }
            }
        }
        self.state = State::Chunk(Chunk::Size(size));
        Ok((bytes.len(), AnswerPart::Framing))
    }
}

impl<'a> AnswerLines<'a> {
    /// The header lines as they were written.
    pub fn lines(&self) -> HeadLines<'a> {
        HeadLines::of(self.rest)
    }

    /// The header lines, each with its line end, and their names.
    pub fn whole_lines(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.rest
            .split_inclusive(|&byte| byte == b'\n')
            .filter_map(|line| Some((line, split_once(line, b':')?.0)))
    }

    fn judge(&mut self) -> Result<(), NoAnswer> {
        let mut length = None;
        for line in self.rest.split_inclusive(|&byte| byte == b'\n') {
            let (name, value) = judge_line(line)?;
            match name.len() {
                10 if name.eq_ignore_ascii_case(b"connection") => {
                    self.closes |= lists(value, b"close");
                }
                14 if name.eq_ignore_ascii_case(b"content-length") => {
                    let digits = value.iter().all(u8::is_ascii_digit);
                    let number = std::str::from_utf8(value)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    // two lengths, or an invalid one, can be read differently by other parsers
                    if length.is_some() || !digits || number.is_none() {
                        return Err(NoAnswer);
                    }
                    length = number;
                }
                17 if name.eq_ignore_ascii_case(b"transfer-encoding")
                    && lists(value, b"chunked") =>
                {
                    self.framing = Framing::Chunked;
                }
                _ => {}
            }
        }
        if let (Some(length), Framing::Closed) = (length, self.framing) {
            self.framing = Framing::Counted(length);
        }
        Ok(())
    }
}

/// Splits a line with its line end into name and value.
fn judge_line(line: &[u8]) -> Result<(&[u8], &[u8]), NoAnswer> {
    let line = line.strip_suffix(b"\n").ok_or(NoAnswer)?;
    let line = without_cr(line).map_err(|_| NoAnswer)?;
    field::split(line).map_err(|_| NoAnswer)
}

/// Parses a status line such as `HTTP/1.1 200 OK` with its line end.
fn status(line: &[u8]) -> Result<(u16, &[u8]), NoAnswer> {
    let line = line.strip_suffix(b"\r\n").ok_or(NoAnswer)?;
    let (version, rest) = split_once(line, b' ').ok_or(NoAnswer)?;
    let (digits, reason) = split_once(rest, b' ').unwrap_or((rest, b""));
    let [first @ b'1'..=b'9', second, third] = digits else {
        return Err(NoAnswer);
    };
    if version != b"HTTP/1.1" || !second.is_ascii_digit() || !third.is_ascii_digit() {
        return Err(NoAnswer);
    }
    if reason.iter().any(|&byte| byte < 0x20 && byte != b'\t') {
        return Err(NoAnswer);
    }
    let digit = |byte: &u8| u16::from(byte - b'0');
    Ok((
        digit(first) * 100 + digit(second) * 10 + digit(third),
        reason,
    ))
}

/// Returns the lines before the first empty one, with their line ends, and the length including the empty line.
fn end_of_lines(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let found = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    Some((bytes.get(..found + 2)?, found + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(message: &[u8], stride: usize, heads: bool) -> (Vec<u8>, bool) {
        let mut reader = AnswerReader::new(heads);
        let (mut data, mut rest) = (Vec::new(), message);
        let (used, _) = reader.advance(rest).unwrap().unwrap();
        rest = &rest[used..];
        while !rest.is_empty() {
            let piece = &rest[..stride.min(rest.len())];
            // the rest after the last chunk must come in one piece
            let piece = if matches!(reader.state, State::Chunk(Chunk::Last)) {
                rest
            } else {
                piece
            };
            let (used, part) = reader.advance(piece).unwrap().unwrap();
            if part == AnswerPart::Data {
                data.extend_from_slice(&piece[..used]);
            }
            rest = &rest[used..];
        }
        (data, reader.is_whole())
    }

    #[test]
    fn bodies_are_found_wherever_the_input_is_split() {
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1F\r\n0123456789012345678901234567890\r\n0\r\nX: y\r\n\r\n";
        let counted = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
        for stride in 1..40 {
            let (data, whole) = parts(chunked, stride, false);
            assert_eq!(data, b"abc0123456789012345678901234567890", "{stride}");
            assert!(whole);
            assert_eq!(parts(counted, stride, false), (b"hello".to_vec(), true));
        }
        let short = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello";
        assert_eq!(parts(short, 9, false), (b"hello".to_vec(), false));
        let open = b"HTTP/1.1 200 OK\r\n\r\nhello";
        assert_eq!(parts(open, 9, false), (b"hello".to_vec(), true));
        assert_eq!(parts(counted, 9, true), (Vec::new(), true));
    }

    #[test]
    fn invalid_responses_are_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        ] {
            assert!(
                AnswerReader::new(false).advance(text.as_bytes()).is_err(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn informational_heads_come_before_the_head() {
        let text = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: a, Close\r\n\r\nx";
        let mut reader = AnswerReader::new(false);
        let (used, part) = reader.advance(text).unwrap().unwrap();
        assert_eq!(part, AnswerPart::Informational);
        let (second, part) = reader.advance(&text[used..]).unwrap().unwrap();
        let AnswerPart::Head(lines) = part else {
            panic!("{part:?}")
        };
        assert_eq!((lines.status, lines.reason), (204, &b"No Content"[..]));
        assert!(lines.closes && lines.framing == Framing::None && reader.is_whole());
        let rest = reader.advance(&text[used + second..]).unwrap();
        assert_eq!(rest, Some((1, AnswerPart::Excess)));
    }
}
