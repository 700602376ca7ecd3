//! Makes splice sessions without streams and without a network, only for tests and with the feature `fuzzing`.

use std::sync::Arc;

use super::ENCODING;
#[cfg(test)]
use super::local::Inner;
use super::session::Splice;
use super::terms::Terms;
#[cfg(test)]
use crate::contract::Stream;
use crate::contract::{Encoding, Encodings, Hub, ListenerConfig, Session};

/// See the module.
#[derive(Debug)]
pub(crate) struct SpliceOnStage(Encoding);

impl SpliceOnStage {
    pub(crate) fn new(encodings: &Encodings) -> Self {
        Self(encodings.add(ENCODING))
    }

    /// A session of this listener, without targets within the gateway.
    pub(crate) fn session_on_stage(
        &self,
        hub: &Arc<Hub>,
        config: &ListenerConfig,
    ) -> Box<dyn Session> {
        Box::new(Splice::new(&self.terms(config), hub, None))
    }

    /// A session in which each target within the gateway is a stream whose other end arrives by the receiver.
    #[cfg(test)]
    pub(crate) fn session_with_targets(
        &self,
        hub: &Arc<Hub>,
        config: &ListenerConfig,
    ) -> (
        Box<dyn Session>,
        tokio::sync::mpsc::UnboundedReceiver<Stream>,
    ) {
        let (inner, arriving) = Inner::on_stage();
        let session = Splice::new(&self.terms(config), hub, Some(inner));
        (Box::new(session), arriving)
    }

    fn terms(&self, config: &ListenerConfig) -> Arc<Terms> {
        let given = config.protocol_limits.reader();
        let http = given.table().expect("limits of HTTP");
        let own = given.table().expect("limits of splice");
        let options = config.options.reader();
        let terms = Terms::read(&options, (&config.limits, &http, own), self.0);
        Arc::new(terms.expect("options of splice"))
    }
}
