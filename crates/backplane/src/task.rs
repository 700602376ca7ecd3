//! The backplane's task: connects, lets the node work with its links, and reconnects. Owns the clock and the order of
//! attempts.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::coop::has_budget_remaining;
use tokio::task::yield_now;
use tokio::time::{sleep, sleep_until, timeout};

use crate::backoff::Backoff;
use crate::config::{Config, Protocol, Server};
use crate::gauges::{Gauges, Stats, count};
use crate::link_error::LinkError;
use crate::links::Links;
use crate::local::{Local, Trouble};
use crate::members::{ClusterInfo, Reply};
use crate::node::Node;
use crate::outlet::{Outlet, random};
use crate::servers::Servers;
use crate::tls::{Encryption, TlsError};

/// A node's handle on its backplane.
#[derive(Debug)]
pub struct Backplane {
    outlet: Arc<Outlet>,
    gauges: Arc<Gauges>,
    questions: mpsc::Sender<Question>,
    end: watch::Sender<Option<Instant>>,
}

/// The task of a backplane, which needs a thread of its own.
#[derive(Debug)]
pub struct Task {
    config: Config,
    encryption: Option<Encryption>,
    outlet: Arc<Outlet>,
    gauges: Arc<Gauges>,
    questions: mpsc::Receiver<Question>,
    end: watch::Receiver<Option<Instant>>,
    epoch: Instant,
    /// The task ends when everything is sent, and at this time at the latest.
    ends_by: Option<Instant>,
}

/// A query for the subscribers of these channels, with its callback.
struct Question(Vec<Box<[u8]>>, Reply);

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Question")
            .field(&self.0)
            .finish_non_exhaustive()
    }
}

impl Backplane {
    /// Makes a backplane and its task, which must be run. The task opens the outlet.
    pub fn new(config: Config, outlet: &Arc<Outlet>) -> Result<(Self, Task), TlsError> {
        let encryption = match &config.tls {
            Some(tls) if config.protocol == Protocol::Nats => {
                Some(Encryption::new(tls, &config.servers)?)
            }
            Some(tls) => Some(Encryption::new(tls, &[])?),
            None => None,
        };
        outlet.begin(config.bounds);
        let epoch = Instant::now();
        let gauges = Arc::new(Gauges::new(epoch));
        let (asked, questions) = mpsc::channel(QUESTIONS);
        let (told, end) = watch::channel(None);
        let task = Task {
            config,
            encryption,
            outlet: Arc::clone(outlet),
            gauges: Arc::clone(&gauges),
            questions,
            end,
            epoch,
            ends_by: None,
        };
        let backplane = Self {
            outlet: Arc::clone(outlet),
            gauges,
            questions: asked,
            end: told,
        };
        Ok((backplane, task))
    }

    /// The outlet for messages.
    pub fn outlet(&self) -> &Arc<Outlet> {
        &self.outlet
    }

    /// The state and the counters.
    pub fn stats(&self) -> Stats {
        let mut stats = self.gauges.stats(Instant::now());
        let backlog = self.outlet.backlog();
        stats.queued = backlog.messages;
        stats.queued_bytes = backlog.bytes;
        stats.dropped = backlog.dropped;
        stats.waits = backlog.waits;
        stats
    }

    /// Queries all nodes for the numbers of subscribers of these channels. `reply` is called within about a second. If
    /// there are too many queries already, it is called at once without a result.
    pub fn ask(&self, channels: Vec<Box<[u8]>>, reply: Reply) {
        if let Err(
            mpsc::error::TrySendError::Full(question) | mpsc::error::TrySendError::Closed(question),
        ) = self.questions.try_send(Question(channels, reply))
        {
            let Question(_, reply) = question;
            reply(ClusterInfo::default());
        }
    }

    /// Ends the task when everything is sent, and at `deadline` at the latest.
    pub fn end(&self, deadline: Instant) {
        self.end.send_replace(Some(deadline));
    }
}

/// Why serving a link has ended.
enum Ending {
    Lost(LinkError),
    Asked,
}

