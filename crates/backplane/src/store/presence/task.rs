//! The task of members in a store, and what its driver asks of the worker. Owns the clock.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, watch};

use super::super::driver::{Connecting, Driver, TARGET, Work};
use super::nats::NatsRegister;
use super::redis::RedisRegister;
use super::register::{Event, Register};
use super::roll::Roll;
use super::shared::Shared;
use super::worker::{Now, Worker};
use crate::config::{Config, Protocol, Server};
use crate::link_error::LinkError;
use crate::tls::Encryption;

/// See the module. It runs on the backplane's thread.
pub struct AttendanceTask(Box<Driver<Worker>>);

impl fmt::Debug for AttendanceTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttendanceTask").finish_non_exhaustive()
    }
}

impl AttendanceTask {
    pub(super) fn new(
        server: (Config, Option<Encryption>),
        (shared, node, roll): (Arc<Shared>, u64, Arc<dyn Roll>),
        end: watch::Receiver<Option<Instant>>,
    ) -> Self {
        let worker = Worker::new((shared, node, roll), now(Instant::now()));
        Self(Box::new(Driver::new(server, worker, None, end)))
    }

    /// Runs until it is [ended](super::Attendance::end).
    pub async fn run(self) {
        self.0.run().await;
    }
}

impl Work for Worker {
    type Link = Box<dyn Register>;
    /// What a node wants is noted.
    type Command = Infallible;

    fn connect(
        &self,
        server: Server,
        (config, encryption): (Config, Option<Encryption>),
    ) -> Connecting<Self::Link> {
        Box::pin(async move {
            let encryption = encryption.as_ref();
            let register: Box<dyn Register> = match config.protocol {
                Protocol::Nats => {
                    Box::new(NatsRegister::connect(&config, &server, encryption).await?)
                }
                Protocol::Redis | Protocol::RedisCluster => {
                    Box::new(RedisRegister::connect(&config, &server, encryption).await?)
                }
            };
            tracing::info!(target: TARGET, %server, "the members of other nodes can be read");
            Ok(register)
        })
    }

    fn up(&mut self, link: &mut Self::Link, at: Instant) {
        self.set_connected(true);
        Worker::up(self, &mut **link, now(at));
    }

    fn down(&mut self, _: Option<Self::Link>) {
        self.set_connected(false);
        Worker::down(self);
    }

    fn heed(&mut self, _: Option<&mut Self::Link>) {
        Worker::heed(self);
    }

    fn tick(
        &mut self,
        link: &mut Self::Link,
        at: Instant,
        is_ending: bool,
    ) -> Result<(), LinkError> {
        let (register, now) = (&mut **link, now(at));
        self.expire(register, now)?;
        if is_ending {
            self.leave(register, now);
        }
        self.pump(register, now);
        Ok(())
    }

    fn handle(&mut self, event: Event, link: &mut Self::Link, at: Instant) {
        Worker::handle(self, event, &mut **link, now(at));
    }

    fn has_room(&self, _: &Self::Link) -> bool {
        false
    }

    fn take(&mut self, command: Infallible, _: &mut Self::Link, _: Instant) {
        match command {}
    }

    fn refuse(&mut self, command: Infallible) {
        match command {}
    }

    fn is_away(&self) -> bool {
        false
    }

    fn is_done(&self, link: &Self::Link) -> bool {
        self.has_left() && link.is_idle()
    }

    fn wakes_at(&self) -> Option<Instant> {
        Worker::wakes_at(self)
    }

    fn flush(&mut self) {
        Worker::flush(self);
    }

    fn signals(&self) -> (&Notify, &AtomicU64) {
        let shared = self.shared();
        (&shared.noted, &shared.counters.losses)
    }

    const LOST: &'static str = "the members of other nodes cannot be read";

    fn report_loss(&self, error: &LinkError) {
        Worker::report_loss(self, error);
    }
}

impl Worker {
    fn set_connected(&self, is_connected: bool) {
        let counters = &self.shared().counters;
        counters.is_connected.store(is_connected, Ordering::Relaxed);
    }
}

fn now(at: Instant) -> Now {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_ms = unix.map_or(0, |unix| unix.as_millis());
    Now {
        unix_ms: u64::try_from(unix_ms).unwrap_or(u64::MAX),
        at,
    }
}
