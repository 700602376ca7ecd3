//! Stopping listeners: at once, or with their connections spread over a time. The shards do the work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::Gateway;
use crate::inbox::Command;
use crate::listener::{Spread, StopTimes, Stopping};
use crate::notice::Notices;
use crate::sync::{AtomicU64, Ordering};

/// How listeners stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopTerms {
    /// How long outboxes may be written after the closes; connections that are left then are cut.
    pub drain: Duration,
    /// How connections are closed one after the other; `None`: all at once, with 1001.
    pub spread: Option<SpreadTerms>,
}

/// How the closes of connections are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpreadTerms {
    /// The time over which they are spread. The listeners accept connections until it is over.
    pub time: Duration,
    /// The close code, one that [may be sent](crate::is_sendable_close_code).
    pub code: u16,
}

/// All connections are closed at once, and have this time.
impl From<Duration> for StopTerms {
    fn from(drain: Duration) -> Self {
        let spread = None;
        Self { drain, spread }
    }
}

impl Gateway {
    /// Stops listeners: they accept no more connections, their clients get 1001, and connections that are still open
    /// after `drain` are cut. With a spread they accept connections until it is over, and their clients get its code,
    /// one after the other, and the reason `retry=` with the milliseconds after which to come back. Returns a ticket at
    /// once; [`Notice::ListenersStopped`](crate::Notice::ListenersStopped) follows.
    pub fn stop_listeners(self: &Arc<Self>, ids: &[u32], terms: impl Into<StopTerms>) -> u32 {
        self.stop_for(ids, terms.into(), self.hub.audience().starter())
    }

    /// Shortens a stop in progress: what is given is counted from now, and longer times change nothing. Does nothing
    /// if the stop is over.
    pub fn hasten_stop(&self, ticket: u32, spread: Option<Duration>, drain: Option<Duration>) {
        let mut found = None;
        for (of, stopping) in &self.state.lock().stops {
            if *of == ticket {
                found = stopping.upgrade();
            }
        }
        // after the lock is released, because dropping the last reference posts a notice
        let Some(stopping) = found else {
            return;
        };
        let (now, longest) = (Instant::now(), |time: Duration| time.min(LONGEST));
        let (spread, drain) = (spread.map(longest), drain.map(longest));
        let before = stopping.times().deadline;
        let hasten = |times: &mut StopTimes| *times = times.hastened(now, spread, drain);
        stopping.times.send_modify(hasten);
        let deadline = stopping.times().deadline;
        self.backplane.may_drain_less(before, deadline);
    }

    /// Like [`stop_listeners`](Self::stop_listeners), with the notice posted to `notices`.
    pub(super) fn stop_for(&self, ids: &[u32], terms: StopTerms, notices: Arc<Notices>) -> u32 {
        let ticket = {
            let mut state = self.state.lock();
            state.next_ticket += 1;
            state.next_ticket
        };
        self.stop(ids, terms, (notices, Some(ticket)));
        ticket
    }

    /// Stops the listeners with these ids, and then posts the notice.
    pub(super) fn stop(
        &self,
        ids: &[u32],
        terms: StopTerms,
        (notices, ticket): (Arc<Notices>, Option<u32>),
    ) {
        self.dialled.stop(ids);
        let spread = terms.spread.filter(|spread| !spread.time.is_zero());
        let leaving = {
            let mut state = self.state.lock();
            let stops = state
                .listeners
                .extract_if(.., |listener| ids.contains(&listener.id));
            let leaving: Vec<_> = stops.collect();
            for listener in &leaving {
                match spread {
                    None => listener.stop(),
                    Some(_) => listener.leave(),
                }
            }
            leaving
        };
        let now = Instant::now();
        let time = spread.map_or(Duration::ZERO, |spread| spread.time.min(LONGEST));
        let times = StopTimes::new(now, time, terms.drain.min(LONGEST));
        self.backplane.may_drain(times.deadline);
        let in_progress = self.hub.stops_in_progress();
        in_progress.fetch_add(1, Ordering::SeqCst);
        // the notice is posted when the last shard drops this; without shards that is now
        let stopping = Arc::new(Stopping {
            notices,
            ticket,
            listeners: ids.to_vec(),
            spread: spread.map(|SpreadTerms { code, .. }| Spread {
                leaving,
                began: now,
                time,
                code,
            }),
            times: watch::Sender::new(times),
            cut: AtomicU64::new(0),
            in_progress,
        });
        if let Some(ticket) = ticket {
            let stops = &mut self.state.lock().stops;
            stops.retain(|(_, stopping)| stopping.strong_count() > 0);
            stops.push((ticket, Arc::downgrade(&stopping)));
        }
        self.hub
            .inboxes()
            .post_all(|| Command::Stop(Arc::clone(&stopping)));
    }

    /// Stops accepting connections. Open connections stay until [`stop_listeners`](Self::stop_listeners).
    pub fn stop_accepting(&self, ids: &[u32]) {
        let ids: Arc<[u32]> = ids.into();
        self.hub
            .inboxes()
            .post_all(|| Command::StopAccepting(Arc::clone(&ids)));
    }
}

/// The longest drain and the longest spread, a year; longer ones are cut to it.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
