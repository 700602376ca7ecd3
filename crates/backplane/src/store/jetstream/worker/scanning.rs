//! How the worker finds the newest record of a channel behind which another program has written: it goes forward through the
//! messages of the subject, because the server does not go back.

use std::time::Instant;

use millrace_core::Epoch;

use super::super::answers::{self, Found};
use super::super::api::next_from;
use super::super::link::Link;
use super::super::record::{Head, Record};
use super::super::wire::Message;
use super::{Request, Worker};
use crate::outlet::random;

/// A search for the newest record.
pub(super) struct Scan {
    channel: Box<[u8]>,
    /// The place of its stream.
    stream: usize,
    /// The message of the other program behind which nothing was written.
    foreign: u64,
    newest: Option<(u64, Record)>,
    /// The job that waits for the record; `None`: publications wait.
    job: Option<u64>,
}

impl Worker {
    /// The newest message of a channel is that of another program.
    pub(super) fn scan(
        &mut self,
        (channel, stream): (Box<[u8]>, usize),
        (foreign, job): (u64, Option<u64>),
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let known = self.channels.get(&channel);
        let head = known.and_then(|known| known.head.as_ref());
        // a record that is known may be the newest one
        let from = head.and_then(|head| head.chain().first().copied());
        self.last_job += 1;
        let number = self.last_job;
        let scan = Scan {
            channel,
            stream,
            foreign,
            newest: None,
            job,
        };
        self.scans.insert(number, scan);
        self.ask_next(number, from.unwrap_or(1), link, now);
    }

    fn ask_next(&mut self, number: u64, from: u64, link: &mut Link<Request>, now: Instant) {
        let Some(scan) = self.scans.get(&number) else {
            return;
        };
        if let Some(stream) = self.streams.get(scan.stream) {
            let subject = stream.kept(&scan.channel);
            let (api, body) = next_from(&stream.name(), &subject, from);
            link.request(Request::Scan(number), &api, &[], &[&body], now);
        }
    }

    /// The next message of the subject.
    pub(super) fn scanned(
        &mut self,
        number: u64,
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let found = answers::found(message, self.node);
        let Some(scan) = self.scans.get_mut(&number) else {
            return;
        };
        let sequence = match found {
            Found::Record(sequence, record) => {
                scan.newest = Some((sequence, record));
                sequence
            }
            Found::Foreign(sequence) => {
                let channel = scan.channel.clone();
                self.found_foreign(&channel, now);
                sequence
            }
            Found::Nothing => u64::MAX,
            Found::Failed(failure) => {
                let Some(scan) = self.scans.remove(&number) else {
                    return;
                };
                return match scan.job {
                    Some(job) => self.job_failed(job, Some(failure), link, now),
                    None => self.head_failed(&scan.channel, failure, link, now),
                };
            }
        };
        match self.scans.get(&number) {
            Some(scan) if sequence < scan.foreign => {
                self.ask_next(number, sequence.saturating_add(1), link, now);
            }
            _ => self.scan_done(number, link, now),
        }
    }

    fn scan_done(&mut self, number: u64, link: &mut Link<Request>, now: Instant) {
        let Some(scan) = self.scans.remove(&number) else {
            return;
        };
        let record = scan.newest.as_ref();
        let head = match record {
            Some((sequence, record)) => Head::of(*sequence, record),
            None => Head::nothing(Epoch::new(random())),
        };
        let head = head.behind_foreign(scan.foreign);
        match (scan.job, record) {
            (Some(job), Some((_, record))) => self.job_head(job, (head, record), link, now),
            (Some(job), None) => self.put_mark(job, &head, link, now),
            (None, _) => self.head_found(&scan.channel, head, link, now),
        }
    }

    /// A search has got no answer in time.
    pub(super) fn scan_late(&mut self, number: u64, link: &mut Link<Request>, now: Instant) {
        let Some(scan) = self.scans.remove(&number) else {
            return;
        };
        if let Some(job) = scan.job {
            return self.job_failed(job, None, link, now);
        }
        self.head_late(&scan.channel, link, now);
    }
}
