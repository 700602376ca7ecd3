//! The gateway's state for whoever watches it: one path answers with JSON, one with the text that Prometheus reads.
//! Owns the paths and the answers' form; counts nothing.

mod json;
mod prometheus;

use bytes::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::contract::{Hub, ListenError, Reader};
use crate::http::{Answer, Answering, Asked, Body, Claim, Endpoint, Exchange, plain};
use crate::stats::Stats;
use crate::target_stats::HostCounts;

/// Where one listener shows it.
#[derive(Debug)]
pub(crate) struct Status {
    /// As JSON.
    stats: Option<String>,
    /// As Prometheus reads it.
    metrics: Option<String>,
}

impl Status {
    /// Reads the options `stats` and `metrics`; `None`: it is shown nowhere.
    pub(crate) fn new(options: &Reader<'_>) -> Result<Option<Self>, ListenError> {
        let paths = Self {
            stats: options.text("stats")?.map(str::to_owned),
            metrics: options.text("metrics")?.map(str::to_owned),
        };
        let is_shown = paths.stats.is_some() || paths.metrics.is_some();
        Ok(is_shown.then_some(paths))
    }
}

impl Endpoint for Status {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        let path = asked.uri().path();
        if is_at(self.stats.as_ref(), path) || is_at(self.metrics.as_ref(), path) {
            Claim::Yes
        } else {
            Claim::No
        }
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        let is_json = is_at(self.stats.as_ref(), asked.uri().path());
        let answer = answer(exchange.shard.hub(), asked.method(), is_json);
        Box::pin(std::future::ready(Some(answer)))
    }
}

fn is_at(wanted: Option<&String>, path: &str) -> bool {
    wanted.is_some_and(|wanted| wanted == path)
}

fn answer(hub: &Hub, method: &Method, is_json: bool) -> Answer {
    if method != Method::GET && method != Method::HEAD {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
        let methods = HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, methods);
        return answer;
    }
    let state = State::of(hub);
    let (content_type, text) = if is_json {
        (JSON, json::text(&state))
    } else {
        (OPEN_METRICS, prometheus::text(state))
    };
    let mut answer = Response::new(Body::from(Bytes::from(text)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// What both forms show.
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

/// The text format that Prometheus asks for first; what reads the older one reads it as well.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
