//! The topics that the node needs, and what the server knows about them: a desired set rather than a stream of
//! commands. So whatever happened to the link, the difference is what must still be requested. Unsubscribing
//! waits a little, so that a channel whose last subscriber comes and goes sends no commands. Owns the set; time
//! is an argument.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use ahash::RandomState;

use crate::topic::Topic;

/// See the module.
#[derive(Debug)]
pub(crate) struct Interest {
    topics: HashMap<Topic, State, RandomState>,
    /// The topics to subscribe to; used only while the link is up.
    to_ask: VecDeque<Topic>,
    /// The topics to unsubscribe from, each at most once, the earliest first.
    leaving: VecDeque<(Duration, Topic)>,
    /// The number of topics that the server has confirmed.
    confirmed: usize,
    /// The number of topics that were wanted when the link came up and that the server has not answered yet.
    restoring: usize,
    is_up: bool,
    linger: Duration,
}

#[derive(Clone, Copy, Debug)]
struct State {
    is_wanted: bool,
    server: Server,
    /// When to unsubscribe, unless the topic is wanted again.
    leave_at: Duration,
    /// Whether it is in `leaving`.
    is_listed: bool,
    /// Whether it is one of `restoring`.
    is_restoring: bool,
}

/// What the server knows about a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Nothing,
    Asked,
    Confirmed,
    Leaving,
}

impl Interest {
    /// Makes an empty set. Topics are unsubscribed from after `linger`.
    pub(crate) fn new(linger: Duration) -> Self {
        Self {
            topics: HashMap::default(),
            to_ask: VecDeque::new(),
            leaving: VecDeque::new(),
            confirmed: 0,
            restoring: 0,
            is_up: false,
            linger,
        }
    }

    /// Records that a topic has a subscriber here or has none. Returns whether the topic is removed at once.
    pub(crate) fn change(&mut self, topic: Topic, is_wanted: bool, now: Duration) -> bool {
        if is_wanted {
            self.want(topic);
            return false;
        }
        let Some(state) = self.topics.get_mut(&topic) else {
            return false;
        };
        state.is_wanted = false;
        if state.server == Server::Nothing {
            state.end_restoring(&mut self.restoring);
            self.topics.remove(&topic);
            return true;
        }
        if state.server == Server::Leaving {
            return false;
        }
        state.leave_at = now + self.linger;
        if !std::mem::replace(&mut state.is_listed, true) {
            let at = state.leave_at;
            self.leaving.push_back((at, topic));
        }
        false
    }

    fn want(&mut self, topic: Topic) {
        let state = self.topics.entry(topic.clone()).or_insert(State {
            is_wanted: false,
            server: Server::Nothing,
            leave_at: Duration::ZERO,
            is_listed: false,
            is_restoring: false,
        });
        let was_wanted = std::mem::replace(&mut state.is_wanted, true);
        if self.is_up && state.server == Server::Nothing && !was_wanted {
            self.to_ask.push_back(topic);
        }
    }

    /// The link is up, and the server has no subscriptions of this node.
    pub(crate) fn up(&mut self) {
        self.is_up = true;
        self.to_ask = self.topics.keys().cloned().collect();
        self.restoring = self.topics.len();
        for state in self.topics.values_mut() {
            state.is_restoring = true;
        }
    }

    /// The link is lost. Returns the topics that are removed because they are not wanted.
    pub(crate) fn down(&mut self) -> Vec<Topic> {
        self.is_up = false;
        self.to_ask.clear();
        self.leaving.clear();
        self.confirmed = 0;
        self.restoring = 0;
        let mut gone = Vec::new();
        self.topics.retain(|topic, state| {
            state.server = Server::Nothing;
            state.is_listed = false;
            state.is_restoring = false;
            if !state.is_wanted {
                gone.push(topic.clone());
            }
            state.is_wanted
        });
        gone
    }

