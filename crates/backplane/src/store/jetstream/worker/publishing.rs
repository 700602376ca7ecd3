//! How the worker publishes: one record of a channel at a time, behind the newest one.

use std::time::{Duration, Instant};

use millrace_core::Epoch;
use ring::digest::{SHA256, digest};

use super::super::super::feed::StoreError;
use super::super::super::requests::Publication;
use super::super::answers::{self, Failure, Found, Outcome};
use super::super::api::{EXPECTED, newest, numbered};
use super::super::channel::{ALONE_BYTES, Channel, Waiting};
use super::super::link::Link;
use super::super::record::{Head, State};
use super::super::wire::{HEADERS, Message};
use super::{Request, Worker, unix_ms};
use crate::encoding::hex;
use crate::gauges::count;
use crate::outlet::random;

impl Worker {
    /// Takes a publication.
    pub(super) fn publish(
        &mut self,
        publication: Publication,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let channel = publication.message.channel.clone();
        let length = ALONE_BYTES + HEADERS + publication.message.payload.len();
        let why = match self.streams.place(&channel) {
            None => "the channel has no stream, or its name is too long",
            Some(_) if length > link.most() => "a message is longer than the server accepts",
            Some(stream) => {
                let bytes = publication.charge.bytes();
                self.taken = (self.taken.0 + 1, self.taken.1 + bytes);
                let known = self.known(&channel, stream);
                known.push(Waiting::new(publication, now));
                return self.advance(&channel, link, now);
            }
        };
        self.report_refusal(why, now);
        count(&self.shared.counters.failed, 1);
        publication.reply.give(Err(StoreError::Refused));
    }

    /// What is known about a channel.
    pub(super) fn known(&mut self, channel: &[u8], stream: usize) -> &mut Channel {
        if !self.channels.contains_key(channel) && self.channels.len() >= self.most_channels {
            self.channels.retain(|_, known| !known.is_idle());
            // so that this is not done all the time
            self.most_channels = super::MOST_CHANNELS.max(2 * self.channels.len());
        }
        let entry = self.channels.entry(channel.into());
        entry.or_insert_with(|| Channel::new(stream))
    }

    /// The channel, if the record with this number is under way there.
    pub(super) fn under_way(&mut self, channel: &[u8], number: u64) -> Option<&mut Channel> {
        let known = self.channels.get_mut(channel)?;
        known.is_under_way(number).then_some(known)
    }

    /// Sends what waits in a channel, if nothing of it is under way.
    pub(super) fn advance(&mut self, channel: &[u8], link: &mut Link<Request>, now: Instant) {
        let Some(known) = self.channels.get_mut(channel) else {
            return;
        };
        let Some(stream) = self.streams.get(known.stream) else {
            return;
        };
        if known.wants_head() {
            if !std::mem::replace(&mut known.is_asking, true) {
                let (api, body) = newest(&stream.name(), &stream.kept(channel));
                link.request(Request::Head(channel.into()), &api, &[], &[&body], now);
            }
            return;
        }
        let most = link.most().saturating_sub(HEADERS);
        let Some(sending) = known.begin(self.node, unix_ms(), most) else {
            return;
        };
        let subject = stream.kept(channel);
        let expected = sending.expected.to_string();
        let id = sending.key.map(|(key, twin)| {
            let about = [subject.as_bytes(), &twin.to_le_bytes(), &*key].concat();
            let digest = digest(&SHA256, &about);
            hex(digest.as_ref())
        });
        let mut headers = vec![(EXPECTED, &*expected)];
        headers.extend(id.as_deref().map(|id| (MESSAGE_ID, id)));
        let what = Request::Publish(channel.into(), sending.number);
        link.request(what, &subject, &headers, &[&sending.body], now);
    }

