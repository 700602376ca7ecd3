//! The store's task: connects, lets the worker use the link, and connects again. Owns the clock, the queue and the order of
//! attempts.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, sleep_until, timeout};

use super::feed::{Feed, StoreError};
use super::jetstream;
use super::links::Links;
use super::requests::Command;
use super::shared::Shared;
use super::worker::{Request, Worker};
use crate::backoff::Backoff;
use crate::config::{Config, Protocol, Server};
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::outlet::random;
use crate::servers::Servers;
use crate::tls::Encryption;

/// The task of a store, which runs on the backplane's thread.
pub struct StoreTask(Kind);

enum Kind {
    Redis(Box<Task>),
    Nats(Box<jetstream::Task>),
}

/// The task of a store on Redis.
struct Task {
    config: Config,
    encryption: Option<Encryption>,
    shared: Arc<Shared>,
    worker: Worker,
    commands: mpsc::Receiver<Command>,
    end: watch::Receiver<Option<Instant>>,
    /// The task ends when everything is answered, and at this time at the latest.
    ends_by: Option<Instant>,
    pings_at: Instant,
}

impl fmt::Debug for StoreTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreTask").finish_non_exhaustive()
    }
}

/// Why serving a link has ended.
enum Ending {
    Lost(LinkError),
    Asked,
}

impl StoreTask {
    pub(super) fn new(
        server: (Config, Option<Encryption>),
        node: (Arc<Shared>, u64, Arc<dyn Feed>),
        queue: (mpsc::Receiver<Command>, watch::Receiver<Option<Instant>>),
    ) -> Self {
        Self(match server.0.protocol {
            Protocol::Nats => Kind::Nats(Box::new(jetstream::Task::new(server, node, queue))),
            Protocol::Redis | Protocol::RedisCluster => {
                Kind::Redis(Box::new(Task::new(server, node, queue)))
            }
        })
    }

    /// Runs until it is [ended](super::Store::end).
    pub async fn run(self) {
        match self.0 {
            Kind::Redis(task) => task.run().await,
            Kind::Nats(task) => task.run().await,
        }
    }
}

impl Task {
    fn new(
        (config, encryption): (Config, Option<Encryption>),
        (shared, node, feed): (Arc<Shared>, u64, Arc<dyn Feed>),
        (commands, end): (mpsc::Receiver<Command>, watch::Receiver<Option<Instant>>),
    ) -> Self {
        let worker = Worker::new(&config, Arc::clone(&shared), node, feed);
        Self {
            config,
            encryption,
            shared,
            worker,
            commands,
            end,
            ends_by: None,
            pings_at: Instant::now(),
        }
    }

