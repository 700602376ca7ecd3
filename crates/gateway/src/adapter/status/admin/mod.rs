//! The admin page of a listener: its paths, who may see its data, and the headers of all its answers. Changes nothing
//! in the gateway, except that a tap is a socket with a subscription.

mod channels;
mod funnel;
mod guard;
mod limits;
mod page;
mod query;
mod state;
mod tap;

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Response, StatusCode};
use millrace_core::Bookmark;

use self::channels::Wanted;
use self::guard::{Guard, Verdict};
use self::limits::FixedAdminLimits;
use self::tap::Taps;
use crate::contract::{Encoding, ListenError, Reader};
use crate::http::{Answer, Asked, Body, Exchange, plain};
use crate::limits::FixedLimits;

pub(crate) use self::tap::ENCODING;

/// See the module.
#[derive(Debug)]
pub(super) struct Admin {
    path: String,
    guard: Guard,
    taps: Taps,
    encoding: Encoding,
}

/// What a path of the page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Page,
    State,
    Channels,
    Tap,
    Nothing,
}

impl Admin {
    /// Reads the option `admin`; `None` if it is not given.
    pub(super) fn new(
        options: &Reader<'_>,
        encoding: Encoding,
    ) -> Result<Option<Self>, ListenError> {
        options.nested("admin", |given| {
            let wrong = || given.wrong("token", &format!("a text of at least {TOKEN_BYTES} bytes"));
            let token = given.text("token")?.ok_or_else(wrong)?;
            if token.len() < TOKEN_BYTES {
                return Err(wrong());
            }
            Ok(Self {
                path: given.text("path")?.unwrap_or("/admin").to_owned(),
                guard: Guard::new(token, &FixedAdminLimits::default()),
                taps: Taps::default(),
                encoding,
            })
        })
    }

    /// Whether a path belongs to the page.
    pub(super) fn claims(&self, path: &str) -> bool {
        self.part(path).is_some()
    }

    fn part(&self, path: &str) -> Option<Part> {
        Some(match path.strip_prefix(&*self.path)? {
            "" | "/" => Part::Page,
            "/state" => Part::State,
            "/channels" => Part::Channels,
            "/tap" => Part::Tap,
            rest if rest.starts_with('/') => Part::Nothing,
            _ => return None,
        })
    }

    pub(super) async fn answer(&self, exchange: &Exchange, asked: &Asked) -> Answer {
        let mut answer = self.made(exchange, asked).await;
        let headers = answer.headers_mut();
        for (name, value) in [
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (X_FRAME_OPTIONS, "DENY"),
            (REFERRER_POLICY, "no-referrer"),
            (OPENER_POLICY, "same-origin"),
            (RESOURCE_POLICY, "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers
            .entry(CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static(DATA_POLICY));
        answer
    }

    async fn made(&self, exchange: &Exchange, asked: &Asked) -> Answer {
        let Some(part) = self.part(asked.uri().path()) else {
            return plain(StatusCode::NOT_FOUND, "Not found");
        };
        if asked.method() != Method::GET && asked.method() != Method::HEAD {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
            let methods = HeaderValue::from_static("GET, HEAD");
            answer.headers_mut().insert(ALLOW, methods);
            return answer;
        }
        if part == Part::Page {
            return page::answer();
        }
        if let Some(refusal) = self.refusal(exchange, asked) {
            return refusal;
        }
        let query = asked.uri().query();
        let hub = Arc::clone(exchange.shard.hub());
        match part {
            Part::State => json(state::text(&hub, self.taps.count())),
            Part::Channels => match wanted(query) {
                None => plain(StatusCode::BAD_REQUEST, "after is no bookmark"),
                Some((wanted, most)) => json(channels::text(&hub, &wanted, most).await),
            },
            Part::Tap => self.tap(exchange, asked, query::value(query, "channel")),
            Part::Page | Part::Nothing => plain(StatusCode::NOT_FOUND, "Not found"),
        }
    }

    /// The answer to a request that may not see the data.
    fn refusal(&self, exchange: &Exchange, asked: &Asked) -> Option<Answer> {
        let address = exchange.client_address(asked.headers());
        let now = exchange.shard.now();
        match self.guard.judge(asked.headers(), address, now) {
            Verdict::Allowed => None,
            Verdict::Denied => {
                let mut answer = plain(StatusCode::UNAUTHORIZED, "The token is missing or wrong");
                let scheme = HeaderValue::from_static("Bearer");
                answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
                Some(answer)
            }
            Verdict::Later(seconds) => {
                let mut answer = plain(StatusCode::TOO_MANY_REQUESTS, "Too many wrong tokens");
                answer.headers_mut().insert(RETRY_AFTER, seconds.into());
                Some(answer)
            }
        }
    }

    fn tap(&self, exchange: &Exchange, asked: &Asked, channel: Option<Vec<u8>>) -> Answer {
        if asked.method() != Method::GET {
            return plain(StatusCode::OK, "");
        }
        let most = FixedLimits::default().channel_name_bytes;
        let Some(channel) = channel.filter(|channel| channel.len() <= most) else {
            return plain(StatusCode::BAD_REQUEST, "channel is missing or too long");
        };
        match self.taps.take(FixedAdminLimits::default().taps) {
            None => plain(StatusCode::SERVICE_UNAVAILABLE, "Too many taps are open"),
            Some(place) => tap::begin(exchange, asked, (channel, place), self.encoding),
        }
    }
}

/// The channels that a query means, and how many of them; `None`: it has an unreadable bookmark.
fn wanted(query: Option<&str>) -> Option<(Wanted, usize)> {
    let text = |name: &str| String::from_utf8(query::value(query, name)?).ok();
    let most = text("limit").and_then(|limit| limit.parse().ok());
    let most = most.unwrap_or(usize::MAX);
    if text("order").as_deref() == Some("largest") {
        return Some((Wanted::Largest, most));
    }
    let from = match text("after").as_deref() {
        None | Some("") => Bookmark::default(),
        Some(after) => Bookmark::parse(after)?,
    };
    let find = query::value(query, "find").unwrap_or_default();
    Some((Wanted::Behind(from, find), most))
}

fn json(text: String) -> Answer {
    let mut answer = Response::new(Body::from(Bytes::from(text)));
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// The least bytes of a token.
const TOKEN_BYTES: usize = 16;

/// The policy of answers that are no page.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
