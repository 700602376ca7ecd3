//! What answers requests: the endpoints of a listener, and the order in which they are asked. Knows none by name.

use std::fmt;
use std::pin::Pin;

use hyper::StatusCode;

use super::{Answer, Asked, Exchange, plain};

/// Answers some of the requests of one listener, and owns what it needs for that.
pub(crate) trait Endpoint: Send + Sync + fmt::Debug {
    /// Whether a request is for it.
    fn claim(&self, exchange: &Exchange, asked: &Asked) -> Claim;

    /// Answers a request that it claims; what it takes of it, its body say, nobody has any more. `None`, where it may: it
    /// does not, and has taken nothing.
    fn answer<'e>(&'e self, exchange: &'e Exchange, asked: &'e mut Asked) -> Answering<'e>;
}

/// Whether a request is for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    No,
    Yes,
    /// It has to look, and passes where it finds nothing; not where it is the [last](Exchange::last).
    MayPass,
    /// It says what is wrong with the request, if nobody else answers it.
    IfNobodyElse,
}

/// An answer on its way.
pub(crate) type Answering<'e> = Pin<Box<dyn Future<Output = Option<Answer>> + 'e>>;

/// Who is still to be asked for an answer.
pub(super) struct Claims<'e> {
    next: Option<Next<'e>>,
    /// Then these, if nobody else answers.
    rest: &'e [Box<dyn Endpoint>],
}

/// An endpoint's place, and its claim.
type Next<'e> = (usize, &'e dyn Endpoint, Claim);

/// What is said where nobody answers.
pub(super) fn nobody() -> Answer {
    plain(StatusCode::NOT_FOUND, "Not found")
}

/// The endpoints of a listener, in the order of their precedence.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(Vec<Box<dyn Endpoint>>);

impl Endpoints {
    /// Behind those that are there already.
    pub(crate) fn add(&mut self, endpoint: Option<impl Endpoint + 'static>) {
        if let Some(endpoint) = endpoint {
            self.0.push(Box::new(endpoint));
        }
    }

    /// Who claims a request first.
    pub(super) fn claims(&self, exchange: &Exchange, asked: &Asked) -> Claims<'_> {
        Claims {
            next: self.next(0, exchange, asked),
            rest: &self.0,
        }
    }

    /// Asks the next one that claims the request; `None`: nobody answers it. Whoever asks waits for the answer itself: one
    /// more future around it would cost every request.
    pub(super) fn ask<'e, 's: 'e>(
        &'s self,
        claims: &mut Claims<'s>,
        exchange: &'e mut Exchange,
        asked: &'e mut Asked,
    ) -> Option<Answering<'e>> {
        if let Some((place, endpoint, claim)) = claims.next {
            // known before it is asked, so that nothing that changes meanwhile leaves a request to nobody
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

    /// The next one from a place on that claims the request.
    fn next(&self, from: usize, exchange: &Exchange, asked: &Asked) -> Option<Next<'_>> {
        let mut rest = self.0.iter().enumerate().skip(from);
        rest.find_map(|(place, endpoint)| match endpoint.claim(exchange, asked) {
            Claim::No | Claim::IfNobodyElse => None,
            claim => Some((place, &**endpoint, claim)),
        })
    }
}
