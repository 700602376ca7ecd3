//! The connection to the store, by the client library `redis`. Ensures that commands are sent in the order in which they
//! were given, that their answers come in that order, and that each has a deadline. Knows no channel.

mod fault;
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
use crate::config::{Config, Server};
use crate::connection;
use crate::link_error::LinkError;
use crate::sentinel;
use crate::tls::Encryption;
use crate::wire::{WireError, shown};
pub(crate) use fault::Fault;
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
    /// When anything was received for the last time, and what the meter said then.
    heard: (Instant, usize),
    /// Why the link ends when everything is answered.
    retires: Option<LinkError>,
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
        let mut server = server.clone();
        if let Some(sentinel) = &config.sentinel {
            server = sentinel::master(sentinel, &server, encryption).await?;
        }
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
                if push.kind == PushKind::Message {
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
            heard: (Instant::now(), meter.total()),
            meter,
            pushes,
            flight: VecDeque::new(),
            bytes: 0,
            retires: None,
        };
        link.check().await?;
        Ok(link)
    }

    /// Fails if the server is not a master.
    async fn check(&mut self) -> Result<(), LinkError> {
        let mut hello = redis::cmd("HELLO");
        hello.arg("3");
        let mut answer = self.ask(hello);
        let hello = poll_fn(|cx| {
            self.meter.refill();
            let is_over = self.driver.as_mut().poll(cx).is_ready();
            match answer.as_mut().poll(cx) {
                Poll::Pending if is_over => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
            }
        });
        let hello = hello.await;
        self.meter.parsed();
        let hello = match hello {
            None => return Err(LinkError::Closed(self.server.clone())),
            Some(Err(error)) => return Err(failed(&self.server, &error)),
            Some(Ok(hello)) => hello,
        };
        match unfit(&hello) {
            None => Ok(()),
            Some(why) => Err(self.refused(why.to_owned())),
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

    /// Puts the scripts into the store. `what` says what to do with the answers.
    pub(super) fn load(&mut self, what: impl Fn() -> R, now: Instant) {
        for command in Scripts::load() {
            self.send(what(), command, 0, now);
        }
    }

    /// Whether another publication may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.flight.len() < MOST_IN_FLIGHT && self.bytes < MOST_BYTES && self.retires.is_none()
    }

    /// Whether another command about following may be sent. Half of the room is for publications.
    pub(super) fn has_much_room(&self) -> bool {
        self.flight.len() < MOST_IN_FLIGHT / 2 && self.retires.is_none()
    }

    /// Whether every command is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// When the next command must be answered.
    pub(super) fn due(&self) -> Option<Instant> {
        self.flight.front().map(|sent| sent.due)
    }

    /// Takes the next command whose deadline has passed; fails if the server says nothing at all.
    pub(super) fn overdue(&mut self, now: Instant) -> Result<Option<R>, LinkError> {
        if self.due().is_none_or(|due| due > now) {
            return Ok(None);
        }
        if now.saturating_duration_since(self.heard.0) >= DEADLINE {
            return Err(LinkError::Silent(self.server.clone()));
        }
        Ok(self.take_first())
    }

    /// Ends the link when everything is answered: this server is not fit any more.
    pub(super) fn retire(&mut self, why: String) {
        if self.retires.is_none() {
            self.retires = Some(self.refused(why));
        }
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
            if self.meter.total() != self.heard.1 {
                self.heard = (Instant::now(), self.meter.total());
            }
            if let Some(event) = self.next(cx) {
                return Poll::Ready(Ok(event));
            }
        }
        if self.is_over {
            return Poll::Ready(Err(LinkError::Closed(self.server.clone())));
        }
        match self.retires.take_if(|_| self.flight.is_empty()) {
            Some(error) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
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
            if let (Some(Value::BulkString(topic)), Some(Value::BulkString(bytes))) =
                (data.next(), data.next())
            {
                return Some(Event::Message(topic, bytes));
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

    fn refused(&self, why: String) -> LinkError {
        LinkError::wire(&self.server, WireError::Refused(why))
    }
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

/// Why a server cannot keep histories, according to its hello.
fn unfit(hello: &Value) -> Option<&'static str> {
    let Value::Map(fields) = hello else {
        return None;
    };
    let field = |wanted: &str| {
        fields
            .iter()
            .find_map(|(name, value)| (text(name)? == wanted.as_bytes()).then(|| text(value))?)
    };
    match (field("mode")?, field("role")?) {
        (b"sentinel", _) => Some("it is a Sentinel, which keeps no histories"),
        (b"cluster", _) => Some("it is a node of a cluster, over which histories are not kept"),
        (_, b"replica" | b"slave") => Some("it is a replica, to which nothing can be written"),
        _ => None,
    }
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(text) => Some(text),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// How long a command may take, and how long a server may be silent.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// The most commands without an answer.
const MOST_IN_FLIGHT: usize = 1024;

/// From this many bytes of unanswered publications on, none is sent.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// What a value may have in any case: other nodes may allow longer messages.
const LEAST_LONGEST: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_masters_outside_of_clusters_keep_histories() {
        let word = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let hello = |mode: &str, role: &str| {
            Value::Map(vec![
                (word("server"), word("redis")),
                (word("mode"), word(mode)),
                (word("role"), word(role)),
            ])
        };
        assert_eq!(unfit(&hello("standalone", "master")), None);
        assert!(unfit(&hello("standalone", "replica")).is_some());
        assert!(unfit(&hello("sentinel", "master")).is_some());
        assert!(unfit(&hello("cluster", "master")).is_some());
        assert_eq!(unfit(&Value::Nil), None);
    }
}
