//! Replies of a Redis server in RESP3. Owns the parser: it never allocates for an announced length, and bounds
//! depth and size.

use super::WireError;
use crate::topic;

/// A value, without the distinctions that are not needed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a [u8]),
    Error(&'a [u8]),
    /// An array, a set, or the alternating names and values of a map.
    List(Vec<Value<'a>>),
    /// A push, which is not a reply.
    Push(Vec<Value<'a>>),
}

/// The value at the beginning of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// A complete value and its length.
    Whole(Value<'a>, usize),
    /// An incomplete value.
    Part,
    /// An incomplete value with a text that is too long.
    TooLong(TooLong),
}

/// A text that is skipped with the value that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// The position of the text.
    pub(crate) start: usize,
    /// Its length.
    pub(crate) length: usize,
    /// The number of items after it in the same list.
    pub(crate) behind: usize,
}

/// Parses one value. Its text may have `longest` bytes. In a list only the last text may; the others are names.
pub(crate) fn parse(input: &[u8], longest: usize) -> Result<Parsed<'_>, WireError> {
    let mut parser = Parser {
        input,
        at: 0,
        values: 0,
    };
    match parser.value(0, longest) {
        Ok(value) => Ok(Parsed::Whole(value, parser.at)),
        Err(Stop::Part) => Ok(Parsed::Part),
        Err(Stop::TooLong(length, behind)) => Ok(Parsed::TooLong(TooLong {
            start: parser.at,
            length,
            behind,
        })),
        Err(Stop::Wrong(what)) => Err(WireError::Protocol(what)),
    }
}

struct Parser<'a> {
    input: &'a [u8],
    at: usize,
    /// The number of values so far, at all depths.
    values: usize,
}

enum Stop {
    Part,
    /// The length of the text, and the number of items after it.
    TooLong(usize, usize),
    Wrong(&'static str),
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize, longest: usize) -> Result<Value<'a>, Stop> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            return Err(Stop::Wrong(
                "a reply is nested too deeply, or has too many parts",
            ));
        }
        loop {
            let (tag, line) = self.line()?;
            return Ok(match tag {
                b'+' | b',' | b'(' => Value::Text(line),
                b'-' => Value::Error(line),
                b':' => Value::Integer(number(line)?),
                b'#' => Value::Integer(i64::from(line == b"t")),
                b'_' => Value::Null,
                b'$' | b'=' => match length(line)? {
                    None => Value::Null,
                    Some(length) => Value::Text(self.text(length, longest)?),
                },
                b'!' => Value::Error(self.text(length(line)?.unwrap_or_default(), longest)?),
                b'*' | b'~' => match length(line)? {
                    None => Value::Null,
                    Some(count) => Value::List(self.list(count, depth, longest)?),
                },
                b'%' => Value::List(self.list(doubled(line)?, depth, longest)?),
                b'>' => {
                    Value::Push(self.list(length(line)?.unwrap_or_default(), depth, longest)?)
                }
                b'|' => {
                    // an attribute, which describes the next value
                    self.list(doubled(line)?, depth, longest)?;
                    continue;
                }
                _ => return Err(Stop::Wrong("a reply of an unknown kind")),
            });
        }
    }

    fn list(&mut self, count: usize, depth: usize, longest: usize) -> Result<Vec<Value<'a>>, Stop> {
        let mut values = Vec::new();
        for behind in (0..count).rev() {
            let longest = if behind == 0 { longest } else { LONGEST_NAME };
            match self.value(depth + 1, longest) {
                Ok(value) => values.push(value),
                Err(Stop::TooLong(..)) if depth > 0 => {
                    return Err(Stop::Wrong("a list in a list has a text that is too long"));
                }
                Err(Stop::TooLong(length, _)) => return Err(Stop::TooLong(length, behind)),
                Err(stop) => return Err(stop),
            }
        }
        Ok(values)
    }

    /// Reads a line without its end. Returns the first byte and the rest.
    fn line(&mut self) -> Result<(u8, &'a [u8]), Stop> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err(if rest.len() > LONGEST_LINE {
                Stop::Wrong("a line is too long")
            } else {
                Stop::Part
            });
        };
        if end > LONGEST_LINE {
            return Err(Stop::Wrong("a line is too long"));
        }
        let (line, _) = rest.split_at(end);
        let Some(((tag, line), b'\r')) = line
            .split_last()
            .and_then(|(last, line)| Some((line.split_first()?, *last)))
        else {
            return Err(Stop::Wrong("a line without its end"));
        };
        self.at += end + 1;
        Ok((*tag, line))
    }

    fn text(&mut self, length: usize, longest: usize) -> Result<&'a [u8], Stop> {
        if length > longest {
            return Err(Stop::TooLong(length, 0));
        }
        let rest = self.input.get(self.at..).unwrap_or_default();
        let Some((text, rest)) = rest.split_at_checked(length) else {
            return Err(Stop::Part);
        };
        match rest.split_at_checked(2) {
            Some((b"\r\n", _)) => {
                self.at += length + 2;
                Ok(text)
            }
            Some(_) => Err(Stop::Wrong("a text without its end")),
            None => Err(Stop::Part),
        }
    }
}

