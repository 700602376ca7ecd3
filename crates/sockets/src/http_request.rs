//! One whole HTTP request in memory, read by `httparse`. Owns the rules about its headers and its length; makes no
//! I/O and waits for nothing: what is missing is missing.

use httparse::{Header, Request, Status};

/// A request, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// In the letters of the sender.
    pub method: String,
    /// The target, as it came.
    pub target: String,
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: &'static str,
    /// Names in small letters, each once, in the order in which they came first.
    pub headers: Vec<(String, String)>,
    /// So many bytes of what follows the head as its length says, or fewer if there are no more.
    pub body: Vec<u8>,
}

/// Why something is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadRequest {
    /// There is nothing.
    Empty,
    /// It is none, or not a whole head.
    Invalid,
}

impl HttpRequest {
    /// Reads a request that lies there in one piece.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadRequest> {
        if bytes.is_empty() {
            return Err(BadRequest::Empty);
        }
        let mut room = FIRST_ROOM;
        loop {
            let mut headers = vec![httparse::EMPTY_HEADER; room];
            let mut request = Request::new(&mut headers);
            match request.parse(bytes) {
                Ok(Status::Complete(head)) => {
                    return Self::of(&request, bytes.get(head..).unwrap_or_default());
                }
                // each header has its line, so that there is an end
                Err(httparse::Error::TooManyHeaders) if room < bytes.len() => room *= 4,
                _ => return Err(BadRequest::Invalid),
            }
        }
    }

    fn of(request: &Request<'_, '_>, rest: &[u8]) -> Result<Self, BadRequest> {
        let (Some(method), Some(target), Some(version)) =
            (request.method, request.path, request.version)
        else {
            return Err(BadRequest::Invalid);
        };
        let length = length_of(request.headers)?.min(rest.len());
        Ok(Self {
            method: method.to_owned(),
            target: target.to_owned(),
            version: if version == 0 { "HTTP/1.0" } else { "HTTP/1.1" },
            headers: joined(request.headers),
            body: rest.get(..length).unwrap_or_default().to_vec(),
        })
    }
}

/// What the headers say about the body's length. Several may say it, if they say the same.
fn length_of(headers: &[Header<'_>]) -> Result<usize, BadRequest> {
    let mut length = None;
    let lengths = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("content-length"));
    for value in lengths.flat_map(|header| header.value.split(|byte| *byte == b',')) {
        let digits = value.trim_ascii();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(BadRequest::Invalid);
        }
        let told = digits.iter().fold(0_usize, |told, digit| {
            told.saturating_mul(10)
                .saturating_add(usize::from(digit - b'0'))
        });
        if length.is_some_and(|length| length != told) {
            return Err(BadRequest::Invalid);
        }
        length = Some(told);
    }
    Ok(length.unwrap_or(0))
}

/// Repeated headers as one.
fn joined(headers: &[Header<'_>]) -> Vec<(String, String)> {
    let mut places = std::collections::HashMap::new();
    let mut all: Vec<(String, String)> = Vec::new();
    for header in headers {
        let name = header.name.to_ascii_lowercase();
        let value = String::from_utf8_lossy(header.value);
        let before = places
            .get(&name)
            .and_then(|place: &usize| all.get_mut(*place));
        if let Some((name, before)) = before {
            before.push_str(if name == "cookie" { "; " } else { ", " });
            before.push_str(&value);
        } else {
            places.insert(name.clone(), all.len());
            all.push((name, value.into_owned()));
        }
    }
    all
}

/// Headers that most requests do not have more of.
const FIRST_ROOM: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<HttpRequest, BadRequest> {
        HttpRequest::parse(text.as_bytes())
    }

    fn header(text: &str, name: &str) -> Option<String> {
        let request = parsed(text).unwrap();
        let found = request.headers.into_iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value)
    }

    #[test]
    fn a_request_is_read_as_it_came() {
        for end in ["\r\n", "\n"] {
            let text = [
                "POST /a%20b?x=1&y=2 HTTP/1.0",
                "Host:  x ",
                "content-LENGTH: 4",
                "",
                "body and more",
            ]
            .join(end);
            let request = parsed(&text).unwrap();
            assert_eq!(
                (
                    request.method.as_str(),
                    request.target.as_str(),
                    request.version
                ),
                ("POST", "/a%20b?x=1&y=2", "HTTP/1.0")
            );
            assert_eq!(request.headers[0], ("host".to_owned(), "x".to_owned()));
            assert_eq!(request.body, b"body");
        }
    }

    #[test]
    fn a_body_is_as_long_as_its_length_says_and_as_it_is() {
        let body = |head: &str| {
            parsed(&format!("GET / HTTP/1.1\r\n{head}\r\n12345")).map(|request| request.body)
        };
        assert_eq!(body(""), Ok(b"".to_vec()));
        for (head, expected) in [
            ("Content-Length: 3\r\n", &b"123"[..]),
            ("Content-Length: 0\r\n", b""),
            ("Content-Length: 99\r\n", b"12345"),
            ("Content-Length: 99999999999999999999999999\r\n", b"12345"),
            ("Content-Length: 3\r\nContent-Length: 03\r\n", b"123"),
            ("Content-Length: 3, 3\r\n", b"123"),
        ] {
            assert_eq!(body(head).as_deref(), Ok(expected), "{head}");
        }
        for bad in ["", "-1", "+1", "1.5", "0x1", "1 2", "3, 4", "3,", "a"] {
            assert_eq!(
                body(&format!("Content-Length: {bad}\r\n")),
                Err(BadRequest::Invalid),
                "{bad}"
            );
        }
        let contradicting = "Content-Length: 3\r\nContent-Length: 4\r\n";
        assert_eq!(body(contradicting), Err(BadRequest::Invalid));
    }

    #[test]
    fn repeated_headers_are_joined() {
        let text = "GET / HTTP/1.1\r\nA: 1\r\nCookie: x=1\r\na: 2\r\ncookie: y=2\r\nE:\r\n\r\n";
        assert_eq!(header(text, "a").as_deref(), Some("1, 2"));
        assert_eq!(header(text, "cookie").as_deref(), Some("x=1; y=2"));
        assert_eq!(header(text, "e").as_deref(), Some(""));
        assert_eq!(parsed(text).unwrap().headers.len(), 3);
    }

    #[test]
    fn there_is_room_for_any_number_of_headers() {
        let many: Vec<String> = (0..5000).map(|index| format!("h{index}:{index}")).collect();
        let many = many.join("\n");
        let text = format!("GET / HTTP/1.1\n{many}\n\n");
        assert_eq!(header(&text, "h4999").as_deref(), Some("4999"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(parsed(""), Err(BadRequest::Empty));
        for text in [
            "GET",
            "GET /",
            "GET / HTTP/1.1",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\n: b\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.10\r\n\r\n",
            "GET / http/1.1\r\n\r\n",
            "GET  HTTP/1.1\r\n\r\n",
            "G(T / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
        ] {
            assert_eq!(parsed(text), Err(BadRequest::Invalid), "{text:?}");
        }
    }
}
