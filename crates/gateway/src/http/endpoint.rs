//! What answers requests: the endpoints of a listener, and the order in which they are asked. Knows none by name.

use std::fmt;
use std::pin::Pin;

use hyper::StatusCode;

use super::{Answer, Asked, Exchange, plain, refuse_method};

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

    /// Answers a request, whoever does. It lies where it is: all that moves costs every request.
    pub(super) async fn answer(&self, exchange: &mut Exchange, asked: &mut Asked) -> Answer {
        if let Some(refusal) = refuse_method(exchange, asked.method()) {
            return refusal;
        }
        let mut next = self.next(0, exchange, asked);
        while let Some((place, endpoint, claim)) = next {
            // known before it is asked, so that nothing that changes meanwhile leaves a request to nobody
            next = match claim {
                Claim::MayPass => self.next(place + 1, exchange, asked),
                _ => None,
            };
            exchange.last = next.is_none();
            if let Some(answer) = endpoint.answer(exchange, asked).await {
                return answer;
            }
        }
        for endpoint in &self.0 {
            if endpoint.claim(exchange, asked) == Claim::IfNobodyElse
                && let Some(answer) = endpoint.answer(exchange, asked).await
            {
                return answer;
            }
        }
        plain(StatusCode::NOT_FOUND, "Not found")
    }

    /// The next one from a place on that claims the request.
    fn next(
        &self,
        from: usize,
        exchange: &Exchange,
        asked: &Asked,
    ) -> Option<(usize, &dyn Endpoint, Claim)> {
        let mut rest = self.0.iter().enumerate().skip(from);
        rest.find_map(|(place, endpoint)| match endpoint.claim(exchange, asked) {
            Claim::No | Claim::IfNobodyElse => None,
            claim => Some((place, &**endpoint, claim)),
        })
    }
}