    /// What came of the record that was under way.
    pub(super) fn published(
        &mut self,
        (channel, number): (&[u8], u64),
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let known = self.channels.get_mut(channel);
        let Some(known) = known.filter(|known| known.is_under_way(number)) else {
            return;
        };
        match answers::outcome(message) {
            Outcome::Kept(sequence) => {
                let accepted = known.accepted(sequence);
                let number = u64::try_from(accepted.len()).unwrap_or(u64::MAX);
                count(&self.shared.counters.appended, number);
                if let Some((last, appended)) = accepted.last() {
                    let newest = last.at(appended.position);
                    self.remembered.put(channel, newest);
                }
                for (waiting, appended) in accepted {
                    self.given(waiting.give(Ok(appended)));
                }
            }
            Outcome::Repeated(sequence) => {
                if let Some(stream) = self.streams.get(known.stream) {
                    let (api, body) = numbered(&stream.name(), sequence);
                    let what = Request::Twin(channel.into(), number, sequence);
                    link.request(what, &api, &[], &[&body], now);
                }
                return;
            }
            Outcome::Overtaken => known.overtaken(),
            Outcome::Failed(failure) => {
                let sent = known.sent();
                let error = self.heed_failure(failure, link, now);
                self.fail(sent, error);
            }
        }
        self.advance(channel, link, now);
    }

    /// The record whose key a publication has.
    pub(super) fn twin(
        &mut self,
        (channel, number, sequence): (&[u8], u64, u64),
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let found = answers::found(message, self.node);
        let Some(known) = self.under_way(channel, number) else {
            return;
        };
        let state = match found {
            Found::Record(_, record) => record.messages.first().map(State::behind),
            Found::Nothing | Found::Foreign(_) => None,
            Found::Failed(failure) => {
                let sent = known.sent();
                let error = self.heed_failure(failure, link, now);
                self.fail(sent, error);
                return self.advance(channel, link, now);
            }
        };
        if let Some((waiting, appended)) = known.repeated(sequence, state, unix_ms()) {
            count(&self.shared.counters.repeated, 1);
            self.given(waiting.give(Ok(appended)));
        }
        self.advance(channel, link, now);
    }

    /// The newest record of a channel.
    pub(super) fn head(
        &mut self,
        channel: &[u8],
        message: &Message,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        match answers::found(message, self.node) {
            Found::Record(sequence, record) => {
                let newest = self.remembered.get(channel);
                let head = Head::of(sequence, &record);
                let known = self.channels.get_mut(channel);
                if known.is_some_and(|known| known.asked(head, newest)) {
                    count(&self.shared.counters.renewed, 1);
                }
                self.advance(channel, link, now);
            }
            Found::Nothing => {
                let known = self.channels.get(channel);
                if known.is_some_and(Channel::had_record) {
                    return self.begin_anew(channel, link, now);
                }
                let head = Head::nothing(Epoch::new(random()));
                self.head_found(channel, head, link, now);
            }
            Found::Foreign(sequence) => {
                let stream = self.channels.get(channel).map(|known| known.stream);
                if let Some(stream) = stream {
                    self.scan((channel.into(), stream), (sequence, None), link, now);
                }
            }
            Found::Failed(failure) => self.head_failed(channel, failure, link, now),
        }
    }

    pub(super) fn head_found(
        &mut self,
        channel: &[u8],
        head: Head,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        if let Some(known) = self.channels.get_mut(channel) {
            known.found(head);
        }
        self.advance(channel, link, now);
    }

    /// The newest record has not come in time. What waits for it has its own deadline, and it is asked for again.
    pub(super) fn head_late(&mut self, channel: &[u8], link: &mut Link<Request>, now: Instant) {
        if let Some(known) = self.channels.get_mut(channel) {
            known.is_asking = false;
        }
        self.advance(channel, link, now);
    }

    pub(super) fn head_failed(
        &mut self,
        channel: &[u8],
        failure: Failure,
        link: &mut Link<Request>,
        now: Instant,
    ) {
        let Some(known) = self.channels.get_mut(channel) else {
            return;
        };
        known.is_asking = false;
        let waiting = known.unsent(now, Duration::ZERO);
        let error = self.heed_failure(failure, link, now);
        self.fail(waiting, error);
    }

    /// Tells what went wrong. A server on which nobody can do anything is given up, and so is a link that has lost a stream.
    pub(super) fn heed_failure(
        &mut self,
        failure: Failure,
        link: &mut Link<Request>,
        now: Instant,
    ) -> StoreError {
        match failure {
            Failure::Away => {
                link.fail(answers::AWAY);
                StoreError::Away
            }
            Failure::Refused(why) => {
                self.report_refusal(&why, now);
                StoreError::Refused
            }
        }
    }
}

const MESSAGE_ID: &str = "Nats-Msg-Id";