impl Task {
    /// Runs until it is [ended](Backplane::end).
    pub async fn run(mut self, local: Box<dyn Local>) {
        let outlet = Arc::clone(&self.outlet);
        let gauges = Arc::clone(&self.gauges);
        let mut node = Node::new(outlet, gauges, local, &self.config.prefix);
        let mut backoff = Backoff::default();
        let mut was_out = false;
        let mut servers = Servers::new(self.config.servers.clone());
        while let Some(server) = servers.next() {
            let error = match self.connect(&mut node, &server).await {
                None => break,
                Some(Err(error)) => {
                    was_out = true;
                    error
                }
                Some(Ok(mut links)) => {
                    let since = self.now();
                    let server = links.first().map(|link| link.server().to_string());
                    tracing::info!(target: TARGET, server, "ready");
                    node.up(std::mem::take(&mut was_out), since);
                    self.gauges.set_up(true, Instant::now());
                    node.tell_ready();
                    match self.serve(&mut node, links).await {
                        Ending::Asked => break,
                        Ending::Lost(error) => {
                            backoff.lasted(self.now().saturating_sub(since));
                            count(&self.gauges.counters.losses, 1);
                            error
                        }
                    }
                }
            };
            if let Some(reported) = node.take_servers() {
                servers.report(reported);
            }
            self.gauges.set_up(false, Instant::now());
            tracing::warn!(target: TARGET, %error, "lost");
            if backoff.failures() == 0 {
                let message = format!("no link to the other nodes; it is tried again: {error}");
                node.report(Trouble::Lost, &message);
            }
            let wait = backoff.next(random());
            if self.meanwhile(&mut node, sleep(wait)).await.is_none() {
                break;
            }
        }
        node.abandon();
    }

    /// Connects; `None` if the task must end.
    async fn connect(
        &mut self,
        node: &mut Node,
        server: &Server,
    ) -> Option<Result<Links, LinkError>> {
        let config = self.config.clone();
        let encryption = self.encryption.clone();
        let links = Links::connect(&config, server, encryption.as_ref());
        let outcome = self.meanwhile(node, timeout(CONNECTING, links)).await?;
        Some(outcome.unwrap_or_else(|_| Err(LinkError::Silent(server.clone()))))
    }

