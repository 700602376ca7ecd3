//! The task of a store, and what its driver asks of the worker on Redis.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, watch};

use super::driver::{Connecting, Driver, Line, TARGET, Work};
use super::feed::{Feed, StoreError};
use super::jetstream;
use super::link::Event;
use super::links::Links;
use super::requests::Command;
use super::shared::Shared;
use super::worker::{Request, Worker};
use crate::config::{Config, Protocol, Server};
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::silence;
use crate::tls::Encryption;

/// The task of a store, which runs on the backplane's thread.
pub struct StoreTask(Kind);

enum Kind {
    Redis(Box<Driver<Worker>>),
    Nats(Box<Driver<jetstream::Worker>>),
}

impl fmt::Debug for StoreTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreTask").finish_non_exhaustive()
    }
}

impl StoreTask {
    pub(super) fn new(
        server: (Config, Option<Encryption>),
        (shared, node, feed): (Arc<Shared>, u64, Arc<dyn Feed>),
        (commands, end): (mpsc::Receiver<Command>, watch::Receiver<Option<Instant>>),
    ) -> Self {
        let commands = Some(commands);
        Self(match server.0.protocol {
            Protocol::Nats => {
                let worker = jetstream::Worker::new(&server.0, shared, (node, feed));
                Kind::Nats(Box::new(Driver::new(server, worker, commands, end)))
            }
            Protocol::Redis | Protocol::RedisCluster => {
                let worker = Worker::new(&server.0, shared, node, feed);
                Kind::Redis(Box::new(Driver::new(server, worker, commands, end)))
            }
        })
    }

    /// Runs until it is [ended](super::Store::end).
    pub async fn run(self) {
        match self.0 {
            Kind::Redis(driver) => driver.run().await,
            Kind::Nats(driver) => driver.run().await,
        }
    }
}

impl<R> Line for Links<R> {
    type Event = Event<R>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event<R>, LinkError>> {
        Links::poll(self, cx)
    }

    fn due(&mut self) -> Option<Instant> {
        Links::due(self)
    }

    fn cut(&mut self) {
        Links::cut(self);
    }
}

impl Work for Worker {
    type Link = Links<Request>;
    type Command = Command;

    fn connect(
        &self,
        server: Server,
        (config, encryption): (Config, Option<Encryption>),
    ) -> Connecting<Self::Link> {
        Box::pin(async move { Links::connect(&config, &server, encryption.as_ref()).await })
    }

    fn up(&mut self, link: &mut Self::Link, now: Instant) {
        let server = link.server().map(ToString::to_string);
        tracing::info!(target: TARGET, server, "the store is ready");
        self.pings_at = now + PINGS;
        Worker::up(self, link, now);
    }

    fn down(&mut self, link: Option<Self::Link>) {
        Worker::down(self, link);
    }

    fn heed(&mut self, _: Option<&mut Self::Link>) {
        self.heed_changes();
    }

    fn tick(&mut self, link: &mut Self::Link, now: Instant, _: bool) -> Result<(), LinkError> {
        self.expire(link, now)?;
        if now >= self.pings_at {
            self.pings_at = now + PINGS;
            link.ping(|| Request::Other, now);
        }
        self.pump(link, now);
        Ok(())
    }

    fn handle(&mut self, event: Event<Request>, link: &mut Self::Link, now: Instant) {
        Worker::handle(self, event, link, now);
    }

    fn has_room(&self, link: &Self::Link) -> bool {
        Worker::has_room(self, link)
    }

    fn take(&mut self, command: Command, link: &mut Self::Link, now: Instant) {
        Worker::take(self, command, link, now);
    }

    fn refuse(&mut self, command: Command) {
        refuse(self.shared(), command);
    }

    fn is_away(&self) -> bool {
        Worker::is_away(self)
    }

    fn is_done(&self, link: &Self::Link) -> bool {
        link.is_idle()
    }

    fn wakes_at(&self) -> Option<Instant> {
        self.retries_at().into_iter().chain([self.pings_at]).min()
    }

    fn flush(&mut self) {
        Worker::flush(self);
    }

    fn signals(&self) -> (&Notify, &AtomicU64) {
        self.shared().signals()
    }

    const LOST: &'static str = "the store is lost";

    fn report_loss(&self, error: &LinkError) {
        Worker::report_loss(self, error);
    }
}

/// Refuses a request, because there is no link.
pub(super) fn refuse(shared: &Shared, command: Command) {
    if matches!(command, Command::Publish(_)) {
        count(&shared.counters.failed, 1);
    }
    command.fail(StoreError::Away);
}

/// How often a server is pinged: more often than its [silence] ends a link, because a server that is well may
/// wait for another one of its cluster before it answers anything else.
pub(super) const PINGS: Duration = Duration::from_secs(4);

const _: () = assert!(PINGS.as_millis() < silence::LONGEST.as_millis());
