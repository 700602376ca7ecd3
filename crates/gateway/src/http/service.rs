//! What the connections of one listener that speaks HTTP have in common.

use hyper::header::HeaderValue;
use millrace_protocol::http::InspectorConfig;

use super::clock::Timeouts;
use super::options::Origins;
use super::{Endpoints, HttpLimits};

/// See the module.
#[derive(Debug)]
pub(crate) struct HttpService {
    /// Which origins may connect.
    pub(super) origins: Origins,
    /// Whether CONNECT and TRACE of HTTP/1.1, and TRACE of HTTP/2, reach endpoints instead of being refused.
    pub(super) raw_methods: bool,
    /// The bounds of HTTP.
    pub(super) limits: HttpLimits,
    /// How long its connections may take.
    pub(super) timeouts: Timeouts,
    /// The bounds of requests as their inspector wants them.
    pub(super) inspector: InspectorConfig,
    /// The value of `Keep-Alive` in its answers.
    pub(super) keep_alive: HeaderValue,
    pub(super) endpoints: Endpoints,
}