    /// Waits for a future while there is no link; `None` if the task must end.
    async fn meanwhile<T>(&mut self, node: &mut Node, waits: impl Future<Output = T>) -> Option<T> {
        let mut waits = pin!(waits);
        loop {
            let now = self.now();
            node.relieve(now);
            node.heed(now);
            if self.is_over(node) {
                return None;
            }
            let wakes_at = node.publish_timeout_ends(now).unwrap_or(now + PINGS);
            let mut wakes_at = self.epoch + wakes_at;
            if let Some(deadline) = self.ends_by {
                wakes_at = wakes_at.min(deadline);
            }
            tokio::select! {
                outcome = &mut waits => return Some(outcome),
                question = self.questions.recv() => self.ask(question, node, false),
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = self.outlet.rung() => {}
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    /// Whether the task must end and everything is done or the deadline has passed.
    fn is_over(&self, node: &Node) -> bool {
        self.ends_by.is_some_and(|deadline| {
            let is_empty = self.outlet.backlog().messages == 0 && !node.has_messages();
            is_empty || Instant::now() >= deadline
        })
    }

    fn ask(&mut self, question: Option<Question>, node: &mut Node, is_up: bool) {
        match question {
            Some(Question(channels, reply)) => node.ask_all(channels, reply, is_up, self.now()),
            None => self.heed_end(false),
        }
    }

    /// Handles the request to end. `is_told`: it was requested; otherwise the handle is gone.
    fn heed_end(&mut self, is_told: bool) {
        let told = *self.end.borrow_and_update();
        self.ends_by = told.filter(|_| is_told).or(Some(Instant::now()));
    }

    /// Serves a link until it is lost, or until the task must end and everything is sent.
    async fn serve(&mut self, node: &mut Node, mut links: Links) -> Ending {
        let mut pings_at = self.now() + PINGS;
        let mut has_said_bye = false;
        let ending = loop {
            let now = self.now();
            if let Err(error) = heed(&mut links, node, now).await {
                break Ending::Lost(error);
            }
            node.expire(now);
            let reads = !node.is_congested();
            // while nothing is read, no answer can be seen
            if now >= pings_at && reads {
                pings_at = now + PINGS;
                if let Err(error) = self.ping(&mut links, node, now).await {
                    break Ending::Lost(error);
                }
            }
            if reads
                && node.gives_up(now)
                && let Err(error) = read_ahead(&mut links, node, now).await
            {
                break Ending::Lost(error);
            }
            node.pump(&mut links, now);
            if self.is_over(node) {
                let is_sent = !node.has_next() && links.unconfirmed() == 0 && links.is_written();
                if is_sent && !std::mem::replace(&mut has_said_bye, true) {
                    node.say_bye();
                    continue;
                }
                if is_sent
                    || self
                        .ends_by
                        .is_some_and(|deadline| Instant::now() >= deadline)
                {
                    break Ending::Asked;
                }
            }
            let mut wakes_at = node.wakes_at(now);
            wakes_at = wakes_at.min(if reads { pings_at } else { now + CONGESTION });
            let mut wakes_at = self.epoch + wakes_at;
            if let Some(deadline) = self.ends_by {
                wakes_at = wakes_at.min(deadline);
            }
            tokio::select! {
                outcome = poll_fn(|cx| links.poll(cx, reads, &mut |event| node.handle(event, now))) => {
                    node.flush();
                    if let Err(error) = outcome {
                        break Ending::Lost(error);
                    }
                }
                question = self.questions.recv() => self.ask(question, node, true),
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = self.outlet.rung() => {}
                () = sleep_until(wakes_at.into()) => {}
            }
            if !node.fits(&mut links) {
                let first = links.first().map(|link| link.server().clone());
                if let Some(server) = first {
                    break Ending::Lost(LinkError::NoCluster(server));
                }
            }
        };
        node.down(links.unconfirmed());
        if matches!(ending, Ending::Asked) {
            let _closed_anyway = timeout(CLOSING, links.close()).await;
        }
        ending
    }

    /// Pings every server; fails if one has not answered the last ping.
    async fn ping(
        &self,
        links: &mut Links,
        node: &mut Node,
        now: Duration,
    ) -> Result<(), LinkError> {
        let at = self.epoch + now;
        if links.silent(at).is_some() {
            read_ahead(links, node, now).await?;
            if let Some(silent) = links.silent(at) {
                return Err(LinkError::Silent(silent.clone()));
            }
        }
        links.ping(at);
        Ok(())
    }

    /// The time since the task was made.
    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }
}

/// Handles changes on this node. If publishers have waited for too long, what came while this thread was not scheduled is read
/// first: the link may have room for what they wait with.
async fn heed(links: &mut Links, node: &mut Node, now: Duration) -> Result<(), LinkError> {
    let is_late = node
        .publish_timeout_ends(now)
        .is_some_and(|ends| ends <= now);
    if is_late && !node.is_congested() {
        read_ahead(links, node, now).await?;
        // subscriptions go before the messages behind them
        node.heed(now);
        node.pump(links, now);
    }
    node.relieve(now);
    node.heed(now);
    Ok(())
}

/// Reads what came while this thread was not scheduled: a busy machine may delay it beyond a deadline.
async fn read_ahead(links: &mut Links, node: &mut Node, now: Duration) -> Result<(), LinkError> {
    // before that, the runtime has not asked the system what has come
    yield_now().await;
    for _ in 0..MOST_READ_AHEAD {
        let read =
            poll_fn(|cx| Poll::Ready(links.poll(cx, true, &mut |event| node.handle(event, now))));
        match read.await {
            Poll::Ready(outcome) => outcome?,
            Poll::Pending if has_budget_remaining() => break,
            // it lets all tasks of this thread together read only so much in one turn
            Poll::Pending => yield_now().await,
        }
        node.flush();
    }
    Ok(())
}

/// The most consecutive reads, so that a peer that never stops sending cannot prevent the end of the wait.
const MOST_READ_AHEAD: usize = 64;

/// The deadline for connecting, including the server's hello.
const CONNECTING: Duration = Duration::from_secs(5);

/// How often a server is pinged. It has the same time to answer.
const PINGS: Duration = Duration::from_secs(5);

/// How long reading pauses when this node has too many deliveries.
const CONGESTION: Duration = Duration::from_millis(2);

/// The deadline for closing.
const CLOSING: Duration = Duration::from_millis(200);

/// The most queries that wait for the task.
const QUESTIONS: usize = 1024;

const TARGET: &str = "millrace::backplane";