fn number(line: &[u8]) -> Result<i64, Stop> {
    str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Stop::Wrong("an invalid number"))
}

/// Parses a length; `None` is a null of RESP2.
fn length(line: &[u8]) -> Result<Option<usize>, Stop> {
    match number(line)? {
        -1 => Ok(None),
        length => usize::try_from(length)
            .map(Some)
            .map_err(|_| Stop::Wrong("an invalid length")),
    }
}

fn doubled(line: &[u8]) -> Result<usize, Stop> {
    length(line)?
        .unwrap_or_default()
        .checked_mul(2)
        .ok_or(Stop::Wrong("an invalid length"))
}

const DEEPEST: usize = 8;

/// The most bytes of a line: more than any error text has.
const LONGEST_LINE: usize = 64 * 1024;

/// The longest name with its prefix.
const LONGEST_NAME: usize = topic::LONGEST_NAME + 1024;

/// The most values in a reply: more than the list of all slots of a cluster has, even with one entry per slot.
const MOST_VALUES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(input: &[u8]) -> Value<'_> {
        match parse(input, 100).unwrap() {
            Parsed::Whole(value, length) => {
                assert_eq!(length, input.len());
                value
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_of_reply_is_parsed() {
        assert_eq!(whole(b"+OK\r\n"), Value::Text(b"OK"));
        assert_eq!(whole(b"-ERR no\r\n"), Value::Error(b"ERR no"));
        assert_eq!(whole(b"!2\r\nno\r\n"), Value::Error(b"no"));
        assert_eq!(whole(b":-12\r\n"), Value::Integer(-12));
        assert_eq!(whole(b"#t\r\n"), Value::Integer(1));
        assert_eq!(whole(b"_\r\n"), Value::Null);
        assert_eq!(whole(b"$-1\r\n"), Value::Null);
        assert_eq!(whole(b"$0\r\n\r\n"), Value::Text(b""));
        assert_eq!(whole(b"=5\r\ntxt:a\r\n"), Value::Text(b"txt:a"));
        assert_eq!(whole(b",1.5\r\n"), Value::Text(b"1.5"));
        assert_eq!(whole(b"*0\r\n"), Value::List(vec![]));
        assert_eq!(whole(b"|1\r\n+a\r\n+b\r\n:1\r\n"), Value::Integer(1));
        let pair = vec![Value::Text(b"a"), Value::Integer(1)];
        assert_eq!(whole(b"%1\r\n+a\r\n:1\r\n"), Value::List(pair.clone()));
        assert_eq!(whole(b"~2\r\n+a\r\n:1\r\n"), Value::List(pair.clone()));
        assert_eq!(whole(b">2\r\n$1\r\na\r\n:1\r\n"), Value::Push(pair));
    }

    #[test]
    fn announced_lengths_allocate_nothing() {
        for input in [
            &b"*1000000000\r\n"[..],
            b"%4000000000\r\n:1\r\n",
            b"$100\r\nabc",
        ] {
            assert_eq!(parse(input, 100), Ok(Parsed::Part));
        }
        let input = b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$101\r\nxxx";
        let too_long = |start, length, behind| {
            Ok(Parsed::TooLong(TooLong {
                start,
                length,
                behind,
            }))
        };
        assert_eq!(parse(input, 100), too_long(input.len() - 3, 101, 0));
        let input = b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$70000\r\nxxx";
        assert_eq!(parse(input, 100_000), too_long(input.len() - 3, 70_000, 1));
        assert!(parse(b"*1\r\n*2\r\n$70000\r\n", 100_000).is_err());
        for input in [
            &b"$-2\r\n"[..],
            b"*x\r\n",
            b"?\r\n",
            b"\r\n",
            b"+a\n",
            b"$1\r\nabc",
        ] {
            assert!(parse(input, 100).is_err(), "{input:?}");
        }
        assert!(parse(&b"*1\r\n".repeat(20), 100).is_err());
        let many = [&b"*2000000\r\n"[..], &b"_\r\n".repeat(2_000_000)].concat();
        assert!(
            parse(&many, 100).is_err(),
            "the parsed value would take ten times the memory"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_bounded(bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"*$%>|:+-_\r\n0123456789".to_vec())],
            0..200,
        )) {
            if let Ok(Parsed::Whole(_, length)) = parse(&bytes, 100) {
                prop_assert!(length <= bytes.len());
                for end in 0..length {
                    prop_assert_eq!(parse(&bytes[..end], 100), Ok(Parsed::Part));
                }
            }
        }
    }
}