    async fn run(mut self) {
        let mut backoff = Backoff::default();
        let mut servers = Servers::new(self.config.servers.clone());
        while let Some(server) = servers.next() {
            let error = match self.connect(&server).await {
                None => break,
                Some(Err(error)) => error,
                Some(Ok(mut link)) => {
                    let since = Instant::now();
                    let server = link.server().map(ToString::to_string);
                    tracing::info!(target: TARGET, server, "the store is ready");
                    self.worker.up(&mut link, since);
                    let ending = self.serve(&mut link).await;
                    self.worker.down(Some(link));
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
            self.worker.down(None);
            tracing::warn!(target: TARGET, %error, "the store is lost");
            if backoff.failures() == 0 {
                self.worker.report_loss(&error);
            }
            let wait = backoff.next(random());
            if self.meanwhile(sleep(wait)).await.is_none() {
                break;
            }
        }
        self.finish();
    }

    /// Connects; `None` if the task must end.
    async fn connect(&mut self, server: &Server) -> Option<Result<Links<Request>, LinkError>> {
        let config = self.config.clone();
        let encryption = self.encryption.clone();
        let link = Links::connect(&config, server, encryption.as_ref());
        let outcome = self.meanwhile(timeout(CONNECTING, link)).await?;
        Some(outcome.unwrap_or_else(|_| Err(LinkError::Silent(server.clone()))))
    }

    /// Waits for a future while there is no link; `None` if the task must end. Requests are answered at once, but wait for
    /// the end of the first attempt to connect.
    async fn meanwhile<T>(&mut self, waits: impl Future<Output = T>) -> Option<T> {
        let mut waits = pin!(waits);
        loop {
            self.worker.heed_changes();
            self.worker.flush();
            let answers = self.worker.is_away();
            if self.ends_by.is_some_and(|deadline| {
                Instant::now() >= deadline || answers || self.commands.is_empty()
            }) {
                return None;
            }
            let wakes_at = self.ends_by.unwrap_or_else(|| Instant::now() + PINGS);
            tokio::select! {
                outcome = &mut waits => return Some(outcome),
                command = self.commands.recv(), if answers => match command {
                    Some(command) => self.refuse(command),
                    None => self.heed_end(false),
                },
                () = self.shared.changed.notified() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    fn refuse(&mut self, command: Command) {
        if matches!(command, Command::Publish(_)) {
            count(&self.shared.counters.failed, 1);
        }
        command.fail(StoreError::Away);
    }

    /// Serves a link until it is lost, or until the task must end and everything is answered.
    async fn serve(&mut self, link: &mut Links<Request>) -> Ending {
        self.pings_at = Instant::now() + PINGS;
        loop {
            let now = Instant::now();
            self.worker.heed_changes();
            if let Err(error) = self.worker.expire(link, now) {
                return Ending::Lost(error);
            }
            if now >= self.pings_at {
                self.pings_at = now + PINGS;
                link.ping(|| Request::Other, now);
            }
            self.worker.pump(link, now);
            self.worker.flush();
            let is_answered = || self.commands.is_empty() && link.is_idle();
            if self
                .ends_by
                .is_some_and(|deadline| now >= deadline || is_answered())
            {
                return Ending::Asked;
            }
            let has_room = self.worker.has_room(link);
            let wakes_at = self.wakes_at(link);
            tokio::select! {
                event = poll_fn(|cx| link.poll(cx)) => {
                    let now = Instant::now();
                    match event {
                        Ok(event) => self.worker.handle(event, link, now),
                        Err(error) => return Ending::Lost(error),
                    }
                    if let Err(error) = self.catch_up(link, now).await {
                        return Ending::Lost(error);
                    }
                }
                command = self.commands.recv(), if has_room => match command {
                    Some(command) => self.take(command, link),
                    None => self.heed_end(false),
                },
                () = self.shared.changed.notified() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    /// Handles what else has come already, so that the node wakes its sockets once for all of it.
    async fn catch_up(&mut self, link: &mut Links<Request>, now: Instant) -> Result<(), LinkError> {
        for _ in 0..MOST_AT_ONCE {
            match poll_fn(|cx| Poll::Ready(link.poll(cx))).await {
                Poll::Ready(Ok(event)) => self.worker.handle(event, link, now),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// Sends a request, and those that wait behind it.
    fn take(&mut self, command: Command, link: &mut Links<Request>) {
        let now = Instant::now();
        self.worker.take(command, link, now);
        for _ in 0..MOST_AT_ONCE {
            if !self.worker.has_room(link) {
                break;
            }
            let Ok(command) = self.commands.try_recv() else {
                break;
            };
            self.worker.take(command, link, now);
        }
    }

    fn wakes_at(&self, link: &Links<Request>) -> Instant {
        let others = [link.due(), self.worker.retries_at(), self.ends_by];
        let others = others.into_iter().flatten();
        others.fold(self.pings_at, Instant::min)
    }

    /// Handles the request to end. `is_told`: it was requested; otherwise the handle is gone.
    fn heed_end(&mut self, is_told: bool) {
        let told = *self.end.borrow_and_update();
        self.ends_by = told.filter(|_| is_told).or(Some(Instant::now()));
    }

    /// Answers everything that still waits.
    fn finish(&mut self) {
        self.worker.down(None);
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            self.refuse(command);
        }
        self.worker.flush();
    }
}

/// The deadline for connecting, including the server's hello.
const CONNECTING: Duration = Duration::from_secs(5);

/// How often a server is pinged.
const PINGS: Duration = Duration::from_secs(5);

/// How much is handled before the node may wake its sockets.
const MOST_AT_ONCE: usize = 256;

const TARGET: &str = "millrace::backplane";
