//! Simple requests to workers: queued as they were sent, without being parsed a second time.

use std::rc::Rc;
use std::task::{Context, Poll};

use super::conclude;
use super::pending::Outcome;
use super::ticket::Ticket;
use super::{WorkerRequests, append};
use crate::contract::{Asking, Handlers, queue::Taken};
use crate::http::{
    AnswerHead, Arrived, Client, Exchange, Later, Ready, ReadyHead, SimpleRequest, Taking,
};

/// Queues a request for the next worker.
pub(super) fn take(
    terms: &WorkerRequests,
    exchange: &Exchange,
    request: &SimpleRequest<'_>,
) -> Taking {
    let Exchange { shard, client, .. } = exchange;
    let workers = shard.hub().workers();
    if !workers.takes_requests() {
        return Taking::Pass;
    }
    let Some(worker) = workers.pick_for_request(shard.limits().worker_requests) else {
        return Taking::Unsure;
    };
    if worker.handlers().contains(Handlers::NODE_REQUEST) {
        return Taking::Unsure;
    }
    let ticket = Ticket::open(shard, worker, terms.timeout);
    let mut head = ticket.take_head();
    let lengths = describe(client, request, &mut head);
    let taken = ticket.ask(&Asking {
        id: ticket.id().get(),
        version: 1,
        encrypted: client.listener.tls.is_some(),
        forwarded: false,
        streams: false,
        port: client.port,
        head: &head,
        lengths,
        body: None,
    });
    ticket.keep_head(head);
    match taken {
        Taken::Yes => Taking::Later(Box::new(Waiting {
            ticket: Some(ticket),
            client: Rc::clone(client),
        })),
        // it waits for room, or gets another answer
        Taken::Full | Taken::Gone => Taking::Unsure,
    }
}

/// Writes address, method and target, returns their lengths, and appends the headers with their names in lower case.
fn describe(client: &Client, request: &SimpleRequest<'_>, head: &mut Vec<u8>) -> [usize; 3] {
    let (address, target) = (client.address_text(), request.target());
    head.extend_from_slice(address.as_bytes());
    head.extend_from_slice(METHOD);
    head.extend_from_slice(target.as_bytes());
    for (name, value) in request.headers() {
        let start = head.len();
        append(head, name, value);
        if let Some(name) = head.get_mut(start..start + name.len()) {
            name.make_ascii_lowercase();
        }
    }
    [address.len(), METHOD.len(), target.len()]
}

const METHOD: &[u8] = b"GET";

/// A request whose answer is awaited.
struct Waiting {
    /// `None` once the answer has come.
    ticket: Option<Ticket>,
    client: Rc<Client>,
}

impl Later for Waiting {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Arrived> {
        let Some(mut outcome) = self.ticket.as_ref().and_then(|ticket| ticket.arrived(cx)) else {
            return Poll::Pending;
        };
        let Some(ticket) = self.ticket.take() else {
            return Poll::Pending;
        };
        if let Outcome::Whole(mut whole) = outcome {
            if let Some((head, body)) = AnswerHead::open_framed(&mut whole) {
                ticket.close();
                let head = ReadyHead::Checked(head);
                return Poll::Ready(Arrived::Ready(Ready { head, body }));
            }
            outcome = Outcome::Whole(whole);
        }
        Poll::Ready(Arrived::Other(conclude(ticket, &self.client, outcome)))
    }

    fn client_left(&mut self) {
        if let Some(ticket) = &self.ticket {
            ticket.tell_left();
        }
    }
}
