//! What all answers have in common: whether the connection stays open, no body for statuses and methods without one,
//! and the answers to requests that no endpoint sees.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::{Method, Request, Response, StatusCode, Version};
use millrace_protocol::http::{METHODS, Refusal, lists};

use super::{Answer, Body, Verbatim};

/// Makes an answer with a short text.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Body::from(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, PLAIN);
    answer
}

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const CLOSE: HeaderValue = HeaderValue::from_static("close");
const KEEP_ALIVE: HeaderValue = HeaderValue::from_static("keep-alive");

/// What a request asks about the connection and the form of answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    /// Whether another request may follow.
    pub(super) keep_alive: bool,
    pub(super) html: bool,
    pub(super) http_1_0: bool,
}

impl Wishes {
    pub(super) fn of(request: &Request<Incoming>) -> Self {
        let headers = request.headers();
        let http_1_0 = request.version() < Version::HTTP_11;
        // only a body can still be refused
        let html = !request.body().is_end_stream() && likes_html(headers);
        Self {
            keep_alive: keeps_alive(http_1_0, headers) && request.method() != Method::CONNECT,
            html,
            http_1_0,
        }
    }

    /// Whether the client can tell the end of an answer without the connection being closed.
    pub(super) fn can_see_the_end_of(self, answer: &Answer) -> bool {
        !self.http_1_0
            // the message has its own framing, which says so
            || Verbatim::is(answer)
            || answer.body().size_hint().exact().is_some()
            || answer.headers().contains_key(CONTENT_LENGTH)
    }
}

fn keeps_alive(http_1_0: bool, headers: &HeaderMap) -> bool {
    let says = |token: &[u8]| {
        let mut connection = headers.get_all(CONNECTION).iter();
        connection.any(|value| lists(value.as_bytes(), token))
    };
    !says(b"close") && (!http_1_0 || says(b"keep-alive"))
}

/// Whether a request prefers HTML, by its `Accept`.
pub(super) fn likes_html(headers: &HeaderMap) -> bool {
    let mut accepts = headers.get_all(ACCEPT).iter();
    accepts.any(|value| names_html(value.as_bytes()))
}

/// Whether an `Accept` names HTML; `*/*` does not mean that a person reads the answer.
fn names_html(accept: &[u8]) -> bool {
    accept
        .split(|byte| matches!(byte, b',' | b';'))
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(b"text/html"))
}

/// The reason phrase of statuses without one: hyper would write `<none>`.
const UNKNOWN: ReasonPhrase = ReasonPhrase::from_static(super::answer_head::UNKNOWN.as_bytes());

/// Sets the headers about the connection: with `Some` it stays open, and that is the `Keep-Alive` header.
pub(super) fn finish(answer: &mut Answer, keep_alive: Option<&HeaderValue>) {
    let status = answer.status();
    let closes = closes(answer);
    if status == StatusCode::SWITCHING_PROTOCOLS {
        // some clients accept only `upgrade` there
        return;
    }
    if status.canonical_reason().is_none() {
        // the application may have set a reason phrase
        answer.extensions_mut().get_or_insert(UNKNOWN);
    }
    let headers = answer.headers_mut();
    if status == StatusCode::NO_CONTENT || status.is_informational() {
        headers.remove(CONTENT_LENGTH);
    }
    headers.remove(TRANSFER_ENCODING);
    if let Some(terms) = keep_alive {
        headers.append(CONNECTION, KEEP_ALIVE);
        headers.insert(KEEP_ALIVE_NAME, terms.clone());
    } else {
        headers.remove(&KEEP_ALIVE_NAME);
        if !closes {
            headers.append(CONNECTION, CLOSE);
        }
    }
}

/// Whether the endpoint wants the connection closed.
pub(super) fn closes(answer: &Answer) -> bool {
    let mut connection = answer.headers().get_all(CONNECTION).iter();
    connection.any(|value| lists(value.as_bytes(), b"close"))
}

const KEEP_ALIVE_NAME: HeaderName = HeaderName::from_static("keep-alive");

/// The value of the `Keep-Alive` header.
pub(super) fn keep_alive_terms(timeout: Duration, requests: u32) -> HeaderValue {
    let terms = format!("timeout={}, max={requests}", timeout.as_secs());
    HeaderValue::try_from(terms).unwrap_or(KEEP_ALIVE)
}

/// Makes the answer for a refusal, for a request whose head an endpoint has seen.
pub(super) fn refusal(refusal: Refusal, html: bool) -> Answer {
    let status = status_of(refusal);
    let mut answer = Response::new(Body::from(Bytes::from(page(refusal, status, html))));
    *answer.status_mut() = status;
    let kind = if html { HTML } else { PLAIN };
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// Encodes a refusal of a request that begins with `head` and that no endpoint has seen.
pub(super) fn refusal_bytes(refusal: Refusal, head: &[u8]) -> Vec<u8> {
    let status = status_of(refusal);
    let html = accepts_html(head);
    let page = page(refusal, status, html);
    let kind = if html { HTML } else { PLAIN };
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\nconnection: close\r\ncontent-type: {}\r\ncontent-length: {}\r\ndate: {}\r\n\r\n",
        status.as_str(),
        status.canonical_reason().unwrap_or_default(),
        kind.to_str().unwrap_or_default(),
        page.len(),
        httpdate::HttpDate::from(SystemTime::now()),
    )
    .into_bytes();
    if !head.starts_with(b"HEAD ") {
        bytes.extend_from_slice(page.as_bytes());
    }
    bytes
}

fn status_of(refusal: Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST)
}

/// The text of a refusal. It contains nothing of the request, so nothing has to be escaped.
fn page(refusal: Refusal, status: StatusCode, html: bool) -> String {
    let hint = match refusal {
        Refusal::MethodUnknown => format!("; the methods are {}", METHODS.join(", ")),
        _ => String::new(),
    };
    if html {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{status}</title>\n\
             <h1>{status}</h1>\n<p>{refusal}{hint}</p>\n</html>\n"
        )
    } else {
        format!("{refusal}{hint}\n")
    }
}

/// Looks for an `Accept` with HTML in a head that may be invalid or incomplete.
fn accepts_html(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n');
    lines.any(|line| {
        line.split_at_checked(b"accept:".len())
            .is_some_and(|(name, value)| name.eq_ignore_ascii_case(b"accept:") && names_html(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(http_1_0: bool, connection: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in connection {
            headers.append(CONNECTION, HeaderValue::from_static(value));
        }
        keeps_alive(http_1_0, &headers)
    }

    #[test]
    fn connection_is_a_list_of_tokens() {
        assert!(keeps(false, &[]));
        assert!(keeps(false, &["keep-alive"]));
        assert!(keeps(false, &["closed"]));
        assert!(!keeps(false, &["Close, TE"]));
        assert!(!keeps(false, &["TE", "keep-alive ,close"]));
        assert!(!keeps(true, &[]));
        assert!(keeps(true, &["TE, Keep-Alive"]));
        assert!(!keeps(true, &["keep-alive", "close"]));
    }

    #[test]
    fn html_is_sent_to_clients_that_name_it() {
        assert!(accepts_html(
            b"GET / HTTP/1.1\r\nACCEPT: text/html, */*;q=0.1\r\n"
        ));
        assert!(!accepts_html(b"GET / HTTP/1.1\r\nAccept: */*\r\n"));
        assert!(!accepts_html(b"acc"));
        let bytes = refusal_bytes(Refusal::HostMissing, b"HEAD / HTTP/1.1\r\n\r\n");
        assert!(bytes.ends_with(b"\r\n\r\n"));
    }
}
