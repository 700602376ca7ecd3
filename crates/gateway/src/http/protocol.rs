//! HTTP as a protocol of listeners: its TLS options, what the connections of one listener share, and how accepted
//! streams begin. The registry supplies its endpoints.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::options::Origins;
use super::{EndpointLimits, Endpoints, HttpLimits, HttpService, adopt};
use crate::config::ListenerConfig;
use crate::hub::Hub;
use crate::listener::Peer;
use crate::net::address::ListenError;
use crate::net::stream::Stream;
use crate::options::Reader;
use crate::shard::Shard;
use crate::shard::protocol::{Needs, Protocol, Service};

/// See the module.
pub(crate) struct HttpProtocol {
    /// The name in the option `protocol`, which also selects the endpoints.
    name: &'static str,
    endpoints: Box<MakeEndpoints>,
}

/// Makes the endpoints of a listener from its options and limits.
type MakeEndpoints =
    dyn Fn(&Reader<'_>, &EndpointLimits<'_>) -> Result<Endpoints, ListenError> + Send + Sync;

impl HttpProtocol {
    pub(crate) fn new(
        name: &'static str,
        endpoints: impl Fn(&Reader<'_>, &EndpointLimits<'_>) -> Result<Endpoints, ListenError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            name,
            endpoints: Box::new(endpoints),
        }
    }
}

impl fmt::Debug for HttpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpProtocol").field(&self.name).finish()
    }
}

impl Protocol for HttpProtocol {
    fn name(&self) -> &'static str {
        self.name
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
            delays: false,
            peer_begins: true,
        }
    }

    fn service(&self, config: &ListenerConfig) -> Result<Arc<dyn Service>, ListenError> {
        let given = config.protocol_limits.reader();
        let limits: HttpLimits = given.table()?;
        let options = config.options.reader();
        let endpoints = EndpointLimits::new(&config.limits, &limits, &given);
        let endpoints = (self.endpoints)(&options, &endpoints)?;
        given.finish()?;
        let service = HttpService::new(&config.limits, limits, endpoints).with(
            Origins::read(&options)?,
            options.flag("rawMethods")?.unwrap_or_default(),
        );
        options.finish()?;
        Ok(Arc::new(service))
    }
}

impl Service for HttpService {
    fn accept(self: Arc<Self>, shard: &Rc<Shard>, stream: Stream, peer: Peer) {
        adopt(shard, stream, peer, self);
    }

    fn caution(&self, hub: &Hub) -> Option<&'static str> {
        let any = self.origins == Origins::Any;
        let unasked = hub.lets_clients_publish() && !hub.workers().judge();
        (any && unasked).then_some(
            "the pages of any site can publish here: clients may publish, origins are '*', and no worker has handleOpen",
        )
    }
}
