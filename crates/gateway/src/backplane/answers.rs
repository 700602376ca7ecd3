//! Answers about all nodes that nobody has taken yet. Owns the bound: who asks and does not come back is forgotten.

use std::collections::BTreeMap;

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

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State::default()),
        }
    }

    /// A ticket for an answer to come.
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

    pub(super) fn give(&self, ticket: u32, info: ClusterInfo) {
        if let Some(place) = self.state.lock().waiting.get_mut(&ticket) {
            *place = Some(info);
        }
    }

    /// The answer, once it is there. For a ticket that was forgotten it is empty.
    pub(super) fn take(&self, ticket: u32) -> Option<ClusterInfo> {
        let mut state = self.state.lock();
        match state.waiting.get(&ticket) {
            Some(None) => None,
            Some(Some(_)) => state.waiting.remove(&ticket).flatten(),
            None => Some(ClusterInfo::default()),
        }
    }
}

/// Questions whose answer was not taken.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_come_back_is_forgotten() {
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
