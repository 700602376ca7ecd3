//! The subscriptions of a connection to NATS. Owns their numbers. All patterns share one subscription, to everything.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

use crate::topic::Topic;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    ids: HashMap<Topic, u64, RandomState>,
    topics: HashMap<u64, Topic, RandomState>,
    patterns: HashSet<Topic, RandomState>,
    /// How many numbers were given.
    given: u64,
}

impl Subscriptions {
    /// A topic is subscribed to. Returns the number of the subscription; `None`: there is one already.
    pub(super) fn add(&mut self, topic: &Topic) -> Option<u64> {
        if matches!(topic, Topic::Pattern(_)) {
            self.patterns.insert(topic.clone());
            return (self.patterns.len() == 1).then_some(EVERYTHING);
        }
        self.given += 1;
        let id = EVERYTHING + self.given;
        self.ids.insert(topic.clone(), id);
        self.topics.insert(id, topic.clone());
        Some(id)
    }

    /// A topic is not subscribed to any more. Returns the number of the subscription that ends.
    pub(super) fn remove(&mut self, topic: &Topic) -> Option<u64> {
        if matches!(topic, Topic::Pattern(_)) {
            self.patterns.remove(topic);
            return self.patterns.is_empty().then_some(EVERYTHING);
        }
        let id = self.ids.remove(topic)?;
        self.topics.remove(&id);
        Some(id)
    }

    /// The server refuses the subscription to a topic, or to any pattern. Returns the topics that have none any more.
    pub(super) fn refused(&mut self, topic: &Topic) -> Vec<Topic> {
        if matches!(topic, Topic::Pattern(_)) {
            return self.patterns.drain().collect();
        }
        let removed = self.remove(topic);
        removed.map(|_| topic.clone()).into_iter().collect()
    }

    /// The topic of a subscription to one.
    pub(super) fn topic(&self, id: u64) -> Option<&Topic> {
        self.topics.get(&id)
    }
}

/// The subscription to everything below the prefix.
pub(super) const EVERYTHING: u64 = 1;
