//! The order in which a driver hears and judges, with a link and a worker that only record.

mod stall;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

    fn connect(&self, _: Server, _: (Config, Option<Encryption>)) -> Connecting<Overdue> {
        let link = Overdue {
            due: Some(Instant::now()),
            is_silent: self.is_silent,
            was_cut: Arc::clone(&self.was_cut),
        };
        Box::pin(async move { Ok(link) })
    }

    fn up(&mut self, _: &mut Overdue, _: Instant) {}

    fn down(&mut self, _: Option<Overdue>) {}

    fn heed(&mut self, _: Option<&mut Overdue>) {}

    fn tick(&mut self, link: &mut Overdue, now: Instant, _: bool) -> Result<(), LinkError> {
        if link.due.is_some_and(|due| due <= now) {
            self.was_late.store(true, Ordering::Relaxed);
            self.end();
            if self.loses {
                return Err(LinkError::Silent(server()));
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

fn server() -> Server {
    Server {
        host: "h".to_owned(),
        port: 1,
    }
}

fn config() -> Config {
    Config {
        protocol: Protocol::Redis,
        servers: vec![server()],
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

/// Whether something was late, and whether the link was cut.
fn judge(is_silent: bool, loses: bool) -> (bool, bool) {
    let (was_late, was_cut) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
    let (end, ended) = watch::channel(None);
    let judge = Judge {
        is_silent,
        loses,
        was_cut: Arc::clone(&was_cut),
        was_late: Arc::clone(&was_late),
        end,
        noted: Notify::new(),
        losses: AtomicU64::new(0),
    };
    let driver = Driver::new((config(), None), judge, None, ended);
    runtime().block_on(driver.run());
    (
        was_late.load(Ordering::Relaxed),
        was_cut.load(Ordering::Relaxed),
    )
}

#[test]
fn what_has_come_while_the_thread_did_not_run_is_not_late() {
    assert!(!judge(false, false).0);
    assert!(judge(true, false).0, "nothing has come");
}

#[test]
fn only_of_a_lost_link_nothing_is_sent_later() {
    assert_eq!(judge(true, true), (true, true));
    assert_eq!(judge(true, false), (true, false));
}
