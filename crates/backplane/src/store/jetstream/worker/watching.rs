//! What a cluster of NATS servers may have kept without telling it: a message is lost on its way from one server to
//! another, or with the server that leads a stream. Owns when channels are read again because of that.

use std::time::Instant;

use super::super::api;
use super::super::json;
use super::super::link::Link;
use super::super::wire::Message;
use super::{Request, Worker};

impl Worker {
    /// Asks who leads the streams, and heeds what the server has told of others. To be called from time to time.
    pub(in super::super) fn watch(&mut self, link: &mut Link<Request>, now: Instant) {
        if link.was_disturbed() {
            self.read_again(None);
        }
        for (place, stream) in self.streams.iter().enumerate() {
            let api = api::info(&stream.name());
            link.request(Request::Leader(place), &api, &[], &[], now);
        }
    }

    /// Who leads a stream. Nobody does for a while after the death of the last leader.
    pub(super) fn leader(&mut self, place: usize, message: &Message, link: &mut Link<Request>) {
        // an operator may have changed it
        if let Some(why) = link.refuses(json::number(&message.payload, "num_replicas")) {
            return link.fail_unfit(why);
        }
        let leader = json::text(&message.payload, "leader").unwrap_or_default();
        let Some(known) = self.leaders.get_mut(place) else {
            return;
        };
        if leader.is_empty() || **known == *leader {
            return;
        }
        let last = std::mem::replace(known, leader.into());
        if !last.is_empty() {
            self.read_again(Some(place));
        }
    }

    /// Reads the channels that are followed, or those of one stream.
    fn read_again(&mut self, stream: Option<usize>) {
        let channels: Vec<_> = self.channels.keys().cloned().collect();
        for channel in channels {
            let Some(known) = self.channels.get_mut(&channel) else {
                continue;
            };
            if stream.is_none_or(|stream| stream == known.stream)
                && let Some(followed) = &mut known.followed
            {
                followed.follower.renewed(&mut self.steps);
                self.heed(&channel);
            }
        }
    }
}
