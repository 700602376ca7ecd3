//! The connection to the store, by the client library `redis`. Ensures that commands are sent in the order in which they
//! were given, that their answers come in that order, and that each has a deadline. Knows no channel.

mod fault;
mod hello;
mod meter;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redis::aio::{MultiplexedConnection, SendError};
use redis::{
    AsyncConnectionConfig, Cmd, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo,
    RedisError, RedisResult, Value,
};
use tokio::task::unconstrained;

use super::scripts::{PAGE_BYTES, Scripts};
use crate::config::{Config, Protocol, Server};
use crate::connection;
use crate::link_error::LinkError;
use crate::sentinel;
use crate::silence::Silence;
use crate::tls::Encryption;
use crate::wire::{SlotRange, WireError, shown};
pub(crate) use fault::Fault;
use hello::{slot_range, unfit};
use meter::{Meter, Metered};

/// See the module. `R` is what a command was sent for.
pub(super) struct Link<R> {
    server: Server,
    connection: MultiplexedConnection,
    /// The library's side: writes commands and parses answers while it is polled.
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_over: bool,
    meter: Arc<Meter>,
    pushes: Arc<Mutex<VecDeque<PushInfo>>>,
    flight: VecDeque<Sent<R>>,
    bytes: usize,
    silence: Silence,
    /// What the meter said when something was received for the last time.
    heard: usize,
}

struct Sent<R> {
    what: R,
    bytes: usize,
    due: Instant,
    answer: Answer,
}

type Answer = Pin<Box<dyn Future<Output = RedisResult<Value>> + Send>>;

/// What came from the store.
pub(super) enum Event<R> {
    /// A message: its topic and its bytes.
    Message(Vec<u8>, Vec<u8>),
    /// A subscription has ended: the node wanted it, or the slot has moved to another server.
    Ended(Vec<u8>),
    /// The answer to a command.
    Answer(R, Result<Value, Fault>),
}

