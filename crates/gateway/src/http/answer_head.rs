//! The checked head of a worker's answer to a request.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, header};

use super::{Answer, Body};
use crate::event::{Head, Step, Whole};

/// Valid status and headers. A clone refers to the same ones.
#[derive(Clone, Debug)]
pub struct AnswerHead(Arc<Checked>);

/// See [`AnswerHead`].
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The reason phrase in the status line of HTTP/1, instead of the usual one.
    pub(crate) reason: Option<ReasonPhrase>,
    /// Status line and headers as they are written, if many answers have them.
    lines: Option<Lines>,
}

/// Status line and headers, each with its line end.
#[derive(Clone, Debug)]
struct Lines {
    bytes: Box<[u8]>,
    is_dated: bool,
}

/// The head of an answer whose body is a complete HTTP message. Also marks such an [`Answer`] in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Verbatim;

/// Why a head is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The status is not final; only the server sends informational answers.
    #[error("status must be a whole number from 200 to 599, not {0}")]
    Status(u32),
    /// The name of a header is not a token.
    #[error("header name {0:?} must be a token of RFC 9110")]
    Name(String),
    /// A value contains a line break, another control character, or a character beyond Latin-1.
    #[error(
        "header '{0}' must be text without control characters or characters beyond Latin-1, not {1:?}"
    )]
    Value(String, String),
    /// There are more headers than the limit.
    #[error("there must be at most {MOST_HEADERS} headers")]
    TooMany,
    /// A name or value contains a zero character, or a value is missing.
    #[error("headers must be names and values in turn, without zero characters")]
    Pairs,
}

impl AnswerHead {
    /// Reads `name\0value\0name\0value`: this many `parts`, names and values alternately. Millrace frames the answer,
    /// so headers about framing are left out, except for a length if `keep_length` is set. The name `:reason` precedes
    /// a reason phrase.
    pub fn parse(
        status: u32,
        text: &str,
        parts: usize,
        keep_length: bool,
    ) -> Result<Self, HeadError> {
        let known = u16::try_from(status)
            .ok()
            .filter(|status| (200..600).contains(status));
        let status = known
            .and_then(|status| StatusCode::from_u16(status).ok())
            .ok_or(HeadError::Status(status))?;
        if parts / 2 > MOST_HEADERS {
            return Err(HeadError::TooMany);
        }
        let mut headers = HeaderMap::with_capacity(parts / 2 + 1);
        let mut reason = None;
        if parts > 0 {
            let mut rest = text.split('\0');
            for _ in 0..parts / 2 {
                let (Some(name), Some(value)) = (rest.next(), rest.next()) else {
                    return Err(HeadError::Pairs);
                };
                if name == REASON {
                    reason = Some(read_reason(value)?);
                } else {
                    append(&mut headers, name, value, keep_length)?;
                }
            }
            if rest.next().is_some() {
                return Err(HeadError::Pairs);
            }
        }
        // with two lengths neither can be trusted
        if headers.get_all(CONTENT_LENGTH).iter().nth(1).is_some() {
            headers.remove(CONTENT_LENGTH);
        }
        Ok(Self(Arc::new(Checked {
            status,
            headers,
            reason,
            lines: None,
        })))
    }

    /// Makes the lines now, for all answers that will have this head.
    pub(super) fn prepare(&mut self) {
        if self.0.lines.is_none() {
            let mut bytes = Vec::new();
            let is_dated = self.0.write_lines(&mut bytes);
            let bytes = bytes.into();
            Arc::make_mut(&mut self.0).lines = Some(Lines { bytes, is_dated });
        }
    }

    /// Its parts.
    pub(crate) fn into_parts(self) -> Checked {
        Arc::unwrap_or_clone(self.0)
    }

    /// Whether it says that the connection ends.
    pub(super) fn closes(&self) -> bool {
        self.0.headers.contains_key(CONNECTION)
    }

