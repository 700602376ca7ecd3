//! Splice sessions on one listener: whatever path is asked for. Owns the terms of the listener.

use std::sync::Arc;

use hyper::StatusCode;

use super::session::Splice;
use super::terms::Terms;
use crate::contract::Opened;
use crate::contract::{Acceptance, Transport};
use crate::http::upgrade::{self, Offered};
use crate::http::{Answer, Answering, Asked, Claim, Client, Endpoint, Exchange, open, plain};

/// See the module.
#[derive(Debug)]
pub(super) struct Sessions(Arc<Terms>);

impl Sessions {
    pub(super) fn new(terms: Terms) -> Self {
        Self(Arc::new(terms))
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
        Box::pin(answer(&self.0, exchange, asked))
    }
}

/// 101, or the error that fits.
async fn answer(terms: &Arc<Terms>, exchange: &Exchange, request: &Asked) -> Option<Answer> {
    if !upgrade::is_meant(request) {
        // as the program wsplice answers
        return Some(plain(StatusCode::BAD_REQUEST, NO_UPGRADE));
    }
    let offered = match upgrade::offered(request) {
        Ok(offered) => offered,
        Err(answer) => return Some(*answer),
    };
    let session = Box::new(Splice::new(terms, exchange.shard.hub()));
    let admitted = open::admit_where_asked(exchange, request, Transport::Splice, session).await;
    Some(match admitted {
        Ok((opened, acceptance)) => begin(opened, &acceptance, &exchange.client, &offered),
        Err(answer) => answer,
    })
}

fn begin(opened: Opened, acceptance: &Acceptance, client: &Client, offered: &Offered) -> Answer {
    let response = match upgrade::switch(offered, acceptance) {
        Ok(response) => response,
        Err(problem) => return open::invalid(opened, problem),
    };
    *client.upgrade.borrow_mut() = Some(Box::new(move |stream, early| {
        opened.connected(stream, &early);
    }));
    response
}

const NO_UPGRADE: &str = "bad \"Upgrade\" header";
