//! The gateway's state for monitoring: one path answers with JSON, one with metrics for Prometheus, two with a status
//! for probes, and one has a page for people. Owns the paths and the form of the answers; counts nothing.

mod admin;
mod json;
mod prometheus;

use bytes::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::contract::{Encoding, Hub, ListenError, Reader};
use crate::http::{
    Answer, Answering, Asked, Body, Claim, Endpoint, Exchange, SimpleRequest, Taking, plain,
};
use crate::stats::Stats;
use crate::target_stats::HostCounts;
use admin::Admin;
pub(crate) use admin::ENCODING as TAP_ENCODING;

/// The paths of one listener that show the state.
#[derive(Debug)]
pub(crate) struct Status {
    pages: Vec<(Page, String)>,
    admin: Option<Admin>,
}

/// What a path shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// Everything, as JSON.
    Stats,
    /// Everything, as metrics for Prometheus.
    Metrics,
    /// That the gateway answers.
    Health,
    /// Whether the gateway should get clients.
    Ready,
}

/// The options that name paths.
const PAGES: [(&str, Page); 4] = [
    ("stats", Page::Stats),
    ("metrics", Page::Metrics),
    ("health", Page::Health),
    ("ready", Page::Ready),
];

impl Status {
    /// Reads the options of [`PAGES`], and with an encoding for taps also `admin`; `None` if none of them is given.
    pub(crate) fn new(
        options: &Reader<'_>,
        taps: Option<Encoding>,
    ) -> Result<Option<Self>, ListenError> {
        let mut pages = Vec::new();
        for (option, page) in PAGES {
            if let Some(path) = options.text(option)? {
                pages.push((page, path.to_owned()));
            }
        }
        let admin = match taps {
            Some(encoding) => Admin::new(options, encoding)?,
            None => None,
        };
        if admin.is_some() && pages.iter().all(|(page, _)| *page != Page::Stats) {
            return Err(options.wrong("admin", "used together with stats"));
        }
        Ok((!pages.is_empty()).then_some(Self { pages, admin }))
    }

    fn page(&self, path: &str) -> Option<Page> {
        let mut pages = self.pages.iter();
        let found = pages.find(|(_, at)| at == path);
        found.map(|(page, _)| *page)
    }

    fn claims(&self, path: &str) -> bool {
        let is_admin = |admin: &Admin| admin.claims(path);
        self.page(path).is_some() || self.admin.as_ref().is_some_and(is_admin)
    }
}

impl Endpoint for Status {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        if self.claims(asked.uri().path()) {
            Claim::Yes
        } else {
            Claim::No
        }
    }

    fn take(&self, _: &Exchange, request: &SimpleRequest<'_>) -> Taking {
        if self.claims(request.path()) {
            Taking::Unsure
        } else {
            Taking::Pass
        }
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        if let Some(page) = self.page(asked.uri().path()) {
            let answer = answer(exchange.shard.hub(), asked.method(), page);
            return Box::pin(std::future::ready(Some(answer)));
        }
        Box::pin(async move {
            let admin = self.admin.as_ref()?;
            Some(admin.answer(exchange, asked).await)
        })
    }
}

fn answer(hub: &Hub, method: &Method, page: Page) -> Answer {
    if method != Method::GET && method != Method::HEAD {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
        let methods = HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, methods);
        return answer;
    }
    let (status, content_type, text) = match page {
        Page::Stats => (StatusCode::OK, JSON, json::text(&State::of(hub))),
        Page::Metrics => (
            StatusCode::OK,
            OPEN_METRICS,
            prometheus::text(State::of(hub)),
        ),
        Page::Health => (StatusCode::OK, JSON, said("ok")),
        Page::Ready => match hub.obstacle() {
            None => (StatusCode::OK, JSON, said("ready")),
            Some(obstacle) => (StatusCode::SERVICE_UNAVAILABLE, JSON, said(obstacle)),
        },
    };
    let mut answer = Response::new(Body::from(Bytes::from(text)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn said(status: &str) -> String {
    format!("{{\"status\":\"{status}\"}}\n")
}

/// The data of both forms.
struct State {
    stats: Stats,
    resident_bytes: Option<usize>,
    uptime_seconds: f64,
    targets: Vec<HostCounts>,
}

impl State {
    fn of(hub: &Hub) -> Self {
        Self {
            stats: hub.stats(),
            resident_bytes: memory_stats::memory_stats().map(|memory| memory.physical_mem),
            uptime_seconds: hub.epoch().elapsed().as_secs_f64(),
            targets: hub.targets().counts(),
        }
    }
}

const JSON: &str = "application/json";

/// The format that Prometheus prefers. Programs that read only the older text format can read it, too.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
