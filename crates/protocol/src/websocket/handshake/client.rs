//! The opening handshake of a client (RFC 6455 §4.1): its request, and the check of the response. Owns no bytes and
//! chooses no key: randomness is an argument.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::super::deflate::{Offer, Terms};
use super::{Malformed, accept_key};

/// The request of a client. All values are written unchanged, so the caller must ensure that none of them contains a
/// line end.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The value of `Host`.
    pub host: &'a str,
    /// 16 random bytes in base64: [`request_key`].
    pub key: &'a str,
    /// The subprotocols to offer.
    pub protocols: &'a [&'a str],
    /// The compression to offer.
    pub compression: Option<Offer>,
    /// Additional headers, none of which belongs to the handshake.
    pub headers: &'a [(&'a str, &'a str)],
}

/// The response of a server that has switched to WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    /// The length of the response. The bytes after it are frames.
    pub size: usize,
    /// The subprotocol that the server chose.
    pub protocol: Option<String>,
    /// The terms of compression, if the server accepted the offer.
    pub compression: Option<Terms>,
}

/// Why a server's response does not open a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The response is not HTTP.
    #[error("the answer is not HTTP")]
    Malformed,
    /// The status is not 101.
    #[error("unexpected http status {0}")]
    Status(u16),
    /// A header is missing, repeated or has another value.
    #[error("bad \"{0}\" header in the answer")]
    Header(&'static str),
    /// The server chose a subprotocol that was not offered.
    #[error("the subprotocol in the answer was not offered")]
    Protocol,
}

/// The value of `Sec-WebSocket-Key` for 16 random bytes.
pub fn request_key(random: [u8; 16]) -> String {
    BASE64_STANDARD.encode(random)
}

/// Appends a client's request.
///
/// # Example
///
/// ```
/// use millrace_protocol::websocket::handshake::{ClientRequest, append_request, judge_answer, request_key};
///
/// let key = request_key([7; 16]);
/// let request = ClientRequest { target: "/chat", host: "example.com", key: &key, protocols: &["v1"], compression: None, headers: &[] };
/// let mut out = Vec::new();
/// append_request(&request, &mut out);
/// assert!(out.starts_with(b"GET /chat HTTP/1.1\r\nHost: example.com\r\n"));
/// assert_eq!(judge_answer(b"HTTP/1.1 101 Sw", &request), Ok(None));
/// ```
pub fn append_request(request: &ClientRequest<'_>, out: &mut Vec<u8>) {
    let mut line = |parts: &[&str]| {
        for part in parts {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
    };
    line(&["GET ", request.target, " HTTP/1.1"]);
    line(&["Host: ", request.host]);
    line(&["Connection: Upgrade"]);
    line(&["Upgrade: websocket"]);
    line(&["Sec-WebSocket-Version: 13"]);
    line(&["Sec-WebSocket-Key: ", request.key]);
    if !request.protocols.is_empty() {
        line(&["Sec-WebSocket-Protocol: ", &request.protocols.join(", ")]);
    }
    for (name, value) in request.headers {
        line(&[name, ": ", value]);
    }
    if let Some(offer) = &request.compression {
        out.extend_from_slice(b"Sec-WebSocket-Extensions: ");
        offer.append(out);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Checks the received beginning of a server's response. `None` means that its head is incomplete. The caller limits
/// its length.
pub fn judge_answer(
    bytes: &[u8],
    request: &ClientRequest<'_>,
) -> Result<Option<Switched>, AnswerError> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let parsed = answer.parse(bytes).map_err(|_| AnswerError::Malformed)?;
    let httparse::Status::Complete(size) = parsed else {
        return Ok(None);
    };
    let status = answer.code.unwrap_or_default();
    if status != 101 {
        return Err(AnswerError::Status(status));
    }
    if answer.version != Some(1) {
        return Err(AnswerError::Malformed);
    }
    let headers = Headers(answer.headers);
    if !headers
        .one("upgrade")?
        .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
    {
        return Err(AnswerError::Header("Upgrade"));
    }
    let lists_upgrade = headers.all("connection").any(|value| {
        let mut listed = value.split(',');
        listed.any(|one| one.trim().eq_ignore_ascii_case("upgrade"))
    });
    if !lists_upgrade {
        return Err(AnswerError::Header("Connection"));
    }
    if headers.one("sec-websocket-accept")? != Some(&*accept_key(request.key)) {
        return Err(AnswerError::Header("Sec-WebSocket-Accept"));
    }
    let extensions = headers.all("sec-websocket-extensions");
    let extensions = extensions.filter(|value| !value.is_empty());
    let compression = match request.compression {
        Some(offer) => offer.judge(extensions.map(str::as_bytes)),
        None if extensions.count() > 0 => Err(Malformed),
        None => Ok(None),
    };
    let compression =
        compression.map_err(|Malformed| AnswerError::Header("Sec-WebSocket-Extensions"))?;
    let protocol = headers.one("sec-websocket-protocol")?;
    if protocol.is_some_and(|chosen| !request.protocols.contains(&chosen)) {
        return Err(AnswerError::Protocol);
    }
    let protocol = protocol.map(str::to_owned);
    Ok(Some(Switched {
        size,
        protocol,
        compression,
    }))
}

/// The headers of a response.
struct Headers<'a, 'b>(&'a [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    /// The values of the headers named `name` that are text, without surrounding blanks.
    fn all<'s>(&'s self, name: &'static str) -> impl Iterator<Item = &'b str> + 's {
        let named = move |header: &&httparse::Header<'b>| header.name.eq_ignore_ascii_case(name);
        let text = |header: &httparse::Header<'b>| str::from_utf8(header.value).unwrap_or("\0");
        self.0
            .iter()
            .filter(named)
            .map(move |header| text(header).trim())
    }

    /// The value of a header that may occur at most once.
    fn one(&self, name: &'static str) -> Result<Option<&'b str>, AnswerError> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (one, None) => Ok(one),
            _ => Err(AnswerError::Header(name)),
        }
    }
}

