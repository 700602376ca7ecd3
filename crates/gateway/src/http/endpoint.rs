//! The endpoints of a listener, and the order in which they are asked to answer a request. Names no particular
//! endpoint.

use std::fmt;
use std::pin::Pin;

use hyper::StatusCode;
use millrace_protocol::websocket::deflate::Terms;

use super::{Answer, Asked, Exchange, SimpleRequest, Taking, plain};
use crate::event::Transport;
use crate::socket::Session;

/// Answers some of the requests of one listener, and owns what it needs for that.
pub(crate) trait Endpoint: Send + Sync {
    /// Whether it claims a request.
    fn claim(&self, exchange: &Exchange, asked: &Asked) -> Claim;

    /// Takes a simple request at once, or says what else becomes of it.
    fn take(&self, _exchange: &Exchange, _request: &SimpleRequest<'_>) -> Taking {
        Taking::Unsure
    }

    /// What a valid request for a WebSocket on this path opens; `None`: it has to see the request as [`Asked`], or does not
    /// claim it.
    fn upgrade(&self, _exchange: &Exchange, _path: &str, _offers: &Offers<'_>) -> Option<Opens> {
        None
    }

    /// Answers a request that it claims. What it takes out of the request, such as the body, is not given to other
    /// endpoints. `None`, if it is allowed to pass: it does not answer and has taken nothing.
    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e>;
}

impl fmt::Debug for dyn Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

/// What a valid request for a WebSocket offers.
pub(crate) struct Offers<'a> {
    /// The lines of `Sec-WebSocket-Extensions`.
    pub(crate) extensions: &'a [&'a [u8]],
    /// The subprotocols.
    pub(crate) protocols: &'a [String],
}

/// What a request for a WebSocket opens.
pub(crate) struct Opens {
    pub(crate) transport: Transport,
    pub(crate) session: Box<dyn Session>,
    /// The terms of compression, if it is agreed on.
    pub(crate) terms: Option<Terms>,
    /// The subprotocol of the session, if the client offers it: it is spoken if `handleOpen` chooses no other.
    pub(crate) protocol: Option<&'static str>,
}

/// An endpoint's claim on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    No,
    Yes,
    /// It has to look the request up and may pass, unless it is the [last](Exchange::last).
    MayPass,
    /// It answers with what is wrong with the request, if no other endpoint answers.
    IfNobodyElse,
}

/// An answer that is being made.
pub(crate) type Answering<'e> = Pin<Box<dyn Future<Output = Option<Answer>> + 'e>>;

/// The endpoints that are still to be asked.
pub(super) struct Claims<'e> {
    next: Option<Next<'e>>,
    /// Asked afterwards, if no other endpoint answers.
    rest: &'e [Box<dyn Endpoint>],
}

/// An endpoint's index, and its claim.
type Next<'e> = (usize, &'e dyn Endpoint, Claim);

/// The answer if no endpoint answers.
pub(super) fn nobody() -> Answer {
    plain(StatusCode::NOT_FOUND, "Not found")
}

/// The endpoints of a listener, in the order of their precedence.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(Vec<Box<dyn Endpoint>>);

impl Endpoints {
    /// Adds an endpoint behind the others.
    pub(crate) fn add(&mut self, endpoint: Option<impl Endpoint + 'static>) {
        if let Some(endpoint) = endpoint {
            self.0.push(Box::new(endpoint));
        }
    }

    /// Gives a simple request to the first endpoint that takes it.
    pub(super) fn take(&self, exchange: &Exchange, request: &SimpleRequest<'_>) -> Taking {
        for endpoint in &self.0 {
            match endpoint.take(exchange, request) {
                Taking::Pass => {}
                taking => return taking,
            }
        }
        // what is said about a request that nobody answers depends on all of it
        Taking::Unsure
    }

    /// What a valid request for a WebSocket opens. Only the first endpoint is asked, because an endpoint that is asked
    /// earlier could claim what another one opens.
    pub(super) fn upgrade(
        &self,
        exchange: &Exchange,
        path: &str,
        offers: &Offers<'_>,
    ) -> Option<Opens> {
        self.0.first()?.upgrade(exchange, path, offers)
    }

    /// The claims on a request, from the first endpoint on.
    pub(super) fn claims(&self, exchange: &Exchange, asked: &Asked) -> Claims<'_> {
        Claims {
            next: self.next(0, exchange, asked),
            rest: &self.0,
        }
    }

    /// Asks the next endpoint that claims the request; `None`: no endpoint answers it. The caller awaits the answer
    /// itself, because another future around it would cost every request.
    pub(super) fn ask<'e, 's: 'e>(
        &'s self,
        claims: &mut Claims<'s>,
        exchange: &'e mut Exchange,
        asked: &'e mut Asked,
    ) -> Option<Answering<'e>> {
        if let Some((place, endpoint, claim)) = claims.next {
            // determined before the endpoint is asked, so that no change meanwhile leaves the request without an answer
            claims.next = match claim {
                Claim::MayPass => self.next(place + 1, exchange, asked),
                _ => None,
            };
            exchange.last = claims.next.is_none();
            return Some(endpoint.answer(exchange, asked));
        }
        while let Some((endpoint, rest)) = claims.rest.split_first() {
            claims.rest = rest;
            if endpoint.claim(exchange, asked) == Claim::IfNobodyElse {
                return Some(endpoint.answer(exchange, asked));
            }
        }
        None
    }

    /// The next endpoint from this index on that claims the request.
    fn next(&self, from: usize, exchange: &Exchange, asked: &Asked) -> Option<Next<'_>> {
        let mut rest = self.0.iter().enumerate().skip(from);
        rest.find_map(|(place, endpoint)| match endpoint.claim(exchange, asked) {
            Claim::No | Claim::IfNobodyElse => None,
            claim => Some((place, &**endpoint, claim)),
        })
    }
}
