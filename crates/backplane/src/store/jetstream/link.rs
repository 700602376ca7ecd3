//! The connection to a NATS server with JetStream: requests, and the answers that name them. Ensures that each request has
//! a deadline. Knows no channel.

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::net::IpAddr;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ahash::AHashMap;

use super::wire::{self, Heard, Message, Reader};
use crate::config::{Config, Server};
use crate::connection;
use crate::link_error::LinkError;
use crate::outlet::random;
use crate::pipe::{Pipe, first_line};
use crate::silence::Silence;
use crate::tls::Encryption;
use crate::wire::WireError;
use crate::wire::nats::LEAST_PAYLOAD;
use crate::wire::nats::info::{Info, server as address};
use crate::wire::nats::login::{self, Purpose};

/// See the module. `R` is what a request was sent for.
pub(in crate::store) struct Link<R> {
    pipe: Pipe,
    reader: Reader,
    /// The beginning of the subjects on which answers come.
    inbox: String,
    /// The last number of a request or a subscription.
    numbers: u64,
    flight: AHashMap<u64, R>,
    /// The deadlines of the requests in the order in which they were sent; some are answered.
    deadlines: VecDeque<(Instant, u64)>,
    heard: VecDeque<Heard>,
    silence: Silence,
    /// The most bytes of a message that the server accepts, with its headers.
    most: usize,
    version: Option<[u32; 3]>,
    servers: Vec<Server>,
    is_disturbed: bool,
    failure: Option<LinkError>,
}

/// What came from the server.
pub(in crate::store) enum Event<R> {
    Answer(R, Message),
    /// A message of a subscription.
    Told(Message),
    /// The server lets us not publish or subscribe.
    Forbidden {
        is_publish: bool,
        subject: Box<[u8]>,
        text: String,
    },
}

impl<R> Link<R> {
    /// Connects, and waits until the server has accepted us.
    pub(in crate::store) async fn connect(
        config: &Config,
        server: &Server,
        encryption: Option<&Encryption>,
    ) -> Result<Self, LinkError> {
        let mut tcp = connection::connect(server).await?;
        let hello = first_line(&mut tcp).await;
        let info = Info::parse(&hello.map_err(|source| LinkError::io(server, source))?);
        let stream = connection::secured(tcp, server, encryption).await?;
        let longest = (config.bounds.message_bytes.saturating_mul(2)).max(LEAST_LONGEST);
        let mut pipe = Pipe::new(server, stream, longest);
        let inbox = format!("_INBOX.millrace{:016x}{:016x}", random(), random());
        let out = pipe.output();
        let nonce = info.nonce.unwrap_or_default();
        login::connect(&config.credentials, &nonce, Purpose::Streams, out);
        wire::subscribe(&format!("{inbox}.*"), ANSWERS, out);
        out.extend_from_slice(b"PING\r\n");
        // the first line is not encrypted: only an address is safe, because its certificate must have a known name
        let urls = info.connect_urls.unwrap_or_default();
        let servers = urls.iter().filter_map(|url| address(url));
        let servers = servers.filter(|server| server.host.parse::<IpAddr>().is_ok());
        let mut link = Self {
            pipe,
            reader: Reader::new(longest),
            inbox,
            numbers: ANSWERS,
            flight: AHashMap::new(),
            deadlines: VecDeque::new(),
            heard: VecDeque::new(),
            silence: Silence::default(),
            most: info.max_payload.unwrap_or(LEAST_PAYLOAD),
            version: info.version,
            servers: servers.collect(),
            is_disturbed: false,
            failure: None,
        };
        link.await_pong().await?;
        Ok(link)
    }

    async fn await_pong(&mut self) -> Result<(), LinkError> {
        loop {
            match self.heard.pop_front() {
                Some(Heard::Pong) => return Ok(()),
                Some(Heard::Forbidden { text, .. }) => return Err(self.refused(text)),
                Some(Heard::Servers(servers)) => self.heed_servers(servers),
                Some(Heard::Message(_)) => {}
                None => poll_fn(|cx| self.poll_bytes(cx)).await?,
            }
        }
    }

    /// Sends a request and waits for its answer, before anything else is asked. If it is forbidden, an operator has to allow it.
    pub(in crate::store) async fn call(
        &mut self,
        what: R,
        subject: &str,
        body: &[u8],
    ) -> Result<Message, LinkError> {
        let answer = self.answer(what, subject, &[], body).await?;
        answer.map_err(|why| self.unfit(why))
    }

