//! What a cluster of NATS servers may have kept without telling it: a message is lost on its way from one server to
//! another, or with the server that leads a stream. Owns when channels are read again because of that.

use std::time::Instant;

use super::super::api;
use super::super::json;
use super::super::link::Link;
use super::super::wire::Message;
use super::{Request, Worker};

/// Who leads each stream, as far as it was heard on this link.
#[derive(Default)]
pub(super) struct Leaders(Vec<Option<Leader>>);

/// Who leads a stream.
#[derive(PartialEq, Eq)]
struct Leader {
    /// Empty: nobody does, or nobody answers.
    name: Box<[u8]>,
    /// Since when, because it may have led before another one did. Servers say it since NATS 2.11.
    since: Box<[u8]>,
}

impl Leaders {
    /// Of so many streams.
    pub(super) fn unknown(streams: usize) -> Self {
        Self((0..streams).map(|_| None).collect())
    }

    /// What a server says about the stream with this place. Returns whether the stream was led by another one, or by nobody,
    /// since it was heard before.
    fn heard(&mut self, place: usize, answer: &[u8]) -> bool {
        let text = |name| -> Box<[u8]> {
            let text = json::text(answer, name).unwrap_or_default();
            text.get(..LONGEST).unwrap_or(text).into()
        };
        let Some(known) = self.0.get_mut(place) else {
            return false;
        };
        let leader = Leader {
            name: text("leader"),
            since: text("leader_since"),
        };
        if known.as_ref() == Some(&leader) {
            return false;
        }
        let is_led = !leader.name.is_empty();
        known.replace(leader).is_some() && is_led
    }

    /// Nobody has answered in time.
    pub(super) fn unheard(&mut self, place: usize) {
        self.heard(place, b"");
    }
}

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
        if self.leaders.heard(place, &message.payload) {
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

/// The most bytes of a name that are compared.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(leader: &str, since: &str) -> String {
        format!(
            "{{\"config\":{{}},\"cluster\":{{\"leader\":\"{leader}\",\"leader_since\":\"{since}\"}}}}"
        )
    }

    #[test]
    fn a_stream_is_read_again_if_it_was_led_by_another_server_or_by_none() {
        let nobody = "{\"config\":{},\"cluster\":{}}".to_owned();
        let failed = "{\"error\":{\"code\":503,\"err_code\":10008}}".to_owned();
        let (a1, b2, a3) = (answer("a", "1"), answer("b", "2"), answer("a", "3"));
        for (answers, expected) in [
            // what was heard first says nothing about what was before
            (vec![&a1, &a1, &b2, &b2, &a3], vec![2, 4]),
            // it led in between two looks, too
            (vec![&a1, &a3, &a3], vec![1]),
            (vec![&a1, &nobody, &nobody, &a1, &a1], vec![3]),
            (vec![&nobody, &a1, &a1], vec![1]),
            (vec![&failed, &a1], vec![1]),
            (vec![&a1, &failed, &b2], vec![2]),
        ] {
            let mut leaders = Leaders::unknown(1);
            let places = 0..answers.len();
            let again: Vec<_> = places
                .filter(|place| leaders.heard(0, answers[*place].as_bytes()))
                .collect();
            assert_eq!(again, expected, "{answers:?}");
        }
    }

    #[test]
    fn a_question_that_nobody_answers_is_one_without_a_leader() {
        let mut leaders = Leaders::unknown(1);
        let old = "{\"cluster\":{\"leader\":\"a\"}}";
        assert!(!leaders.heard(0, old.as_bytes()));
        leaders.unheard(0);
        assert!(leaders.heard(0, old.as_bytes()));
        assert!(!leaders.heard(1, old.as_bytes()), "there is no such stream");
    }

    #[test]
    fn a_name_is_not_kept_at_any_length() {
        let mut leaders = Leaders::unknown(1);
        leaders.heard(0, answer(&"x".repeat(100_000), "").as_bytes());
        let kept = leaders.0[0].as_ref().map(|leader| leader.name.len());
        assert_eq!(kept, Some(LONGEST));
    }
}
