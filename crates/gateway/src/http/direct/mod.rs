//! Simple requests, answered without hyper: each is read, inspected once and given to an endpoint, and its answer is
//! written with the headers that every answer has. So are requests for a WebSocket ([`socket`]). Everything else goes to
//! hyper, until it waits for the next request.

mod head;
mod socket;
mod writing;

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use millrace_protocol::http::{Asks, NextHead};

use super::connection::{Around, HttpConnection, Wire};
use super::simple::{Arrived, Later, SimpleRequest, Taking};
use super::{Answer, Client, Exchange};
use crate::shard::open::Opened;
use writing::{Then, Writing};

/// How this part of a connection ends.
pub(super) enum Next {
    /// No request follows.
    End,
    /// The connection is broken.
    Broken,
    /// The 101 is written, or the first output of this socket: the connection becomes the socket.
    Socket(Opened),
    /// hyper goes on. With `Some` that is its answer to the next request.
    Hyper(Option<Answer>),
}

/// See the module.
pub(super) struct Direct {
    exchange: Exchange,
    /// Whether the connection may have simple requests.
    possible: bool,
    state: State,
}

enum State {
    Reading,
    /// `closes`: the client wants the connection closed behind the answer.
    Waiting {
        answer: Box<dyn Later>,
        closes: bool,
    },
    Writing(Writing),
}

/// What the bytes of a peer begin with.
enum Found {
    /// A part of a head.
    Part,
    /// An invalid head.
    Refused,
    /// A head of this many bytes for hyper.
    Whole(usize),
    /// A request of this many bytes that an endpoint has taken.
    Simple {
        length: usize,
        closes: bool,
        taking: Taking,
    },
}

impl Direct {
    pub(super) fn new(connection: &HttpConnection, client: &Rc<Client>) -> Self {
        let exchange = Exchange {
            shard: Rc::clone(&connection.around.shard),
            client: Rc::clone(client),
            last: false,
        };
        Self {
            // the headers of a trusted proxy name the client
            possible: !client.over_limit && !exchange.is_forwarded(),
            exchange,
            state: State::Reading,
        }
    }

    /// Whether the connection may have simple requests now.
    pub(super) fn is_possible(&self, around: &Around) -> bool {
        self.possible && !around.service.rules(around.shard.hub()).as_node
    }