    /// Takes the parts of [`whole`](Self::whole) if the head may be sent with a body and its length.
    pub(crate) fn open_framed(whole: &mut Whole) -> Option<(Self, Bytes)> {
        let head = whole.head.downcast_ref::<Self>()?;
        let Checked {
            status, headers, ..
        } = &*head.0;
        let bare = matches!(*status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if bare || headers.contains_key(CONTENT_LENGTH) {
            return None;
        }
        Self::open_whole(whole)
    }

    /// Appends the status line and the headers, each with its line end. Returns whether a date is among them.
    pub(super) fn append_lines(&self, out: &mut Vec<u8>) -> bool {
        match &self.0.lines {
            Some(lines) => {
                out.extend_from_slice(&lines.bytes);
                lines.is_dated
            }
            None => self.0.write_lines(out),
        }
    }

    /// Makes the step for an answer with this head and its complete body.
    pub fn whole(self, body: Bytes) -> Step {
        Step::Whole(Box::new(Whole { body, head: self }))
    }

    /// Makes the step for an answer whose body follows.
    pub fn begin(self) -> Step {
        Step::Begin(Box::new(self))
    }

    /// Takes the parts of [`whole`](Self::whole); `None` if it is not an answer to a request.
    pub(crate) fn open_whole(whole: &mut Whole) -> Option<(Self, Bytes)> {
        let head = whole.head.downcast_ref::<Self>()?.clone();
        Some((head, std::mem::take(&mut whole.body)))
    }

    /// Takes the head of [`begin`](Self::begin); `None` if it is not an answer to a request.
    pub(crate) fn open(head: Box<Head>) -> Option<Self> {
        head.downcast().ok().map(|head| *head)
    }
}

impl Checked {
    fn write_lines(&self, out: &mut Vec<u8>) -> bool {
        let Self { status, reason, .. } = self;
        let mut is_dated = false;
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(match reason {
            Some(reason) => reason.as_bytes(),
            None => status.canonical_reason().unwrap_or(UNKNOWN).as_bytes(),
        });
        for (name, value) in &self.headers {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            is_dated |= *name == DATE;
        }
        out.extend_from_slice(b"\r\n");
        is_dated
    }
}

impl Verbatim {
    /// Makes the step for a complete message.
    pub fn whole(message: Bytes) -> Step {
        Step::Whole(Box::new(Whole {
            body: message,
            head: Self,
        }))
    }

    /// Makes the step in front of the pieces of a message.
    pub fn begin() -> Step {
        Step::Begin(Box::new(Self))
    }

    /// Makes an answer whose body is a message.
    pub(crate) fn answer(body: Body) -> Answer {
        let mut answer = Response::new(body);
        answer.extensions_mut().insert(Self);
        answer
    }

    /// Whether an answer is such a message.
    pub(super) fn is(answer: &Answer) -> bool {
        answer.extensions().get::<Self>().is_some()
    }
}

fn append(
    headers: &mut HeaderMap,
    name: &str,
    value: &str,
    keep_length: bool,
) -> Result<(), HeadError> {
    let Ok(known) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(HeadError::Name(name.to_owned()));
    };
    let bytes = latin1(value).and_then(|bytes| HeaderValue::from_bytes(&bytes).ok());
    let Some(sent) = bytes else {
        return Err(HeadError::Value(name.to_owned(), value.to_owned()));
    };
    let ours = match known {
        CONTENT_LENGTH => !keep_length || !is_length(value),
        CONNECTION => !value.eq_ignore_ascii_case("close"),
        header::TRANSFER_ENCODING | header::UPGRADE | header::TRAILER | header::TE => true,
        _ => known.as_str() == "keep-alive",
    };
    if !ours {
        headers.append(known, sent);
    }
    Ok(())
}

fn read_reason(value: &str) -> Result<ReasonPhrase, HeadError> {
    latin1(value)
        .and_then(|bytes| ReasonPhrase::try_from(bytes.into_owned()).ok())
        .ok_or_else(|| HeadError::Value(REASON.to_owned(), value.to_owned()))
}

