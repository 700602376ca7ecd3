//! What the connections of one HTTP listener share.

use hyper::header::HeaderValue;
use millrace_protocol::http::InspectorConfig;

use super::clock::Timeouts;
use super::options::Origins;
use super::{Endpoints, HttpLimits, answer};
use crate::hub::Hub;
use crate::limits::ListenerLimits;

/// See the module.
#[derive(Debug)]
pub(crate) struct HttpService {
    /// The origins that may connect.
    pub(super) origins: Origins,
    /// Whether CONNECT and TRACE of HTTP/1.1, and TRACE of HTTP/2, reach endpoints instead of being refused.
    pub(super) raw_methods: bool,
    /// The limits of HTTP.
    pub(super) limits: HttpLimits,
    /// The timeouts of its connections.
    pub(super) timeouts: Timeouts,
    /// The limits of requests for the inspector.
    pub(super) inspector: InspectorConfig,
    /// The same for requests to Node listeners.
    pub(super) node_inspector: InspectorConfig,
    /// The value of `Keep-Alive` in its answers.
    pub(super) keep_alive: HeaderValue,
    pub(super) endpoints: Endpoints,
}

impl HttpService {
    /// A service that allows every origin.
    pub(crate) fn new(listener: &ListenerLimits, limits: HttpLimits, endpoints: Endpoints) -> Self {
        let inspector = InspectorConfig {
            head_bytes: limits.request_head_bytes,
            headers: usize::try_from(limits.request_headers).unwrap_or(usize::MAX),
            target_bytes: limits.request_target_bytes,
            body_bytes: u64::try_from(limits.body_bytes).unwrap_or(u64::MAX),
            as_node: false,
        };
        Self {
            origins: Origins::default(),
            raw_methods: false,
            timeouts: Timeouts::new(listener, &limits),
            inspector,
            node_inspector: InspectorConfig {
                as_node: true,
                ..inspector
            },
            keep_alive: answer::keep_alive_terms(
                limits.keep_alive_timeout,
                limits.keep_alive_requests,
            ),
            limits,
            endpoints,
        }
    }

    /// The rules for requests at this time.
    pub(super) fn rules(&self, hub: &Hub) -> &InspectorConfig {
        if hub.workers().takes_node_requests() {
            &self.node_inspector
        } else {
            &self.inspector
        }
    }

    /// Applies these options of its listener.
    pub(super) fn with(self, origins: Origins, raw_methods: bool) -> Self {
        Self {
            origins,
            raw_methods,
            ..self
        }
    }
}