impl<R> Link<R> {
    /// Connects to a server, or to the master that it knows if it is a Sentinel.
    pub(super) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let server = sentinel::resolve(config, server, encryption).await?;
        let tcp = connection::connect(&server).await?;
        let stream = connection::secured(tcp, &server, encryption).await?;
        let longest =
            (2 * PAGE_BYTES).saturating_add(config.bounds.message_bytes.saturating_mul(2));
        let meter = Arc::new(Meter::new(longest.max(LEAST_LONGEST)));
        let pushes = Arc::new(Mutex::new(VecDeque::new()));
        let arrived = Arc::clone(&pushes);
        let options = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            // commands never wait outside of it, where one could overtake the other
            .set_pipeline_buffer_size(2 * MOST_IN_FLIGHT)
            .set_push_sender(move |push: PushInfo| {
                if is_event(&push.kind) {
                    arrived.lock().push_back(push);
                }
                Ok::<(), SendError>(())
            });
        let metered = Metered::new(stream, &meter);
        let account = account(config);
        let made = MultiplexedConnection::new_with_config(&account, metered, options);
        let (connection, driver) = made.await.map_err(|error| failed(&server, &error))?;
        let mut link = Self {
            server,
            connection,
            driver: Box::pin(driver),
            is_over: false,
            silence: Silence::default(),
            heard: 0,
            meter,
            pushes,
            flight: VecDeque::new(),
            bytes: 0,
        };
        link.check(config.protocol == Protocol::RedisCluster)
            .await?;
        Ok(link)
    }

    /// Fails if the server is not of the kind that is wanted.
    async fn check(&mut self, is_cluster: bool) -> Result<(), LinkError> {
        let mut hello = redis::cmd("HELLO");
        hello.arg("3");
        let hello = self.call(hello).await?;
        match unfit(&hello, is_cluster) {
            None => Ok(()),
            Some(why) => Err(self.refused(why.to_owned())),
        }
    }

    /// The slots of the masters of its cluster.
    pub(super) async fn slots(&mut self) -> Result<Vec<SlotRange>, LinkError> {
        let mut slots = redis::cmd("CLUSTER");
        slots.arg("SLOTS");
        match self.call(slots).await? {
            Value::Array(ranges) => Ok(ranges.iter().filter_map(slot_range).collect()),
            _ => Err(LinkError::NoCluster(self.server.clone())),
        }
    }

    /// Waits for the answer to a command, before the link is used.
    async fn call(&mut self, command: Cmd) -> Result<Value, LinkError> {
        let mut answer = self.ask(command);
        let answer = poll_fn(|cx| {
            self.meter.refill();
            let is_over = self.driver.as_mut().poll(cx).is_ready();
            match answer.as_mut().poll(cx) {
                Poll::Pending if is_over => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
            }
        });
        let answer = answer.await;
        self.meter.parsed();
        self.heard = self.meter.total();
        match answer {
            None => Err(LinkError::Closed(self.server.clone())),
            Some(answer) => answer
                .and_then(Value::extract_error)
                .map_err(|error| failed(&self.server, &error)),
        }
    }

    /// The server.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Sends a command.
    pub(super) fn send(&mut self, what: R, command: Cmd, bytes: usize, now: Instant) {
        let mut answer = self.ask(command);
        // The first poll hands it to the library. No waker is needed: answers are looked for whenever the driver ran.
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(outcome) = answer.as_mut().poll(&mut cx) {
            answer = Box::pin(std::future::ready(outcome));
        }
        self.bytes += bytes;
        self.silence.asked(now);
        self.flight.push_back(Sent {
            what,
            bytes,
            due: now + DEADLINE,
            answer,
        });
    }

    fn ask(&self, command: Cmd) -> Answer {
        let mut connection = self.connection.clone();
        // Its first poll must succeed, even if this task has used up its budget: otherwise a later command would overtake it.
        Box::pin(unconstrained(async move {
            connection.send_packed_command(&command).await
        }))
    }

    /// Puts the scripts into the store. Returns the number of answers, for which `what` is.
    pub(super) fn load(&mut self, what: impl Fn() -> R, now: Instant) -> usize {
        let scripts = Scripts::load();
        let count = scripts.len();
        for command in scripts {
            self.send(what(), command, 0, now);
        }
        count
    }

    /// Whether another publication may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.flight.len() < MOST_IN_FLIGHT && self.bytes < MOST_BYTES
    }

    /// Whether another command about following may be sent. Half of the room is for publications.
    pub(super) fn has_much_room(&self) -> bool {
        self.flight.len() < MOST_IN_FLIGHT / 2
    }

    /// Whether every command is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// When the next command must be answered, or when the server counts as lost if it says nothing before.
    pub(super) fn due(&self) -> Option<Instant> {
        let front = self.flight.front().map(|sent| sent.due);
        front.into_iter().chain(self.silence.ends_at()).min()
    }

    /// Takes the next command whose deadline has passed; fails if the server says nothing at all.
    pub(super) fn overdue(&mut self, now: Instant) -> Result<Option<R>, LinkError> {
        if self.silence.is_over(now) {
            return Err(LinkError::Silent(self.server.clone()));
        }
        let is_late = self.flight.front().is_some_and(|sent| sent.due <= now);
        Ok(if is_late { self.take_first() } else { None })
    }

    /// Lets the system drop what it has not sent when the connection is closed.
    pub(super) fn cut(&self) {
        self.meter.cut();
    }

    /// Takes everything that is not answered.
    pub(super) fn abandoned(self) -> impl Iterator<Item = R> {
        self.flight.into_iter().map(|sent| sent.what)
    }

    /// Writes and reads, and returns what came. An error ends the link.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event<R>, LinkError>> {
        if let Some(event) = self.next(cx) {
            return Poll::Ready(Ok(event));
        }
        if !self.is_over {
            self.meter.refill();
            self.is_over = self.driver.as_mut().poll(cx).is_ready();
            self.silence.wrote(Instant::now);
            if self.meter.total() != self.heard {
                self.heard = self.meter.total();
                self.silence.heard();
            }
            if let Some(event) = self.next(cx) {
                return Poll::Ready(Ok(event));
            }
        }
        if self.is_over {
            return Poll::Ready(Err(LinkError::Closed(self.server.clone())));
        }
        Poll::Pending
    }

    /// What has come already. Messages go first: those that were published before a page was read must not seem to be
    /// later.
    fn next(&mut self, cx: &mut Context<'_>) -> Option<Event<R>> {
        loop {
            let Some(push) = self.pushes.lock().pop_front() else {
                break;
            };
            self.meter.parsed();
            let mut data = push.data.into_iter();
            match (data.next(), data.next()) {
                (Some(Value::BulkString(topic)), Some(Value::BulkString(bytes))) => {
                    return Some(Event::Message(topic, bytes));
                }
                (Some(Value::BulkString(topic)), _) => return Some(Event::Ended(topic)),
                _ => {}
            }
        }
        let Poll::Ready(answer) = self.flight.front_mut()?.answer.as_mut().poll(cx) else {
            return None;
        };
        self.meter.parsed();
        let what = self.take_first()?;
        let answer = match answer {
            Ok(Value::ServerError(error)) => Err(Fault::new(
                error.code(),
                error.details().unwrap_or_default(),
            )),
            Ok(value) => Ok(value),
            Err(error) => Err(match error.code() {
                Some(code) => Fault::new(code, error.detail().unwrap_or_default()),
                None => Fault::Lost,
            }),
        };
        if matches!(answer, Err(Fault::Lost)) {
            self.is_over = true;
        }
        Some(Event::Answer(what, answer))
    }

    fn take_first(&mut self) -> Option<R> {
        let sent = self.flight.pop_front()?;
        self.bytes -= sent.bytes;
        Some(sent.what)
    }

    /// An error with this reason.
    pub(super) fn refused(&self, why: String) -> LinkError {
        LinkError::wire(&self.server, WireError::Refused(why))
    }
}

/// Whether a push is more than the answer to a command.
fn is_event(kind: &PushKind) -> bool {
    matches!(
        kind,
        PushKind::Message | PushKind::SMessage | PushKind::SUnsubscribe
    )
}

fn account(config: &Config) -> RedisConnectionInfo {
    let mut account = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3);
    if let Some(password) = &config.credentials.password {
        account = account.set_password(password);
        if let Some(user) = &config.credentials.user {
            account = account.set_username(user);
        }
    }
    account.set_lib_name("millrace", env!("CARGO_PKG_VERSION"))
}

fn failed(server: &Server, error: &RedisError) -> LinkError {
    LinkError::wire(
        server,
        WireError::Refused(shown(error.to_string().as_bytes())),
    )
}

/// How long a command may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// The most commands without an answer.
const MOST_IN_FLIGHT: usize = 1024;

/// From this many bytes of unanswered publications on, none is sent.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// What a value may have in any case: other nodes may allow longer messages.
const LEAST_LONGEST: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests;
