//! The set, tested against a server that is a plain set of names.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const LINGER: Duration = Duration::from_secs(1);

fn channel(name: u8) -> Topic {
    Topic::Channel([name].into())
}

fn asked(interest: &mut Interest) -> Vec<Topic> {
    std::iter::from_fn(|| interest.next_to_ask()).collect()
}

fn left(interest: &mut Interest, now: Duration) -> Vec<Topic> {
    std::iter::from_fn(|| interest.next_to_leave(now)).collect()
}

#[test]
fn nothing_is_requested_without_a_link() {
    let mut interest = Interest::new(LINGER);
    interest.change(channel(1), true, Duration::ZERO);
    assert_eq!(asked(&mut interest), []);
    interest.up();
    assert_eq!(asked(&mut interest), [channel(1)]);
    assert_eq!(asked(&mut interest), []);
}

#[test]
fn a_subscriber_that_comes_and_goes_sends_no_commands() {
    let mut interest = Interest::new(LINGER);
    interest.up();
    interest.change(channel(1), true, Duration::ZERO);
    assert_eq!(asked(&mut interest), [channel(1)]);
    interest.subscribed(&channel(1));
    for ms in 0..5000 {
        let now = Duration::from_millis(ms);
        interest.change(channel(1), false, now);
        interest.change(channel(1), true, now);
        assert_eq!(asked(&mut interest), []);
        assert_eq!(left(&mut interest, now), []);
        assert!(interest.leaving.len() <= 1);
    }
    let end = Duration::from_secs(10);
    interest.change(channel(1), false, end);
    assert_eq!(left(&mut interest, end + LINGER / 2), []);
    assert_eq!(left(&mut interest, end + LINGER), [channel(1)]);
    assert!(interest.unsubscribed(&channel(1)));
    assert_eq!(interest.len(), 0);
}

#[test]
fn a_topic_wanted_while_it_is_unsubscribed_is_requested_again() {
    let mut interest = Interest::new(LINGER);
    interest.up();
    interest.change(channel(1), true, Duration::ZERO);
    asked(&mut interest);
    interest.subscribed(&channel(1));
    interest.change(channel(1), false, Duration::ZERO);
    assert_eq!(left(&mut interest, LINGER), [channel(1)]);
    interest.change(channel(1), true, LINGER);
    assert_eq!(
        asked(&mut interest),
        [],
        "the server has not ended the subscription yet"
    );
    assert!(!interest.unsubscribed(&channel(1)));
    assert_eq!(asked(&mut interest), [channel(1)]);
    assert_eq!(interest.confirmed(), 0);
    interest.subscribed(&channel(1));
    assert_eq!(interest.confirmed(), 1);
}

#[test]
fn a_refused_topic_is_requested_over_the_next_link() {
    let mut interest = Interest::new(LINGER);
    interest.up();
    interest.change(channel(1), true, Duration::ZERO);
    asked(&mut interest);
    interest.refused(&channel(1));
    assert_eq!(asked(&mut interest), []);
    interest.down();
    interest.up();
    assert_eq!(asked(&mut interest), [channel(1)]);
}

#[test]
fn it_is_restored_when_the_server_has_answered_every_request() {
    let mut interest = Interest::new(LINGER);
    for name in 1..=4 {
        interest.change(channel(name), true, Duration::ZERO);
    }
    interest.up();
    interest.change(channel(4), false, Duration::ZERO);
    interest.change(channel(5), true, Duration::ZERO);
    assert_eq!(asked(&mut interest).len(), 4);
    interest.subscribed(&channel(1));
    interest.refused(&channel(2));
    // the topic moved to another server of the cluster and is requested there
    interest.unsubscribed(&channel(3));
    assert!(!interest.is_restored());
    assert_eq!(asked(&mut interest), [channel(3)]);
    // this topic became wanted after the link came up, and the other one unwanted while it was
    // requested
    interest.subscribed(&channel(5));
    interest.change(channel(3), false, Duration::ZERO);
    assert!(!interest.is_restored());
    assert_eq!(left(&mut interest, LINGER), [channel(3)]);
    assert!(interest.is_restored());
}

