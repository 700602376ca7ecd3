//! The loop of a store's task: connects, lets the worker use the link, and connects again. Owns the order of attempts, the
//! queue and when the task ends; knows no protocol.

mod news;

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{coop::has_budget_remaining, yield_now};
use tokio::time::{sleep, sleep_until, timeout};

use crate::backoff::Backoff;
use crate::config::{Config, Server};
use crate::gauges::count;
use crate::link_error::LinkError;
use crate::outlet::random;
use crate::servers::Servers;
use crate::tls::Encryption;
use news::News;

/// A connection to a server, or those to the servers of a cluster.
pub(super) trait Line {
    /// What comes from there.
    type Event;

    /// Writes and reads, and returns what came. An error ends the link.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Event, LinkError>>;

    /// When the next request must be answered, or when the server counts as lost if it says nothing before.
    fn due(&mut self) -> Option<Instant>;

    /// The link is lost: what the system has not sent yet must not come after what the next link sends.
    fn cut(&mut self);

    /// The servers of a cluster that has told them, which are tried, too.
    fn servers(&self) -> Vec<Server> {
        Vec::new()
    }
}

/// What is done with the link.
pub(super) trait Work {
    /// The link.
    type Link: Line;

    /// What the node asks for.
    type Command;

    /// Makes a link that can be used at once.
    fn connect(&self, server: Server, with: (Config, Option<Encryption>))
    -> Connecting<Self::Link>;

    /// There is a link.
    fn up(&mut self, link: &mut Self::Link, now: Instant);

    /// There is no link: nothing of the last one will be answered.
    fn down(&mut self, link: Option<Self::Link>);

    /// Looks at what the node has noted.
    fn heed(&mut self, link: Option<&mut Self::Link>);

    /// Gives up on what was not answered in time, and sends what is due. `is_ending`: what is left behind on the server is
    /// removed. An error ends the link.
    fn tick(
        &mut self,
        link: &mut Self::Link,
        now: Instant,
        is_ending: bool,
    ) -> Result<(), LinkError>;

    /// What came from the server.
    fn handle(&mut self, event: <Self::Link as Line>::Event, link: &mut Self::Link, now: Instant);

    /// Whether another command may be taken.
    fn has_room(&self, link: &Self::Link) -> bool;

    /// Takes a command.
    fn take(&mut self, command: Self::Command, link: &mut Self::Link, now: Instant);

    /// Refuses a command, because there is no link.
    fn refuse(&mut self, command: Self::Command);

    /// Whether commands are refused while there is no link: they wait until each of the given servers was tried.
    fn is_away(&self) -> bool;

    /// Whether everything is answered.
    fn is_done(&self, link: &Self::Link) -> bool;

    /// When there is something to do if nothing happens before.
    fn wakes_at(&self) -> Option<Instant>;

    /// Lets the node wake who was told something.
    fn flush(&mut self);

    /// What is notified when the node has noted something, and how often the link was lost.
    fn signals(&self) -> (&Notify, &AtomicU64);

    /// What the log says when the link is lost.
    const LOST: &'static str;

    /// Tells an operator that the link was lost, or could not be made.
    fn report_loss(&self, error: &LinkError);

    /// Waits until the node has noted something.
    fn noted(&self) -> Notified<'_> {
        self.signals().0.notified()
    }

    /// Counts a link that was lost.
    fn count_loss(&self) {
        count(self.signals().1, 1);
    }

    /// Tells that the link was lost, or could not be made. `is_news`: an operator does not know it yet.
    fn tell_loss(&self, error: &LinkError, is_news: bool) {
        tracing::warn!(target: TARGET, %error, "{}", Self::LOST);
        if is_news {
            self.report_loss(error);
        }
    }
}

/// A link that is being made.
pub(super) type Connecting<L> = Pin<Box<dyn Future<Output = Result<L, LinkError>>>>;

