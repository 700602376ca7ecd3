//! HTTP as a protocol of listeners: what it asks of TLS, and what it makes of accepted streams.

use std::rc::Rc;
use std::sync::Arc;

use super::adopt;
use crate::config::ListenerConfig;
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::net::stream::Stream;
use crate::shard::Shard;
use crate::shard::protocol::{Needs, Protocol, Service};

/// See the module.
#[derive(Debug)]
pub(crate) struct HttpProtocol;

impl Protocol for HttpProtocol {
    fn name(&self) -> &'static str {
        "http"
    }

    fn needs(&self, config: &ListenerConfig) -> Needs {
        let http2 = config.tls.as_ref().is_some_and(|tls| tls.http2);
        Needs {
            alpn: if http2 {
                &[b"h2", b"http/1.1"]
            } else {
                &[b"http/1.1"]
            },
            keep_alive: None,
        }
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        config.options.reader().finish()?;
        Ok(Arc::new(HttpService))
    }
}

/// HTTP on one listener.
#[derive(Debug)]
struct HttpService;

impl Service for HttpService {
    fn accept(self: Arc<Self>, shard: &Rc<Shard>, stream: Stream, peer: Peer) {
        adopt(shard, stream, peer);
    }
}
