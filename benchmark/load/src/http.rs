//! HTTP/1.1 for a client: one fixed request, and strict parsing of responses. Knows no connection;
//! allocates nothing while reading and never copies a body.

use std::net::SocketAddr;

use crate::failure::Failure;

/// The request for a path, with headers that every browser and tool sends.
pub fn request(target: SocketAddr, path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: millrace-load\r\nAccept: */*\r\n\r\n"
    )
    .into_bytes()
}

/// Takes one answer from the front of `bytes`: its length on the wire, or `None` while it is
/// incomplete. Anything but a 200 with exactly this body, on a connection that stays open, is a
/// violation.
pub fn answer(bytes: &[u8], body: &[u8]) -> Result<Option<usize>, Failure> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        if bytes.len() > LONGEST_HEAD {
            return Err(violation("a head without an end", bytes));
        }
        return Ok(None);
    };
    let rest = &bytes[end + 4..];
    let used = match framing(&bytes[..end])? {
        Framing::Length(length) if length != body.len() => {
            let what = format!("a body of {length} bytes, not {}", body.len());
            return Err(violation(&what, bytes));
        }
        Framing::Length(length) => match rest.get(..length) {
            Some(whole) if whole == body => Some(length),
            Some(whole) => return Err(violation("another body", whole)),
            None => None,
        },
        Framing::Chunked => chunks(rest, body)?,
    };
    Ok(used.map(|used| end + 4 + used))
}

enum Framing {
    Length(usize),
    Chunked,
}

/// How the body ends, according to the head without its empty line.
fn framing(head: &[u8]) -> Result<Framing, Failure> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let status = line(lines.next().unwrap_or_default(), false);
    if !status.is_some_and(|status| status.starts_with(b"HTTP/1.1 200 ")) {
        return Err(violation("another status than 200", head));
    }
    let mut found = None;
    let mut lines = lines.peekable();
    while let Some(bytes) = lines.next() {
        let last = lines.peek().is_none();
        let Some((name, value)) = line(bytes, last).and_then(field) else {
            return Err(violation("an invalid header", head));
        };
        let framing = if name.eq_ignore_ascii_case(b"content-length") {
            number(value, 10).map(Framing::Length)
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            value
                .eq_ignore_ascii_case(b"chunked")
                .then_some(Framing::Chunked)
        } else if name.eq_ignore_ascii_case(b"connection") && value.eq_ignore_ascii_case(b"close") {
            return Err(violation("the end of the connection", head));
        } else {
            continue;
        };
        if framing.is_none() || found.is_some() {
            return Err(violation("an unclear length", head));
        }
        found = framing;
    }
    found.ok_or_else(|| violation("no length", head))
}

/// Removes a line's carriage return, which is already missing in the last line of a head. `None` if
/// it is missing, or if there is another one.
fn line(bytes: &[u8], last: bool) -> Option<&[u8]> {
    let text = if last {
        bytes
    } else {
        bytes.strip_suffix(b"\r")?
    };
    (!text.contains(&b'\r')).then_some(text)
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let sound = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    sound.then_some((name, value.trim_ascii()))
}

/// The length of the chunks that form the body, including the last one; `None` while they are
/// incomplete. Extensions and trailers are refused.
fn chunks(bytes: &[u8], body: &[u8]) -> Result<Option<usize>, Failure> {
    let mut at = 0;
    let mut left = body;
    loop {
        let rest = &bytes[at..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            if rest.len() > LONGEST_SIZE {
                return Err(violation("a chunk without a size", rest));
            }
            return Ok(None);
        };
        let size = line(&rest[..end], false).and_then(|digits| number(digits, 16));
        let Some(size) = size.filter(|size| *size <= left.len()) else {
            return Err(violation("a chunk of no or a wrong size", rest));
        };
        let data = end + 1;
        let Some(chunk) = rest.get(data..data + size + 2) else {
            return Ok(None);
        };
        let (same, others) = left.split_at(size);
        if chunk.strip_suffix(b"\r\n") != Some(same) {
            return Err(violation("another body", chunk));
        }
        at += data + size + 2;
        left = others;
        if size == 0 {
            return if left.is_empty() {
                Ok(Some(at))
            } else {
                Err(violation("a body cut short", bytes))
            };
        }
    }
}

/// A number of at most eight digits.
fn number(digits: &[u8], radix: u32) -> Option<usize> {
    let plain = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| plain)?;
    usize::from_str_radix(text, radix).ok()
}

fn violation(what: &str, bytes: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    Failure::Violation(format!("answered with {what}: {shown:?}"))
}

const LONGEST_HEAD: usize = 16 * 1024;
const LONGEST_SIZE: usize = 10;
const SHOWN: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [&str; 5] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 \r\nServer: x\r\ncontent-length:5\r\nDate: y\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nhe\r\n0003\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
    ];

    #[test]
    fn an_answer_is_taken_whole_and_alone() {
        for good in GOOD {
            let two = [good, good].concat();
            let used = answer(two.as_bytes(), b"hello").unwrap();
            assert_eq!(used, Some(good.len()), "{good}");
            for cut in 0..good.len() {
                let used = answer(&good.as_bytes()[..cut], b"hello").unwrap();
                assert_eq!(used, None, "{cut} bytes of {good}");
            }
        }
    }

    #[test]
    fn anything_else_is_a_violation() {
        let bad = [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhallo",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!",
            "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nhello",
            "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n folded: x\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhallo\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloo\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\nhello",
        ];
        for bad in bad {
            assert!(answer(bad.as_bytes(), b"hello").is_err(), "{bad}");
        }
        let endless = [b"HTTP/1.1 200 OK\r\nA: ".as_slice(), &[b'a'; LONGEST_HEAD]].concat();
        assert!(answer(&endless, b"hello").is_err());
    }
}