/// See the module.
pub(super) struct Driver<W: Work> {
    config: Config,
    encryption: Option<Encryption>,
    worker: W,
    /// `None`: the node asks for nothing.
    commands: Option<mpsc::Receiver<W::Command>>,
    end: watch::Receiver<Option<Instant>>,
    /// The task ends when everything is done, and at this time at the latest.
    ends_by: Option<Instant>,
}

/// Why serving a link has ended.
enum Ending {
    Lost(LinkError),
    Asked,
}

impl<W: Work> Driver<W> {
    pub(super) fn new(
        (config, encryption): (Config, Option<Encryption>),
        worker: W,
        commands: Option<mpsc::Receiver<W::Command>>,
        end: watch::Receiver<Option<Instant>>,
    ) -> Self {
        Self {
            config,
            encryption,
            worker,
            commands,
            end,
            ends_by: None,
        }
    }

    /// Runs until it is told to end.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::default();
        let mut servers = Servers::new(self.config.servers.clone());
        let mut news = News::default();
        // while one of them may be reached soon, what the node asks for waits
        let mut untried = self.config.servers.len();
        let begun = Instant::now();
        while let Some(server) = servers.next() {
            let error = match self.connect(server).await {
                None => break,
                Some(Err(error)) => {
                    untried = untried.saturating_sub(1);
                    error
                }
                Some(Ok(mut link)) => {
                    untried = 0;
                    let since = Instant::now();
                    self.worker.up(&mut link, since);
                    let ending = self.serve(&mut link).await;
                    // with those that it was told of meanwhile
                    servers.report(link.servers());
                    if matches!(ending, Ending::Lost(_)) {
                        link.cut();
                    }
                    self.worker.down(Some(link));
                    match ending {
                        Ending::Asked => break,
                        Ending::Lost(error) => {
                            backoff.lasted(since.elapsed());
                            self.worker.count_loss();
                            error
                        }
                    }
                }
            };
            if untried == 0 || begun.elapsed() >= FIRST_ROUND {
                self.worker.down(None);
            }
            let is_news = news.is_due(&error, backoff.failures(), Instant::now());
            self.worker.tell_loss(&error, is_news);
            let wait = backoff.next(random());
            if self.meanwhile(sleep(wait)).await.is_none() {
                break;
            }
        }
        self.finish();
    }

    /// Connects; `None` if the task must end.
    async fn connect(&mut self, server: Server) -> Option<Result<W::Link, LinkError>> {
        let with = (self.config.clone(), self.encryption.clone());
        let link = self.worker.connect(server.clone(), with);
        let outcome = self.meanwhile(timeout(CONNECTING, link)).await?;
        Some(outcome.unwrap_or_else(|_| Err(LinkError::Silent(server))))
    }

    /// Waits for a future while there is no link; `None` if the task must end. Commands are refused at once, but wait until
    /// each of the given servers was tried once.
    async fn meanwhile<T>(&mut self, waits: impl Future<Output = T>) -> Option<T> {
        let mut waits = pin!(waits);
        loop {
            self.worker.heed(None);
            self.worker.flush();
            let answers = self.worker.is_away();
            if self
                .ends_by
                .is_some_and(|deadline| Instant::now() >= deadline || answers || self.is_empty())
            {
                return None;
            }
            let wakes_at = self.ends_by.unwrap_or_else(|| Instant::now() + LOOKS);
            tokio::select! {
                outcome = &mut waits => return Some(outcome),
                command = next(&mut self.commands), if answers => match command {
                    Some(command) => self.worker.refuse(command),
                    None => self.heed_end(false),
                },
                () = self.worker.noted() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    /// Serves a link until it is lost, or until the task must end and everything is done.
    async fn serve(&mut self, link: &mut W::Link) -> Ending {
        loop {
            let now = Instant::now();
            if let Err(error) = self.hear_first(link, now).await {
                return Ending::Lost(error);
            }
            self.worker.heed(Some(link));
            if let Err(error) = self.worker.tick(link, now, self.ends_by.is_some()) {
                return Ending::Lost(error);
            }
            self.worker.flush();
            let is_over =
                |deadline| now >= deadline || self.is_empty() && self.worker.is_done(link);
            if self.ends_by.is_some_and(is_over) {
                // what was sent last is written, however late it is
                let _ends_anyway = poll_fn(|cx| Poll::Ready(link.poll(cx))).await;
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
                command = next(&mut self.commands), if has_room => match command {
                    Some(command) => self.take(command, link),
                    None => self.heed_end(false),
                },
                () = self.worker.noted() => {}
                told = self.end.changed() => self.heed_end(told.is_ok()),
                () = sleep_until(wakes_at.into()) => {}
            }
        }
    }

    /// Before something counts as late, handles what has come while this thread did not run.
    async fn hear_first(&mut self, link: &mut W::Link, now: Instant) -> Result<(), LinkError> {
        for _ in 0..MOST_LOOKS {
            if link.due().is_none_or(|due| due > now) {
                break;
            }
            // before that, the runtime has not asked the system what has come
            yield_now().await;
            // it lets all tasks of this thread together read only so much in one turn
            if self.catch_up(link, now).await? == 0 && has_budget_remaining() {
                break;
            }
        }
        Ok(())
    }

    /// Handles what else has come already, so that the node wakes its sockets once for all of it. Returns how much it was.
    async fn catch_up(&mut self, link: &mut W::Link, now: Instant) -> Result<usize, LinkError> {
        for count in 0..MOST_AT_ONCE {
            match poll_fn(|cx| Poll::Ready(link.poll(cx))).await {
                Poll::Ready(event) => self.worker.handle(event?, link, now),
                Poll::Pending => return Ok(count),
            }
        }
        Ok(MOST_AT_ONCE)
    }

    /// Takes a command, and those that wait behind it.
    fn take(&mut self, command: W::Command, link: &mut W::Link) {
        let now = Instant::now();
        self.worker.take(command, link, now);
        for _ in 0..MOST_AT_ONCE {
            if !self.worker.has_room(link) {
                break;
            }
            let waiting = self.commands.as_mut();
            let Some(Ok(command)) = waiting.map(mpsc::Receiver::try_recv) else {
                break;
            };
            self.worker.take(command, link, now);
        }
    }

    fn wakes_at(&self, link: &mut W::Link) -> Instant {
        let others = [link.due(), self.worker.wakes_at(), self.ends_by];
        let others = others.into_iter().flatten();
        others.fold(Instant::now() + LONGEST_SLEEP, Instant::min)
    }

    /// Whether no command waits.
    fn is_empty(&self) -> bool {
        self.commands.as_ref().is_none_or(mpsc::Receiver::is_empty)
    }

    /// Handles the request to end. `is_told`: it was requested; otherwise the handle is gone.
    fn heed_end(&mut self, is_told: bool) {
        let told = *self.end.borrow_and_update();
        self.ends_by = told.filter(|_| is_told).or(Some(Instant::now()));
    }

    /// Answers everything that still waits.
    fn finish(&mut self) {
        self.worker.down(None);
        if let Some(commands) = &mut self.commands {
            commands.close();
            while let Ok(command) = commands.try_recv() {
                self.worker.refuse(command);
            }
        }
        self.worker.flush();
    }
}

async fn next<C>(commands: &mut Option<mpsc::Receiver<C>>) -> Option<C> {
    match commands {
        Some(commands) => commands.recv().await,
        None => pending().await,
    }
}

/// The deadline for connecting, including what the server needs before it can be used.
const CONNECTING: Duration = Duration::from_secs(5);

/// After this time what the node asks for does not wait any longer for servers that were not tried yet.
const FIRST_ROUND: Duration = Duration::from_secs(5);

/// How often what the node has noted is looked at while there is no link.
const LOOKS: Duration = Duration::from_secs(5);

const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// How much is handled before the node may wake its sockets.
const MOST_AT_ONCE: usize = 256;

/// How often that is done before what is not answered counts as late: in all for more than there are requests on their way.
const MOST_LOOKS: usize = 64;

/// The target of what is logged.
pub(super) const TARGET: &str = "millrace::backplane";

#[cfg(test)]
mod tests;
