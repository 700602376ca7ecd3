//! Requests for a WebSocket: the endpoint's session is admitted as for hyper, and the usual 101 is written from here.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::event::Acceptance;
use crate::http::connection::{Around, HttpConnection, Wire};
use crate::http::open::{self, Head};
use crate::http::simple::{Arrived, Later, SimpleRequest, Switch};
use crate::http::upgrade::{self, Offered};
use crate::http::{Answer, Client, Exchange, Opens};
use crate::shard::open::{Opened, Refusal, Undecided, answer_timeout};

/// A client that waits for its admission.
struct Joining {
    offered: Offered,
    client: Rc<Client>,
    outcome: Outcome,
}

enum Outcome {
    Undecided(Undecided),
    /// `None` once it was taken.
    Refused(Option<Box<Answer>>),
}

/// Asks for the admission of a client; `None`: the request has to be seen as [`Asked`](crate::http::Asked).
pub(super) fn take(exchange: &Exchange, head: &[u8]) -> Option<Box<dyn Later>> {
    let client = &exchange.client;
    let request = SimpleRequest::read(head)?;
    let endpoints = &client.service.endpoints;
    let lines = open::split(&request)?;
    let (mut offered, extensions) = Offered::by(&lines)?;
    let Opens {
        transport,
        session,
        terms,
        protocol,
    } = endpoints.upgrade(exchange, request.path(), &offered.offers(&extensions))?;
    offered.agree(terms, protocol);
    let split = Head::Split {
        target: request.target(),
        lines: &lines,
    };
    let outcome = match open::ask(exchange, split, transport, session) {
        Ok(undecided) => Outcome::Undecided(undecided),
        Err(answer) => Outcome::Refused(Some(answer)),
    };
    Some(Box::new(Joining {
        offered,
        client: Rc::clone(client),
        outcome,
    }))
}

/// Limits the handshake, and the wait for the worker's decision within it.
pub(super) fn limit(connection: &HttpConnection, wire: &mut Wire) {
    connection.begin_handshake(wire);
    let Around {
        shard, listener, ..
    } = &connection.around;
    let timeout = answer_timeout(listener);
    let until = wire.clock.await_decision(shard.now(), timeout);
    connection.look_by(until);
}

impl Joining {
    fn accepted(&self, opened: Opened, acceptance: &Acceptance) -> Arrived {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        if self.offered.append_switching(acceptance, &mut head) {
            self.offered.settle(acceptance, &opened);
            return Arrived::Socket(Switch { head, opened });
        }
        let answer = upgrade::begin(opened, acceptance, &self.client, &self.offered);
        Arrived::Other(answer)
    }
}

/// Room for the head of a 101 with a subprotocol.
const HEAD_BYTES: usize = 256;

impl Later for Joining {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Arrived> {
        let undecided = match &mut self.outcome {
            Outcome::Undecided(undecided) => undecided,
            Outcome::Refused(answer) => {
                let answer = answer.take().expect("it is polled until it is ready");
                return Poll::Ready(Arrived::Other(*answer));
            }
        };
        let decision = match Pin::new(&mut *undecided).poll(cx) {
            Poll::Ready(decision) => decision,
            Poll::Pending if undecided.is_late() => Err(Refusal::Late),
            Poll::Pending => return Poll::Pending,
        };
        self.outcome = Outcome::Refused(None);
        Poll::Ready(match decision {
            Ok((opened, acceptance)) => self.accepted(opened, &acceptance),
            Err(refusal) => Arrived::Other(open::refused(refusal)),
        })
    }

    /// The connection ends then.
    fn client_left(&mut self) {}
}