#[test]
fn replace_replaces_the_wanted_topics() {
    let mut interest = Interest::new(LINGER);
    interest.up();
    for name in [1, 2] {
        interest.change(channel(name), true, Duration::ZERO);
    }
    asked(&mut interest);
    interest.subscribed(&channel(1));
    interest.subscribed(&channel(2));
    let wanted = [channel(2), channel(3)].into_iter().collect();
    assert_eq!(interest.replace(&wanted, Duration::ZERO), []);
    assert_eq!(asked(&mut interest), [channel(3)]);
    assert_eq!(left(&mut interest, LINGER), [channel(1)]);
}

#[derive(Clone, Debug)]
enum Step {
    Change(u8, bool),
    Pass(u64),
    Answer,
    Lose,
    Connect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_u8..6, any::<bool>()).prop_map(|(name, wanted)| Step::Change(name, wanted)),
        2 => (0_u64..1500).prop_map(Step::Pass),
        3 => Just(Step::Answer),
        1 => Just(Step::Lose),
        1 => Just(Step::Connect),
    ]
}

/// Requests on their way to the server, answered in order.
#[derive(Default)]
struct Model {
    wanted: HashSet<Topic>,
    server: HashSet<Topic>,
    answers: VecDeque<(Topic, bool)>,
    is_up: bool,
}

impl Model {
    fn pump(&mut self, interest: &mut Interest, now: Duration) {
        if !self.is_up {
            return;
        }
        for topic in left(interest, now) {
            assert!(
                self.server.remove(&topic),
                "it unsubscribes only from what it had"
            );
            self.answers.push_back((topic, false));
        }
        for topic in asked(interest) {
            assert!(
                self.server.insert(topic.clone()),
                "it requests each topic once"
            );
            self.answers.push_back((topic, true));
        }
    }

    fn answer(&mut self, interest: &mut Interest) {
        while let Some((topic, is_on)) = self.answers.pop_front() {
            if is_on {
                interest.subscribed(&topic);
            } else {
                interest.unsubscribed(&topic);
            }
        }
    }
}

proptest! {
    #[test]
    fn in_the_end_the_server_has_the_wanted_topics(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let mut interest = Interest::new(LINGER);
        let mut model = Model::default();
        let mut now = Duration::ZERO;
        for step in steps.into_iter().chain([Step::Connect]) {
            match step {
                Step::Change(name, wanted) => {
                    if wanted {
                        model.wanted.insert(channel(name));
                    } else {
                        model.wanted.remove(&channel(name));
                    }
                    interest.change(channel(name), wanted, now);
                }
                Step::Pass(ms) => now += Duration::from_millis(ms),
                Step::Answer => model.answer(&mut interest),
                Step::Lose => {
                    model.is_up = false;
                    model.server.clear();
                    model.answers.clear();
                    interest.down();
                }
                Step::Connect if !model.is_up => {
                    model.is_up = true;
                    interest.up();
                }
                Step::Connect => {}
            }
            model.pump(&mut interest, now);
            prop_assert!(model.answers.len() <= 64);
            let restoring = interest.topics.values().filter(|state| state.is_restoring);
            prop_assert_eq!(interest.restoring, restoring.count());
        }
        // nothing changes any more: everything is answered, and the linger time is over
        for _ in 0..3 {
            model.answer(&mut interest);
            now += LINGER;
            model.pump(&mut interest, now);
        }
        model.answer(&mut interest);
        prop_assert!(interest.is_restored());
        prop_assert_eq!(&model.server, &model.wanted);
        prop_assert_eq!(interest.confirmed(), model.wanted.len());
        prop_assert_eq!(interest.len(), model.wanted.len());
        prop_assert!(interest.leaving.len() <= 6);
    }
}