    /// The same with headers, for what this account may be forbidden: `None` if it is.
    pub(in crate::store) async fn call_if_allowed(
        &mut self,
        what: R,
        subject: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<Message>, LinkError> {
        Ok(self.answer(what, subject, headers, &[]).await?.ok())
    }

    /// Sends a request and waits for its answer, or for one to an earlier request. The inner error says why it is forbidden.
    async fn answer(
        &mut self,
        what: R,
        subject: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Result<Message, String>, LinkError> {
        self.request(what, subject, headers, &[body], Instant::now());
        match poll_fn(|cx| self.poll(cx)).await? {
            Event::Answer(_, message) => Ok(Ok(message)),
            Event::Told(_) => Err(self.refused(UNASKED.to_owned())),
            Event::Forbidden { text, .. } => {
                self.give_up();
                Ok(Err(text))
            }
        }
    }

    /// Expects no further answers: those to earlier requests would be taken for that to the next one.
    pub(super) fn give_up(&mut self) {
        self.flight.clear();
    }

    /// Sends a request.
    pub(in crate::store) fn request(
        &mut self,
        what: R,
        subject: &str,
        headers: &[(&str, &str)],
        parts: &[&[u8]],
        now: Instant,
    ) {
        self.numbers += 1;
        let reply = format!("{}.{}", self.inbox, self.numbers);
        wire::publish((subject, &reply), headers, parts, self.pipe.output());
        self.flight.insert(self.numbers, what);
        self.deadlines.push_back((now + DEADLINE, self.numbers));
        self.silence.asked(now);
    }

    /// Sends a message that nobody answers.
    pub(in crate::store) fn tell(&mut self, subject: &str, body: &[u8]) {
        wire::publish((subject, ""), &[], &[body], self.pipe.output());
    }

    /// Subscribes. Returns the number that messages of this subscription have.
    pub(in crate::store) fn subscribe(&mut self, subject: &str) -> u64 {
        self.numbers += 1;
        wire::subscribe(subject, self.numbers, self.pipe.output());
        self.numbers
    }

    /// Ends a subscription.
    pub(in crate::store) fn unsubscribe(&mut self, subscription: u64) {
        wire::unsubscribe(subscription, self.pipe.output());
    }

    /// Sends a ping, so that a living server says something.
    pub(in crate::store) fn ping(&mut self, now: Instant) {
        self.pipe.output().extend_from_slice(b"PING\r\n");
        self.silence.asked(now);
    }

    /// Ends the link at the next occasion, for this reason.
    pub(in crate::store) fn fail(&mut self, why: &str) {
        let error = self.refused(why.to_owned());
        self.failure.get_or_insert(error);
    }

    /// The same, for a reason that lasts until an operator does something.
    pub(in crate::store) fn fail_unfit(&mut self, why: &str) {
        let error = self.unfit(why.to_owned());
        self.failure.get_or_insert(error);
    }

    /// Lets the system drop what it has not sent when the connection is closed.
    pub(in crate::store) fn cut(&mut self) {
        self.pipe.drop_unsent();
    }

    /// Writes and reads, and returns what came. An error ends the link.
    pub(in crate::store) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Event<R>, LinkError>> {
        loop {
            if let Some(error) = self.failure.take() {
                return Poll::Ready(Err(error));
            }
            if let Some(event) = self.next() {
                return Poll::Ready(Ok(event));
            }
            match self.poll_bytes(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn next(&mut self) -> Option<Event<R>> {
        loop {
            match self.heard.pop_front()? {
                Heard::Message(message) if message.subscription == ANSWERS => {
                    let request = message.request;
                    let what = request.and_then(|request| self.flight.remove(&request));
                    // one that comes too late belongs to nothing
                    if let Some(what) = what {
                        return Some(Event::Answer(what, message));
                    }
                }
                Heard::Message(message) => return Some(Event::Told(message)),
                Heard::Pong => {}
                Heard::Servers(servers) => self.heed_servers(servers),
                Heard::Forbidden {
                    is_publish,
                    subject,
                    text,
                } => {
                    return Some(Event::Forbidden {
                        is_publish,
                        subject,
                        text,
                    });
                }
            }
        }
    }

    fn heed_servers(&mut self, servers: Vec<Server>) {
        if !servers.is_empty() {
            // they are told in any order
            let known: BTreeSet<_> = self.servers.iter().collect();
            let told: BTreeSet<_> = servers.iter().collect();
            self.is_disturbed |= known != told;
            self.servers = servers;
        }
    }

    /// Writes and reads once. Ready if anything was written or read.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        let wrote = self.pipe.poll_write(cx)?.is_ready();
        self.silence.wrote(Instant::now);
        let (reader, heard) = (&mut self.reader, &mut self.heard);
        let read = self.pipe.poll_read(cx, &mut |input, out| {
            reader.read(input, out, &mut |one| heard.push_back(one))
        })?;
        if read.is_ready() {
            self.silence.heard();
            // writes at once what reading has produced
            let _goes_on_later = self.pipe.poll_write(cx)?;
        }
        if wrote || read.is_ready() {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// When the next request must be answered, or when the server counts as lost if it says nothing before.
    pub(in crate::store) fn due(&mut self) -> Option<Instant> {
        let request = self.request_due();
        request.into_iter().chain(self.silence.ends_at()).min()
    }

    fn request_due(&mut self) -> Option<Instant> {
        while let Some((due, number)) = self.deadlines.front() {
            if self.flight.contains_key(number) {
                return Some(*due);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Takes the next request whose deadline has passed; fails if the server says nothing at all.
    pub(in crate::store) fn overdue(&mut self, now: Instant) -> Result<Option<R>, LinkError> {
        if self.silence.is_over(now) {
            return Err(LinkError::Silent(self.server().clone()));
        }
        if self.request_due().is_none_or(|due| due > now) {
            return Ok(None);
        }
        let late = self.deadlines.pop_front();
        Ok(late.and_then(|(_, number)| self.flight.remove(&number)))
    }

    /// Whether every request is answered.
    pub(in crate::store) fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// How many requests are not answered.
    pub(in crate::store) fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Whether little waits to be written.
    pub(in crate::store) fn has_room(&self) -> bool {
        self.pipe.pending() < MOST_OUTPUT
    }

    /// The most bytes of a message that the server accepts, with its headers.
    pub(in crate::store) fn most(&self) -> usize {
        self.most
    }

    /// The servers of its cluster, as the server has reported them.
    pub(in crate::store) fn servers(&self) -> Vec<Server> {
        self.servers.clone()
    }

    /// Why a stream cannot be used that has so many copies, if several nodes write under one subject. Older servers take two
    /// messages that name the same one as the newest.
    pub(super) fn refuses(&self, copies: Option<u64>) -> Option<&'static str> {
        let is_fit = copies.is_none_or(|copies| copies <= 1) || self.version >= Some(SERIAL);
        (!is_fit).then_some(
            "a stream of histories has copies, for which NATS 2.9.21 is needed: older servers keep two messages under one number",
        )
    }

    /// Whether a server has come to its cluster or has gone since the last call: what another one has told may be lost.
    pub(in crate::store) fn was_disturbed(&mut self) -> bool {
        std::mem::take(&mut self.is_disturbed)
    }

    pub(in crate::store) fn server(&self) -> &Server {
        self.pipe.server()
    }

    /// An error that lasts until an operator does something.
    pub(in crate::store) fn unfit(&self, why: String) -> LinkError {
        LinkError::Unfit(self.server().clone(), why)
    }

    /// An error that may pass by itself.
    pub(super) fn unready(&self, why: String) -> LinkError {
        LinkError::Unready(self.server().clone(), why)
    }

    /// An error with this reason.
    pub(in crate::store) fn refused(&self, why: String) -> LinkError {
        LinkError::wire(self.server(), WireError::Refused(why))
    }
}

/// Since this version the newest message of a subject is checked with those that are being copied.
const SERIAL: [u32; 3] = [2, 9, 21];

/// How long a request may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// Why a server is of no use that sends messages before there is a subscription.
const UNASKED: &str = "it answers what was not asked";

/// The number of the subscription to answers.
const ANSWERS: u64 = 1;

/// What a message may have in any case: other nodes may allow longer ones, and what is read is in base64.
const LEAST_LONGEST: usize = 64 * 1024 * 1024;

/// From this many bytes that are to be written on, no subscription and no read is added.
const MOST_OUTPUT: usize = 256 * 1024;

#[cfg(test)]
mod tests;