/// The most headers of a response.
const MOST_HEADERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::super::super::deflate::{ClientWindow, WindowBits};
    use super::*;

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    fn request<'a>(protocols: &'a [&'a str]) -> ClientRequest<'a> {
        ClientRequest {
            target: "/chat?a",
            host: "example.com:81",
            key: KEY,
            protocols,
            compression: None,
            headers: &[("Origin", "https://example.com")],
        }
    }

    fn answer(lines: &str) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n{lines}\r\n"
        )
    }

    #[test]
    fn servers_accept_the_request() {
        let mut out = Vec::new();
        append_request(&request(&["chat", "superchat"]), &mut out);
        let mut headers = [httparse::EMPTY_HEADER; 10];
        let mut parsed = httparse::Request::new(&mut headers);
        assert!(parsed.parse(&out).unwrap().is_complete());
        assert_eq!(parsed.path, Some("/chat?a"));
        let lower: Vec<_> = parsed
            .headers
            .iter()
            .map(|one| one.name.to_ascii_lowercase())
            .collect();
        let all: Vec<_> = lower
            .iter()
            .zip(parsed.headers.iter())
            .map(|(name, one)| (&**name, one.value))
            .collect();
        let head = super::super::RequestHead {
            get: true,
            http_1_1: true,
            headers: &all,
        };
        let offer = super::super::check(&head).unwrap();
        assert_eq!(
            (offer.key, offer.protocols),
            (KEY, vec!["chat", "superchat"])
        );
        assert!(all.contains(&("origin", b"https://example.com")));
    }

    #[test]
    fn a_response_may_come_in_pieces_and_with_frames_after_it() {
        let text = answer("Sec-WebSocket-Protocol: chat\r\n");
        for cut in 0..text.len() {
            assert_eq!(
                judge_answer(&text.as_bytes()[..cut], &request(&["chat"])),
                Ok(None),
                "{cut}"
            );
        }
        let switched = Switched {
            size: text.len(),
            protocol: Some("chat".to_owned()),
            compression: None,
        };
        let more = format!("{text}frames");
        assert_eq!(
            judge_answer(more.as_bytes(), &request(&["chat"])),
            Ok(Some(switched))
        );
        let none = judge_answer(answer("").as_bytes(), &request(&["chat"]))
            .unwrap()
            .unwrap();
        assert_eq!(none.protocol, None);
    }

    #[test]
    fn compression_is_offered_and_its_terms_are_returned() {
        let offer = Offer {
            client_max_window_bits: ClientWindow::Any,
            ..Offer::default()
        };
        let request = ClientRequest {
            compression: Some(offer),
            ..request(&[])
        };
        let mut out = Vec::new();
        append_request(&request, &mut out);
        let end =
            "\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
        assert!(out.ends_with(end.as_bytes()));

        let judged = |lines: &str| {
            let judged = judge_answer(answer(lines).as_bytes(), &request);
            judged.map(|switched| switched.unwrap().compression)
        };
        assert_eq!(judged(""), Ok(None));
        assert_eq!(judged("Sec-WebSocket-Extensions: \r\n"), Ok(None));
        let accepted =
            judged("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10\r\n");
        assert_eq!(
            accepted.unwrap().unwrap().client_max_window_bits,
            WindowBits::new(10)
        );
        for lines in [
            "Sec-WebSocket-Extensions: permessage-deflate; mode=fast\r\n",
            "Sec-WebSocket-Extensions: other\r\n",
            "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
        ] {
            let refused = Err(AnswerError::Header("Sec-WebSocket-Extensions"));
            assert_eq!(judged(lines), refused, "{lines}");
        }
    }

    #[test]
    fn each_invalid_response_has_its_error() {
        let judged = |text: &str| judge_answer(text.as_bytes(), &request(&["chat"])).unwrap_err();
        for (text, expected) in [
            ("SSH-2.0-OpenSSH\r\n".to_owned(), AnswerError::Malformed),
            (
                "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n".to_owned(),
                AnswerError::Status(302),
            ),
            (
                answer("").replace("HTTP/1.1", "HTTP/1.0"),
                AnswerError::Malformed,
            ),
            (
                answer("").replace("Upgrade: WebSocket\r\n", ""),
                AnswerError::Header("Upgrade"),
            ),
            (
                answer("Upgrade: websocket\r\n"),
                AnswerError::Header("upgrade"),
            ),
            (
                answer("").replace("keep-alive, Upgrade", "close"),
                AnswerError::Header("Connection"),
            ),
            (
                answer("").replace("s3pPL", "S3pPL"),
                AnswerError::Header("Sec-WebSocket-Accept"),
            ),
            (
                answer("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
                AnswerError::Header("Sec-WebSocket-Extensions"),
            ),
            (
                answer("Sec-WebSocket-Protocol: other\r\n"),
                AnswerError::Protocol,
            ),
            (
                answer("Sec-WebSocket-Protocol: \r\n"),
                AnswerError::Protocol,
            ),
            (answer(&"A: b\r\n".repeat(200)), AnswerError::Malformed),
        ] {
            assert_eq!(judged(&text), expected, "{text}");
        }
    }
}