fn is_length(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit()) && value.parse::<u64>().is_ok()
}

/// The reason phrase of statuses without one.
pub(super) const UNKNOWN: &str = "Unknown";

/// The name that marks a reason phrase among the headers. No header can have this name.
const REASON: &str = ":reason";

/// The most headers; the map of headers panics at some number beyond this.
const MOST_HEADERS: usize = 10_000;

/// The bytes of a header's value, one for each character.
fn latin1(value: &str) -> Option<Cow<'_, [u8]>> {
    if value.is_ascii() {
        return Some(Cow::Borrowed(value.as_bytes()));
    }
    let bytes: Option<Vec<u8>> = value.chars().map(|one| u8::try_from(one).ok()).collect();
    bytes.map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_turn_and_repeated_ones_kept() {
        let text = "Set-Cookie\0a=1\0set-cookie\0b=2\0X\0é";
        let head = AnswerHead::parse(201, text, 6, false).unwrap().into_parts();
        assert_eq!(head.status, StatusCode::CREATED);
        let cookies: Vec<_> = head.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2"]);
        assert_eq!(head.headers["x"].as_bytes(), [0xe9]);
    }

    #[test]
    fn a_reason_phrase_is_not_sent_as_a_header() {
        let head = AnswerHead::parse(200, ":reason\0Très bien\0x\0y", 4, false)
            .unwrap()
            .into_parts();
        assert_eq!(head.reason.unwrap().as_bytes(), b"Tr\xe8s bien");
        assert_eq!(head.headers.len(), 1);
        for wrong in ["a\r\nb: c", "a\nb", "→"] {
            let text = format!(":reason\0{wrong}");
            assert!(
                AnswerHead::parse(200, &text, 2, false).is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn no_header_is_smuggled_in() {
        for (text, parts) in [
            ("a\0b\r\nc: d", 2),
            ("a\nb\0c", 2),
            ("a b\0c", 2),
            ("a\0b\0c\0d", 2),
            ("a", 2),
            ("a\0→", 2),
            ("\0x", 2),
        ] {
            assert!(
                AnswerHead::parse(200, text, parts, false).is_err(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn framing_is_left_out() {
        let length = ["content-length", "7"].join("\0");
        let text = "Transfer-Encoding\0chunked\0connection\0upgrade\0keep-alive\0x";
        let text = [text, &length].join("\0");
        let head = AnswerHead::parse(200, &text, 8, false).unwrap();
        assert!(head.0.headers.is_empty());
        let text = [&length, "connection\0close"].join("\0");
        let head = AnswerHead::parse(200, &text, 4, true).unwrap();
        assert_eq!(head.0.headers.len(), 2);
    }

    #[test]
    fn an_invalid_length_is_left_out() {
        for lengths in [
            &[""][..],
            &["99999999999999999999"],
            &["5", "7"],
            &["5", "5"],
        ] {
            let pairs: Vec<_> = lengths
                .iter()
                .flat_map(|length| ["content-length", length])
                .collect();
            let head = AnswerHead::parse(200, &pairs.join("\0"), pairs.len(), true).unwrap();
            assert!(head.0.headers.is_empty(), "{lengths:?}");
        }
    }

    #[test]
    fn more_headers_than_fit_are_an_error_and_no_panic() {
        let headers = |count: usize| {
            let pairs: Vec<_> = (0..count).map(|index| format!("x-{index}\0a")).collect();
            AnswerHead::parse(200, &pairs.join("\0"), 2 * count, false)
        };
        assert_eq!(headers(MOST_HEADERS).unwrap().0.headers.len(), MOST_HEADERS);
        for count in [MOST_HEADERS + 1, 40_000] {
            assert!(matches!(headers(count), Err(HeadError::TooMany)), "{count}");
        }
    }

    #[test]
    fn only_final_statuses_are_answers() {
        for status in [0, 101, 199, 600, 70_000] {
            assert!(AnswerHead::parse(status, "", 0, false).is_err(), "{status}");
        }
    }
}