    /// Whether the answer to a request is awaited.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, State::Waiting { .. })
    }

    /// Serves simple requests. Ready when that is over.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &Rc<HttpConnection>,
    ) -> Poll<Next> {
        let around = &connection.around;
        if connection.wire.borrow_mut().send_late(cx, around).is_err() {
            return Poll::Ready(Next::Broken);
        }
        let mut answers = 0;
        loop {
            let next = match &mut self.state {
                State::Reading if answers == ANSWERS => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                State::Reading => match ready!(self.poll_request(cx, connection)) {
                    Ok(state) => state,
                    Err(next) => return Poll::Ready(next),
                },
                State::Waiting { answer, closes } => match answer.poll(cx) {
                    Poll::Ready(Arrived::Ready(ready)) => {
                        State::Writing(Writing::begin(connection, ready, *closes))
                    }
                    Poll::Ready(Arrived::Other(answer)) => {
                        let wire = &mut *connection.wire.borrow_mut();
                        let request = match *closes {
                            _ if wire.inspector().is_at_upgrade() => UPGRADE_REQUEST,
                            true => LAST_REQUEST,
                            false => REQUEST,
                        };
                        connection.asked.set(connection.asked.get() - 1);
                        wire.repeat(request, around);
                        self.state = State::Reading;
                        return Poll::Ready(Next::Hyper(Some(answer)));
                    }
                    Poll::Ready(Arrived::Socket(switch)) => {
                        match Writing::switch(connection, switch) {
                            Ok(writing) => State::Writing(writing),
                            Err(opened) => return Poll::Ready(Next::Socket(opened)),
                        }
                    }
                    Poll::Pending => return self.poll_leaving(cx, connection),
                },
                State::Writing(writing) => {
                    if ready!(writing.poll(cx, connection)).is_err() {
                        return Poll::Ready(Next::Broken);
                    }
                    let head = std::mem::take(&mut writing.head);
                    around.pending_writes.give_back(head);
                    answers += 1;
                    match std::mem::replace(&mut writing.then, Then::End) {
                        Then::Request => State::Reading,
                        Then::End => return Poll::Ready(Next::End),
                        Then::Socket(opened) => return Poll::Ready(Next::Socket(opened)),
                    }
                }
            };
            self.state = next;
        }
    }

    /// Checks whether the client leaves while its answer is made.
    fn poll_leaving(&mut self, cx: &mut Context<'_>, connection: &HttpConnection) -> Poll<Next> {
        let wire = &mut *connection.wire.borrow_mut();
        if wire.poll_ahead_of_head(cx, &connection.around).is_err() {
            return Poll::Ready(Next::Broken);
        }
        if wire.half_closed {
            self.exchange.client.half_closed.set();
            if wire.inspector().is_at_upgrade() {
                // it gets no socket
                return Poll::Ready(Next::Broken);
            }
            if let State::Waiting { answer, .. } = &mut self.state {
                answer.client_left();
            }
        }
        Poll::Pending
    }

    /// Reads the next request. `Err`: it is not answered here, or there is none.
    fn poll_request(
        &self,
        cx: &mut Context<'_>,
        connection: &Rc<HttpConnection>,
    ) -> Poll<Result<State, Next>> {
        let around = &connection.around;
        let wire = &mut *connection.wire.borrow_mut();
        if !self.is_possible(around) {
            let has_head = ready!(wire.poll_head(cx, around, connection.asked.get()));
            return Poll::Ready(Err(if has_head {
                Next::Hyper(None)
            } else {
                Next::End
            }));
        }
        let mut held_is_new = wire.holds();
        loop {
            if std::mem::take(&mut held_is_new) {
                let mut held = wire.take_held();
                let found = self.find(wire, &held);
                held.drain(..found.taken());
                wire.put_held(held);
                if let Some(outcome) = conclude(found, wire, connection) {
                    return Poll::Ready(outcome);
                }
            }
            if wire.half_closed {
                wire.cut_off();
            }
            if wire.is_over() {
                return Poll::Ready(Err(Next::End));
            }
            let found = wire.poll_read(cx, around, |wire, bytes| {
                let found = self.find(wire, bytes);
                let taken = found.taken();
                (found, taken)
            });
            match found {
                Poll::Ready(Ok(Some(found))) => {
                    if let Some(outcome) = conclude(found, wire, connection) {
                        return Poll::Ready(outcome);
                    }
                }
                // as for hyper, a broken connection is not closed politely once it had a request
                Poll::Ready(Err(_)) if connection.asked.get() > 0 => {
                    return Poll::Ready(Err(Next::Broken));
                }
                Poll::Ready(Err(_)) => wire.ended = true,
                Poll::Pending if wire.wait(around) => return Poll::Pending,
                Poll::Ready(Ok(None)) => held_is_new = wire.holds(),
                Poll::Pending => {}
            }
        }
    }

    /// Inspects a head, and gives the request to the endpoints if it can be answered here.
    fn find(&self, wire: &mut Wire, bytes: &[u8]) -> Found {
        let service = &self.exchange.client.service;
        match wire.next_head(bytes, &service.inspector) {
            NextHead::Unfinished => Found::Part,
            NextHead::Refused(_) => Found::Refused,
            NextHead::NotYet => Found::Whole(0),
            NextHead::Whole { length, asks } => {
                let head = bytes.get(..length).unwrap_or_default();
                let (closes, taking) = match asks {
                    Asks::Answer { closes } => (closes, self.take(head)),
                    Asks::WebSocket => {
                        (false, socket::take(&self.exchange, head).map(Taking::Later))
                    }
                    Asks::More => (false, None),
                };
                taking.map_or(Found::Whole(length), |taking| Found::Simple {
                    length,
                    closes,
                    taking,
                })
            }
        }
    }

    /// Gives a simple request to the endpoints.
    fn take(&self, head: &[u8]) -> Option<Taking> {
        let request = SimpleRequest::read(head)?;
        let endpoints = &self.exchange.client.service.endpoints;
        match endpoints.take(&self.exchange, &request) {
            Taking::Pass | Taking::Unsure => None,
            taking => Some(taking),
        }
    }
}

impl Found {
    /// The bytes that need not be kept.
    fn taken(&self) -> usize {
        match self {
            Self::Simple { length, .. } => *length,
            Self::Part | Self::Refused | Self::Whole(_) => 0,
        }
    }
}

/// What follows from what was found; `None`: more has to be read.
fn conclude(
    found: Found,
    wire: &mut Wire,
    connection: &HttpConnection,
) -> Option<Result<State, Next>> {
    match found {
        Found::Part => None,
        Found::Refused => Some(Err(Next::End)),
        Found::Whole(length) => {
            wire.clock.stop();
            wire.pass_on(length, &connection.around);
            Some(Err(Next::Hyper(None)))
        }
        Found::Simple { closes, taking, .. } => {
            wire.clock.stop();
            connection.asked.set(connection.asked.get() + 1);
            if wire.inspector().is_at_upgrade() {
                socket::limit(connection, wire);
            }
            match taking {
                Taking::Answer(ready) => {
                    let writing = Writing::begin(connection, ready, closes);
                    Some(Ok(State::Writing(writing)))
                }
                Taking::Later(answer) => Some(Ok(State::Waiting { answer, closes })),
                Taking::Pass | Taking::Unsure => None,
            }
        }
    }
}

/// Consecutive answers to requests that were sent without waiting, before other connections get a turn.
const ANSWERS: u32 = 16;

/// Requests that hyper reads in place of the one that was answered. It needs one to write an answer.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const LAST_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const UPGRADE_REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
