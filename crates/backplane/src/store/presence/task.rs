//! The task of members in a store: connects, lets the worker use the links, and connects again. Owns the clock and the order
//! of attempts.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};

use super::super::links::Links;
use super::roll::Roll;
use super::shared::Shared;
use super::worker::{Now, Request, Worker};
use crate::backoff::Backoff;
use crate::config::{Config, Server};
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::outlet::random;
use crate::servers::Servers;
use crate::tls::Encryption;

/// See the module. It runs on the backplane's thread.
pub struct AttendanceTask {
    config: Config,
    encryption: Option<Encryption>,
    shared: Arc<Shared>,
    worker: Worker,
    end: watch::Receiver<Option<Instant>>,
    /// The task ends when this node's members are removed, and at this time at the latest.
    ends_by: Option<Instant>,
}

impl fmt::Debug for AttendanceTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttendanceTask").finish_non_exhaustive()
    }
}

/// Why serving a link has ended.
enum Ending {
    Lost(LinkError),
    Asked,
}

impl AttendanceTask {
    pub(super) fn new(
        (config, encryption): (Config, Option<Encryption>),
        (shared, node, roll): (Arc<Shared>, u64, Arc<dyn Roll>),
        end: watch::Receiver<Option<Instant>>,
    ) -> Self {
        let worker = Worker::new(&config, (Arc::clone(&shared), node, roll), now());
        Self {
            config,
            encryption,
            shared,
            worker,
            end,
            ends_by: None,
        }
    }

    /// Runs until it is [ended](super::Attendance::end).
    pub async fn run(mut self) {
        let mut backoff = Backoff::default();
        let mut servers = Servers::new(self.config.servers.clone());
        while let Some(server) = servers.next() {
            let error = match self.connect(&server).await {
                None => break,
                Some(Err(error)) => error,
                Some(Ok(mut links)) => {
                    let since = Instant::now();
                    tracing::info!(target: TARGET, "the members of other nodes can be read");
                    self.set_connected(true);
                    self.worker.up(&mut links, now());
                    let ending = self.serve(&mut links).await;
                    match ending {
                        Ending::Asked => break,
                        Ending::Lost(error) => {
                            backoff.lasted(since.elapsed());
                            count(&self.shared.counters.losses, 1);
                            error
                        }
                    }
                }
            };
            self.set_connected(false);
            self.worker.down();
            tracing::warn!(target: TARGET, %error, "the members of other nodes cannot be read");
            if backoff.failures() == 0 {
                self.worker.report_loss(&error);
            }
            let wait = backoff.next(random());
            if self.meanwhile(sleep(wait)).await.is_none() {
                break;
            }
        }
        self.set_connected(false);
        self.worker.down();
    }

    fn set_connected(&self, is_connected: bool) {
        let counters = &self.shared.counters;
        counters.is_connected.store(is_connected, Ordering::Relaxed);
    }

    /// Connects; `None` if the task must end.
    async fn connect(&mut self, server: &Server) -> Option<Result<Links<Request>, LinkError>> {
        let config = self.config.clone();
        let encryption = self.encryption.clone();
        let links = Links::connect(&config, server, encryption.as_ref());
        let outcome = self.meanwhile(timeout(CONNECTING, links)).await?;
        Some(outcome.unwrap_or_else(|_| Err(LinkError::Silent(server.clone()))))
    }

    /// Waits for a future while there is no link; `None` if the task must end.
    async fn meanwhile<T>(&mut self, waits: impl Future<Output = T>) -> Option<T> {
        let mut waits = pin!(waits);
        loop {
            self.worker.heed();
            self.worker.flush();
            // what is in the store is removed when the session has ended there
            if self.ends_by.is_some() {
                return None;
            }
            tokio::select! {
                outcome = &mut waits => return Some(outcome),
                () = self.shared.noted.notified() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
            }
        }
    }

    /// Serves a link until it is lost, or until the task must end and this node's members are removed.
    async fn serve(&mut self, links: &mut Links<Request>) -> Ending {
        loop {
            self.worker.heed();
            if let Err(error) = self.worker.expire(links, now()) {
                return Ending::Lost(error);
            }
            if self.ends_by.is_some() {
                self.worker.leave(links, now());
            }
            self.worker.pump(links, now());
            self.worker.flush();
            let is_over =
                |deadline| Instant::now() >= deadline || self.worker.has_left() && links.is_idle();
            if self.ends_by.is_some_and(is_over) {
                return Ending::Asked;
            }
            let wakes_at = self.wakes_at(links);
            tokio::select! {
                event = poll_fn(|cx| links.poll(cx)) => {
                    match event {
                        Ok(event) => self.worker.handle(event, links, now()),
                        Err(error) => return Ending::Lost(error),
                    }
                    if let Err(error) = self.catch_up(links).await {
                        return Ending::Lost(error);
                    }
                }
                () = self.shared.noted.notified() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    /// Handles what else has come already, so that the node wakes its sockets once for all of it.
    async fn catch_up(&mut self, links: &mut Links<Request>) -> Result<(), LinkError> {
        for _ in 0..MOST_AT_ONCE {
            match poll_fn(|cx| Poll::Ready(links.poll(cx))).await {
                Poll::Ready(Ok(event)) => self.worker.handle(event, links, now()),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    fn wakes_at(&self, links: &Links<Request>) -> Instant {
        let others = [links.due(), self.worker.wakes_at(), self.ends_by];
        let others = others.into_iter().flatten();
        others.fold(Instant::now() + LONGEST_SLEEP, Instant::min)
    }

    /// Handles the request to end. `is_told`: it was requested; otherwise the handle is gone.
    fn heed_end(&mut self, is_told: bool) {
        let told = *self.end.borrow_and_update();
        self.ends_by = told.filter(|_| is_told).or(Some(Instant::now()));
    }
}

fn now() -> Now {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_ms = unix.map_or(0, |unix| unix.as_millis());
    Now {
        unix_ms: u64::try_from(unix_ms).unwrap_or(u64::MAX),
        at: Instant::now(),
    }
}

/// The deadline for connecting, including the server's hello.
const CONNECTING: Duration = Duration::from_secs(5);

const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// How much is handled before the node may wake its sockets.
const MOST_AT_ONCE: usize = 256;

const TARGET: &str = "millrace::backplane";
