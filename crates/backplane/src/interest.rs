//! What the node wants to hear, and what the server knows of it: a desired set rather than a stream of
//! commands, so that whatever happened to the link, the difference is what remains to be asked. Leaving waits a
//! little, so that a channel whose last subscriber comes and goes costs the server nothing. Owns the set;
//! time is an argument.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use ahash::RandomState;

use crate::topic::Topic;

/// See the module.
#[derive(Debug)]
pub(crate) struct Interest {
    topics: HashMap<Topic, State, RandomState>,
    /// Topics that may have to be asked for; only while the link is up.
    to_ask: VecDeque<Topic>,
    /// Topics that may be left, each at most once, earliest first.
    leaving: VecDeque<(Duration, Topic)>,
    /// Topics that the server has confirmed.
    confirmed: usize,
    /// Topics that were wanted when the link came up, of which the server has not said yet what becomes of them.
    restoring: usize,
    is_up: bool,
    linger: Duration,
}

#[derive(Clone, Copy, Debug)]
struct State {
    is_wanted: bool,
    server: Server,
    /// When it is left, unless it is wanted again.
    leave_at: Duration,
    /// Whether it is in `leaving`.
    is_listed: bool,
    /// Whether it is one of `restoring`.
    is_restoring: bool,
}

/// What the server knows of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Nothing,
    Asked,
    Confirmed,
    Leaving,
}

impl Interest {
    /// An empty set; topics are left after `linger`.
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

    /// A topic has a subscriber here now, or none any more. True: it is forgotten at once.
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

    /// The link is up, and the server knows nothing.
    pub(crate) fn up(&mut self) {
        self.is_up = true;
        self.to_ask = self.topics.keys().cloned().collect();
        self.restoring = self.topics.len();
        for state in self.topics.values_mut() {
            state.is_restoring = true;
        }
    }

    /// The link is lost. Returns the topics that nobody wants any more.
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

    /// Goes by a new look at what is wanted. Returns the topics that are forgotten at once.
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

    /// The next topic to ask the server for.
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

    /// The next topic to leave.
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
                // wanted and left again since it was listed
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

    /// When [`next_to_leave`](Self::next_to_leave) is worth asking again.
    pub(crate) fn wakes_at(&self) -> Option<Duration> {
        self.leaving.front().map(|(at, _)| *at)
    }

    /// The server has subscribed us.
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

    /// The server has unsubscribed us, because we asked or not. True: it is forgotten.
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

    /// The server does not let us subscribe: asked again over the next link.
    pub(crate) fn refused(&mut self, topic: &Topic) {
        if let Some(state) = self.topics.get_mut(topic) {
            state.server = Server::Nothing;
            state.end_restoring(&mut self.restoring);
            if !state.is_wanted {
                self.topics.remove(topic);
            }
        }
    }

    /// Whether everything that is wanted was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.to_ask.is_empty()
    }

    /// Whether the server has confirmed or refused everything that was wanted when the link came up.
    pub(crate) fn is_restored(&self) -> bool {
        self.restoring == 0
    }

    /// Topics that the server has confirmed.
    pub(crate) fn confirmed(&self) -> usize {
        self.confirmed
    }

    /// Topics with a subscriber here, and those not left yet.
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
