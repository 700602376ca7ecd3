//! The order in which a driver hears and judges, with a link and a worker that only record.

mod stall;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::config::{Bounds, Credentials, Protocol};

/// A link whose one request should have been answered. The answer has come, unless it is `silent`.
struct Overdue {
    due: Option<Instant>,
    is_silent: bool,
    was_cut: Arc<AtomicBool>,
}

impl Line for Overdue {
    type Event = ();

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        if self.is_silent || self.due.take().is_none() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn due(&mut self) -> Option<Instant> {
        self.due
    }

    fn cut(&mut self) {
        self.was_cut.store(true, Ordering::Relaxed);
    }
}

/// Ends the task when it knows whether something was late.
struct Judge {
    is_silent: bool,
    /// Whether the link is lost then.
    loses: bool,
    /// Servers with ports up to this one refuse.
    refusing: u16,
    attempts: AtomicUsize,
    /// How many attempts there were when there was no link for the first time.
    tried: Arc<AtomicUsize>,
    was_cut: Arc<AtomicBool>,
    was_late: Arc<AtomicBool>,
    end: watch::Sender<Option<Instant>>,
    noted: Notify,
    losses: AtomicU64,
}

impl Judge {
    fn end(&self) {
        self.end.send_replace(Some(Instant::now()));
    }
}

impl Work for Judge {
    type Link = Overdue;
    type Command = ();

    fn connect(&self, server: Server, _: (Config, Option<Encryption>)) -> Connecting<Overdue> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let refuses = server.port <= self.refusing;
        let link = Overdue {
            due: Some(Instant::now()),
            is_silent: self.is_silent,
            was_cut: Arc::clone(&self.was_cut),
        };
        Box::pin(async move {
            if refuses {
                return Err(LinkError::Closed(server));
            }
            Ok(link)
        })
    }

    fn up(&mut self, _: &mut Overdue, _: Instant) {}

    fn down(&mut self, _: Option<Overdue>) {
        let attempts = self.attempts.load(Ordering::Relaxed);
        let tried = self
            .tried
            .compare_exchange(0, attempts, Ordering::Relaxed, Ordering::Relaxed);
        if tried.is_ok() {
            self.end();
        }
    }

    fn heed(&mut self, _: Option<&mut Overdue>) {}

    fn tick(&mut self, link: &mut Overdue, now: Instant, _: bool) -> Result<(), LinkError> {
        if link.due.is_some_and(|due| due <= now) {
            self.was_late.store(true, Ordering::Relaxed);
            self.end();
            if self.loses {
                return Err(LinkError::Silent(server(1)));
            }
        }
        Ok(())
    }

    fn handle(&mut self, (): (), _: &mut Overdue, _: Instant) {
        self.end();
    }

    fn has_room(&self, _: &Overdue) -> bool {
        true
    }

    fn take(&mut self, (): (), _: &mut Overdue, _: Instant) {}

    fn refuse(&mut self, (): ()) {}

    fn is_away(&self) -> bool {
        false
    }

    fn is_done(&self, _: &Overdue) -> bool {
        true
    }

    fn wakes_at(&self) -> Option<Instant> {
        None
    }

    fn flush(&mut self) {}

    fn signals(&self) -> (&Notify, &AtomicU64) {
        (&self.noted, &self.losses)
    }

    const LOST: &'static str = "lost";

    fn report_loss(&self, _: &LinkError) {}
}

fn server(port: u16) -> Server {
    Server {
        host: "h".to_owned(),
        port,
    }
}

fn config() -> Config {
    Config {
        protocol: Protocol::Redis,
        servers: (1..=3).map(server).collect(),
        prefix: "app".to_owned(),
        sentinel: None,
        credentials: Credentials::default(),
        tls: None,
        bounds: Bounds::default(),
        histories: vec![],
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[derive(Default)]
struct Case {
    is_silent: bool,
    loses: bool,
    refusing: u16,
}

struct Found {
    was_late: bool,
    was_cut: bool,
    /// How many of three servers were tried when there was no link for the first time.
    tried: usize,
}

fn judge(case: &Case) -> Found {
    let (was_late, was_cut) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    let tried = Arc::<AtomicUsize>::default();
    let (end, ended) = watch::channel(None);
    let judge = Judge {
        is_silent: case.is_silent,
        loses: case.loses,
        refusing: case.refusing,
        attempts: AtomicUsize::new(0),
        tried: Arc::clone(&tried),
        was_cut: Arc::clone(&was_cut),
        was_late: Arc::clone(&was_late),
        end,
        noted: Notify::new(),
        losses: AtomicU64::new(0),
    };
    let driver = Driver::new((config(), None), judge, None, ended);
    runtime().block_on(driver.run());
    Found {
        was_late: was_late.load(Ordering::Relaxed),
        was_cut: was_cut.load(Ordering::Relaxed),
        tried: tried.load(Ordering::Relaxed),
    }
}

#[test]
fn what_has_come_while_the_thread_did_not_run_is_not_late() {
    let found = judge(&Case::default());
    assert!(!found.was_late);
    let case = Case {
        is_silent: true,
        ..Case::default()
    };
    assert!(judge(&case).was_late, "nothing has come");
}

#[test]
fn only_of_a_lost_link_nothing_is_sent_later() {
    for loses in [true, false] {
        let found = judge(&Case {
            is_silent: true,
            loses,
            refusing: 0,
        });
        assert_eq!((found.was_late, found.was_cut), (true, loses));
    }
}

#[test]
fn what_is_asked_for_waits_until_each_given_server_was_tried() {
    // the third one is reached, and lost at the end
    for (refusing, tried) in [(2, 3), (3, 3), (0, 1)] {
        let case = Case {
            refusing,
            ..Case::default()
        };
        assert_eq!(judge(&case).tried, tried, "{refusing} refuse");
    }
}
