//! The endpoint of splice sessions on one listener, for any path. Owns the listener's configuration for them.

use std::sync::Arc;

use hyper::StatusCode;

use super::local::Inner;
use super::session::Splice;
use super::terms::Terms;
use crate::contract::Transport;
use crate::http::{
    Answer, Answering, Asked, Claim, Endpoint, Exchange, HttpService, open, plain, upgrade,
};

/// See the module.
#[derive(Debug)]
pub(in crate::adapter) struct Sessions {
    terms: Arc<Terms>,
    /// Accepts targets within the gateway, if the listener allows them.
    inner: Option<Arc<HttpService>>,
}

impl Sessions {
    pub(super) fn new(terms: Terms, inner: Option<HttpService>) -> Self {
        Self {
            terms: Arc::new(terms),
            inner: inner.map(Arc::new),
        }
    }
}

impl Endpoint for Sessions {
    fn claim(&self, _: &Exchange, asked: &Asked) -> Claim {
        if upgrade::is_meant(asked) {
            Claim::Yes
        } else {
            Claim::IfNobodyElse
        }
    }

    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e> {
        Box::pin(self.open(exchange, asked))
    }
}

impl Sessions {
    /// Answers with 101 or an error.
    async fn open(&self, exchange: &Exchange, request: &Asked) -> Option<Answer> {
        if !upgrade::is_meant(request) {
            // the answer of the program wsplice
            return Some(plain(StatusCode::BAD_REQUEST, NO_UPGRADE));
        }
        let offered = match upgrade::offered(request) {
            Ok(offered) => offered,
            Err(answer) => return Some(*answer),
        };
        let headers = request.headers();
        let client = (
            exchange.client_address(headers),
            exchange.client_port(headers),
        );
        let inner = self.inner.as_ref();
        let inner = inner.map(|service| Inner::new(service, exchange, client));
        let session = Splice::new(&self.terms, exchange.shard.hub(), inner);
        let transport = Transport::Splice;
        let admitted = open::admit_where_asked(exchange, request, transport, Box::new(session));
        Some(match admitted.await {
            Ok((opened, acceptance)) => {
                upgrade::begin(opened, &acceptance, &exchange.client, &offered)
            }
            Err(answer) => answer,
        })
    }
}

const NO_UPGRADE: &str = "bad \"Upgrade\" header";
