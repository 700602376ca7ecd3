//! What the driver asks of the worker on JetStream.

use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::super::driver::{Connecting, Line, TARGET, Work};
use super::super::requests::Command;
use super::super::task::{PINGS, refuse};
use super::link::{Event, Link};
use super::setup;
use super::worker::{Request, Worker};
use crate::config::{Config, Server};
use crate::link_error::LinkError;
use crate::tls::Encryption;

impl<R> Line for Link<R> {
    type Event = Event<R>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event<R>, LinkError>> {
        Link::poll(self, cx)
    }

    fn due(&mut self) -> Option<Instant> {
        Link::due(self)
    }

    fn cut(&mut self) {
        Link::cut(self);
    }

    fn servers(&self) -> Vec<Server> {
        Link::servers(self)
    }
}

impl Work for Worker {
    type Link = Link<Request>;
    type Command = Command;

    fn connect(
        &self,
        server: Server,
        (config, encryption): (Config, Option<Encryption>),
    ) -> Connecting<Self::Link> {
        let streams = self.streams();
        Box::pin(async move {
            let mut link = Link::connect(&config, &server, encryption.as_ref()).await?;
            setup::prepare(&mut link, &setup::plans(&streams), || Request::Setup).await?;
            Ok(link)
        })
    }

    fn up(&mut self, link: &mut Self::Link, now: Instant) {
        tracing::info!(target: TARGET, server = %link.server(), "the store is ready");
        self.pings_at = now;
        Worker::up(self);
    }

    fn down(&mut self, _: Option<Self::Link>) {
        Worker::down(self);
    }

    fn heed(&mut self, link: Option<&mut Self::Link>) {
        self.heed_changes(link);
    }

    fn tick(
        &mut self,
        link: &mut Self::Link,
        now: Instant,
        is_ending: bool,
    ) -> Result<(), LinkError> {
        self.expire(link, now)?;
        if now >= self.pings_at {
            self.pings_at = now + PINGS;
            link.ping(now);
            if !is_ending {
                self.watch(link, now);
            }
        }
        if now >= self.sweeps_at {
            self.sweeps_at = now + SWEEPS;
            self.sweep(now);
        }
        self.pump(link, now);
        Ok(())
    }

    fn handle(&mut self, event: Event<Request>, link: &mut Self::Link, now: Instant) {
        Worker::handle(self, event, link, now);
    }

    fn has_room(&self, _: &Self::Link) -> bool {
        Worker::has_room(self)
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
        self.is_idle() && link.is_idle()
    }

    fn wakes_at(&self) -> Option<Instant> {
        let due = [self.pings_at, self.sweeps_at];
        self.retries_at().into_iter().chain(due).min()
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

/// How often publications are looked for that have waited too long.
const SWEEPS: Duration = Duration::from_secs(1);
