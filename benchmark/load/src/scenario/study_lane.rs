//! One connection's requests in the study: which ones wait for a reply, and the result of each.
//! Every planned request is counted exactly once. Pure: time is an argument, and nothing is sent
//! here.

use std::collections::VecDeque;

use crate::scenario::study_request::{Requests, reply};

/// The results of requests by class, and replies that belong to no class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// The right reply came in order and in time.
    pub success: u64,
    /// The connection was never made.
    pub connect_failed: u64,
    /// The connection ended while the reply was awaited.
    pub connection_lost: u64,
    /// No reply in time.
    pub timeout: u64,
    /// Another reply came in its place.
    pub wrong_reply: u64,
    /// The connection or the run had ended before its turn.
    pub never_sent: u64,
    /// Right replies that came after the timeout; their requests count under `timeout`.
    pub late: u64,
    /// Replies without a request, which no class counts.
    pub surplus: u64,
}

impl Tally {
    /// Requests that did not succeed.
    pub fn failures(&self) -> u64 {
        self.connect_failed
            + self.connection_lost
            + self.timeout
            + self.wrong_reply
            + self.never_sent
    }

    /// Requests whose result is known.
    pub fn settled(&self) -> u64 {
        self.success + self.failures()
    }
}

/// Checks replies and counts results.
#[derive(Debug, Clone)]
pub struct Judge {
    requests: Requests,
    timeout: u64,
    tally: Tally,
    scratch: Vec<u8>,
}

impl Judge {
    /// For requests of a form that fail after so many nanoseconds.
    pub fn new(requests: Requests, timeout: u64) -> Self {
        Self {
            requests,
            timeout,
            tally: Tally::default(),
            scratch: Vec::new(),
        }
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Writes a request.
    #[inline]
    pub fn request(&mut self, connection: usize, number: u32) -> &[u8] {
        self.scratch.clear();
        self.requests.put(connection, number, &mut self.scratch);
        &self.scratch
    }

    #[inline]
    fn answers(&mut self, payload: &[u8], connection: usize, number: u32) -> bool {
        reply(self.request(connection, number)) == payload
    }
}

/// One connection's requests, numbered from zero.
#[derive(Debug, Clone)]
pub struct Lane {
    connection: usize,
    planned: u32,
    /// The number of the first request in `waiting`.
    first: u32,
    /// When the requests that wait for a reply were sent, oldest first.
    waiting: VecDeque<u64>,
    /// How many of `waiting`, from its front, have been counted as timed out.
    expired: usize,
    succeeded: u32,
    over: bool,
}

impl Lane {
    /// A connection that is to send so many requests.
    pub fn new(connection: usize, planned: u32) -> Self {
        Self {
            connection,
            planned,
            first: 0,
            waiting: VecDeque::new(),
            expired: 0,
            succeeded: 0,
            over: false,
        }
    }

    /// The number of the next request, which is sent at `now`; `None` if `depth` requests wait
    /// already, or if nothing is left to send.
    #[inline]
    pub fn take(&mut self, depth: usize, now: u64) -> Option<u32> {
        let number = self.next();
        if self.over || number == self.planned || self.in_flight() >= depth {
            return None;
        }
        self.waiting.push_back(now);
        Some(number)
    }

    /// A message arrived. Returns the response time of a success.
    #[inline]
    pub fn reply(&mut self, payload: &[u8], now: u64, judge: &mut Judge) -> Option<u64> {
        if self.waiting.is_empty() {
            judge.tally.surplus += 1;
            return None;
        }
        let mut numbers = self.first..self.next();
        let found = numbers.position(|number| judge.answers(payload, self.connection, number));
        let Some(skipped) = found else {
            self.drop_first(&mut judge.tally.wrong_reply);
            return None;
        };
        for _ in 0..skipped {
            self.drop_first(&mut judge.tally.wrong_reply);
        }
        let sent = self.waiting.pop_front()?;
        self.first += 1;
        let took = now.saturating_sub(sent);
        if self.expired > 0 {
            self.expired -= 1;
            judge.tally.late += 1;
            None
        } else if took > judge.timeout {
            judge.tally.timeout += 1;
            judge.tally.late += 1;
            None
        } else {
            judge.tally.success += 1;
            self.succeeded += 1;
            Some(took)
        }
    }

    /// Counts requests that have waited for longer than the timeout. Their replies may still come.
    /// True when there were any.
    pub fn expire(&mut self, now: u64, judge: &mut Judge) -> bool {
        let before = self.expired;
        while let Some(&sent) = self.waiting.get(self.expired)
            && now.saturating_sub(sent) > judge.timeout
        {
            self.expired += 1;
            judge.tally.timeout += 1;
        }
        self.expired > before
    }

    /// The connection could not be made.
    pub fn refused(&mut self, judge: &mut Judge) {
        if !std::mem::replace(&mut self.over, true) {
            judge.tally.connect_failed += u64::from(self.planned);
        }
    }

    /// The connection is gone.
    pub fn lost(&mut self, judge: &mut Judge) {
        let waiting = u64::try_from(self.in_flight()).unwrap_or(0);
        self.stop(judge);
        judge.tally.connection_lost += waiting;
        self.first = self.next();
        self.waiting.clear();
        self.expired = 0;
    }

    /// Sends nothing more; waiting requests may still be answered.
    pub fn stop(&mut self, judge: &mut Judge) {
        if !std::mem::replace(&mut self.over, true) {
            judge.tally.never_sent += u64::from(self.planned - self.next());
        }
    }

    /// The number of requests that wait for a reply and have not timed out.
    pub fn in_flight(&self) -> usize {
        self.waiting.len() - self.expired
    }

    /// Every planned request succeeded.
    pub fn complete(&self) -> bool {
        self.succeeded == self.planned
    }

    fn next(&self) -> u32 {
        self.first + u32::try_from(self.waiting.len()).unwrap_or(0)
    }

    /// Removes the oldest request. Counts it unless it has been counted as timed out.
    fn drop_first(&mut self, class: &mut u64) {
        if self.waiting.pop_front().is_some() {
            self.first += 1;
            if self.expired > 0 {
                self.expired -= 1;
            } else {
                *class += 1;
            }
        }
    }
}
