//! The gateway's state for whoever watches it: one path answers with JSON, one with the text that Prometheus reads.
//! Owns the paths and the answers' form; counts nothing.

mod json;
mod prometheus;

use bytes::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};

use crate::http::{Answer, Asked, Body, Exchange, plain};
use crate::hub::Hub;
use crate::net::address::ListenError;
use crate::options::Reader;
use crate::stats::Stats;

/// Where a listener shows it; `None`: nowhere.
#[derive(Debug)]
pub(crate) struct StatusPaths {
    /// As JSON.
    stats: Option<String>,
    /// As Prometheus reads it.
    metrics: Option<String>,
}

impl StatusPaths {
    /// The options `stats` and `metrics`.
    pub(crate) fn read(options: &Reader<'_>) -> Result<Self, ListenError> {
        Ok(Self {
            stats: options.text("stats")?.map(str::to_owned),
            metrics: options.text("metrics")?.map(str::to_owned),
        })
    }
}

/// Answers a request for the state; `None`: it is for something else.
pub(crate) fn answer(paths: &StatusPaths, exchange: &Exchange, request: &Asked) -> Option<Answer> {
    let path = request.uri().path();
    let asks_for = |wanted: &Option<String>| wanted.as_deref() == Some(path);
    let is_json = asks_for(&paths.stats);
    if !is_json && !asks_for(&paths.metrics) {
        return None;
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
        let methods = HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(ALLOW, methods);
        return Some(answer);
    }
    let state = State::of(exchange.shard.hub());
    let (content_type, text) = if is_json {
        (JSON, json::text(&state))
    } else {
        (OPEN_METRICS, prometheus::text(state))
    };
    let mut answer = Response::new(Body::from(Bytes::from(text)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(answer)
}

/// What both forms show.
struct State {
    stats: Stats,
    resident_bytes: Option<usize>,
    uptime_seconds: f64,
}

impl State {
    fn of(hub: &Hub) -> Self {
        Self {
            stats: hub.stats(),
            resident_bytes: memory_stats::memory_stats().map(|memory| memory.physical_mem),
            uptime_seconds: hub.epoch().elapsed().as_secs_f64(),
        }
    }
}

const JSON: &str = "application/json";

/// The text format that Prometheus asks for first; what reads the older one reads it as well.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
