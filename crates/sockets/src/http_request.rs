//! Parses a whole HTTP request in memory with `httparse`. Owns the rules for its headers and its length. Does no
//! I/O and waits for nothing: missing bytes are an error or make the body shorter.

use httparse::{Header, Request, Status};

/// A request as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, in the sender's spelling.
    pub method: String,
    /// The target, unchanged.
    pub target: String,
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: &'static str,
    /// The names in lower case, each once, in the order in which they first occurred.
    pub headers: Vec<(String, String)>,
    /// The bytes after the head, as many as its length says, or fewer if there are not as many.
    pub body: Vec<u8>,
}

/// Why bytes are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadRequest {
    /// There are no bytes.
    Empty,
    /// The head is invalid or incomplete.
    Invalid,
}

impl HttpRequest {
    /// Parses a request from one piece of memory.
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
                // each header takes at least a line, so this ends
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

/// The length of the body according to the headers. Several headers may give it if they agree.
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

/// Joins repeated headers.
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

/// The number of headers that most requests do not exceed.
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
    fn a_request_is_parsed_unchanged() {
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
    fn a_body_has_its_announced_length_or_less() {
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
    fn any_number_of_headers_is_accepted() {
        let many: Vec<String> = (0..5000).map(|index| format!("h{index}:{index}")).collect();
        let many = many.join("\n");
        let text = format!("GET / HTTP/1.1\n{many}\n\n");
        assert_eq!(header(&text, "h4999").as_deref(), Some("4999"));
    }

    #[test]
    fn invalid_requests_are_refused() {
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
