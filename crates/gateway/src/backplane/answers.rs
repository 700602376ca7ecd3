//! Answers to questions about all nodes, kept until they are taken. Limits their number: the oldest answer that was not
//! taken is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use millrace_backplane::ClusterInfo;

use crate::sync::Mutex;

/// See the module.
pub(super) struct Answers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u32,
    waiting: BTreeMap<u32, Option<ClusterInfo>>,
}

/// A question in progress. It is answered in any case: with what this node knows if no other node answers.
pub(super) struct Pending {
    answers: Arc<Answers>,
    ticket: u32,
    own: Option<ClusterInfo>,
}

impl Pending {
    pub(super) fn new(answers: &Arc<Answers>, ticket: u32, own: ClusterInfo) -> Self {
        Self {
            answers: Arc::clone(answers),
            ticket,
            own: Some(own),
        }
    }

    /// Answers the question; an answer without a node counts as none.
    pub(super) fn answer(mut self, info: ClusterInfo) {
        if !info.nodes.is_empty() {
            self.own = Some(info);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(info) = self.own.take() {
            self.answers.give(self.ticket, info);
        }
    }
}

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
        }
    }

    /// Opens a ticket for an answer to come.
    pub(super) fn open(&self) -> u32 {
        let mut state = self.state.lock();
        state.last = state.last.wrapping_add(1);
        let ticket = state.last;
        state.waiting.insert(ticket, None);
        if state.waiting.len() > MOST {
            state.waiting.pop_first();
        }
        ticket
    }

    fn give(&self, ticket: u32, info: ClusterInfo) {
        if let Some(place) = self.state.lock().waiting.get_mut(&ticket) {
            *place = Some(info);
        }
    }

    /// Takes the answer if it has arrived. The answer for a dropped ticket is empty.
    pub(super) fn take(&self, ticket: u32) -> Option<ClusterInfo> {
        let mut state = self.state.lock();
        match state.waiting.get(&ticket) {
            Some(None) => None,
            Some(Some(_)) => state.waiting.remove(&ticket).flatten(),
            None => Some(ClusterInfo::default()),
        }
    }
}

/// The most questions whose answers were not taken.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_answers_is_answered_by_this_node() {
        let answers = Arc::new(Answers::new());
        let info = |count| ClusterInfo {
            nodes: vec![millrace_backplane::Member {
                node: 1,
                is_self: true,
                census: millrace_backplane::Census::default(),
            }],
            subscribers: vec![count],
            is_complete: false,
        };
        let pending = |ticket| Pending::new(&answers, ticket, info(1));
        let tickets = [(); 3].map(|()| answers.open());
        drop(pending(tickets[0]));
        pending(tickets[1]).answer(ClusterInfo::default());
        pending(tickets[2]).answer(info(5));
        let taken = tickets.map(|ticket| answers.take(ticket).unwrap().subscribers);
        assert_eq!(taken, [[1], [1], [5]]);
    }

    #[test]
    fn answers_that_are_not_taken_are_dropped() {
        let answers = Answers::new();
        let first = answers.open();
        assert_eq!(answers.take(first), None);
        let others: Vec<u32> = (0..MOST).map(|_| answers.open()).collect();
        assert_eq!(answers.take(first), Some(ClusterInfo::default()));
        let info = ClusterInfo {
            is_complete: true,
            ..ClusterInfo::default()
        };
        answers.give(first, info.clone());
        answers.give(others[0], info.clone());
        assert_eq!(answers.take(others[0]), Some(info));
        assert_eq!(answers.take(others[1]), None);
        assert_eq!(answers.state.lock().waiting.len(), MOST - 1);
    }
}