    /// Replaces the set of wanted topics. Returns the topics that are removed at once.
    pub(crate) fn replace(
        &mut self,
        wanted: &HashSet<Topic, RandomState>,
        now: Duration,
    ) -> Vec<Topic> {
        let left: Vec<Topic> = self
            .topics
            .iter()
            .filter(|(topic, state)| state.is_wanted && !wanted.contains(topic))
            .map(|(topic, _)| topic.clone())
            .collect();
        for topic in wanted {
            self.want(topic.clone());
        }
        left.into_iter()
            .filter(|topic| self.change(topic.clone(), false, now))
            .collect()
    }

    /// The next topic to subscribe to.
    pub(crate) fn next_to_ask(&mut self) -> Option<Topic> {
        while let Some(topic) = self.to_ask.pop_front() {
            if let Some(state) = self.topics.get_mut(&topic)
                && state.is_wanted
                && state.server == Server::Nothing
            {
                state.server = Server::Asked;
                return Some(topic);
            }
        }
        None
    }

    /// The next topic to unsubscribe from.
    pub(crate) fn next_to_leave(&mut self, now: Duration) -> Option<Topic> {
        while let Some((at, _)) = self.leaving.front()
            && *at <= now
            && let Some((at, topic)) = self.leaving.pop_front()
        {
            let Some(state) = self.topics.get_mut(&topic) else {
                continue;
            };
            state.is_listed = false;
            if state.is_wanted {
                continue;
            }
            if state.leave_at > at {
                // the topic was wanted and unwanted again since it was listed
                state.is_listed = true;
                let later = (state.leave_at, topic);
                let place = self.leaving.partition_point(|entry| entry.0 <= later.0);
                self.leaving.insert(place, later);
                continue;
            }
            let before = std::mem::replace(&mut state.server, Server::Leaving);
            state.end_restoring(&mut self.restoring);
            if before == Server::Confirmed {
                self.confirmed -= 1;
            }
            return Some(topic);
        }
        None
    }

    /// When to call [`next_to_leave`](Self::next_to_leave) again.
    pub(crate) fn wakes_at(&self) -> Option<Duration> {
        self.leaving.front().map(|(at, _)| *at)
    }

    /// The server has confirmed a subscription.
    pub(crate) fn subscribed(&mut self, topic: &Topic) {
        let Some(state) = self.topics.get_mut(topic) else {
            return;
        };
        if state.server == Server::Asked {
            state.server = Server::Confirmed;
            self.confirmed += 1;
            state.end_restoring(&mut self.restoring);
        }
    }

    /// The server has ended a subscription, whether requested or not. Returns whether the topic is removed.
    pub(crate) fn unsubscribed(&mut self, topic: &Topic) -> bool {
        let Some(state) = self.topics.get_mut(topic) else {
            return false;
        };
        let before = std::mem::replace(&mut state.server, Server::Nothing);
        let is_wanted = state.is_wanted;
        if before == Server::Confirmed {
            self.confirmed -= 1;
        }
        if is_wanted {
            self.to_ask.push_back(topic.clone());
        } else {
            state.end_restoring(&mut self.restoring);
            self.topics.remove(topic);
        }
        !is_wanted
    }

    /// The server refuses a subscription. It is requested again over the next link.
    pub(crate) fn refused(&mut self, topic: &Topic) {
        if let Some(state) = self.topics.get_mut(topic) {
            state.server = Server::Nothing;
            state.end_restoring(&mut self.restoring);
            if !state.is_wanted {
                self.topics.remove(topic);
            }
        }
    }

    /// Whether every wanted topic was requested.
    pub(crate) fn is_asked(&self) -> bool {
        self.to_ask.is_empty()
    }

    /// Whether the server has confirmed or refused every topic that was wanted when the link came up.
    pub(crate) fn is_restored(&self) -> bool {
        self.restoring == 0
    }

    /// The number of topics that the server has confirmed.
    pub(crate) fn confirmed(&self) -> usize {
        self.confirmed
    }

    /// The number of topics with a subscriber here, and of those that are not unsubscribed from yet.
    pub(crate) fn len(&self) -> usize {
        self.topics.len()
    }
}

impl State {
    fn end_restoring(&mut self, restoring: &mut usize) {
        if std::mem::take(&mut self.is_restoring) {
            *restoring -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
