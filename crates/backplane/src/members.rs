//! The other nodes that this one knows about, and queries to them. Owns both tables, which are bounded; time is
//! an argument.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::control::Census;

/// One node of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node's unique number.
    pub node: u64,
    /// Whether it is this node.
    pub is_self: bool,
    /// The numbers that it has reported.
    pub census: Census,
}

/// The state of all nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterInfo {
    /// The nodes, this one first.
    pub nodes: Vec<Member>,
    /// The number of subscribers of each queried channel on all nodes.
    pub subscribers: Vec<u64>,
    /// Whether every known node has answered.
    pub is_complete: bool,
}

/// The callback for the result of a query.
pub type Reply = Box<dyn FnOnce(ClusterInfo) + Send>;

/// See the module.
#[derive(Default)]
pub(crate) struct Members {
    known: BTreeMap<u64, Known>,
    /// The nodes that were known when the link was lost and have not announced themselves since. True: they have
    /// a link again.
    awaited: BTreeMap<u64, bool>,
    questions: BTreeMap<u64, Question>,
    last_question: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    census: Census,
    at: Duration,
}

struct Question {
    waits_for: HashSet<u64>,
    subscribers: Vec<u64>,
    until: Duration,
    reply: Reply,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl Members {
    /// Records that a node is present. Returns whether it was unknown.
    pub(crate) fn seen(&mut self, node: u64, census: Census, now: Duration) -> bool {
        self.awaited.remove(&node);
        let seen = Known { census, at: now };
        if let Some(known) = self.known.get_mut(&node) {
            *known = seen;
            return false;
        }
        if self.known.len() < MOST_NODES {
            self.known.insert(node, seen);
        }
        true
    }

    /// Records the numbers that a node reported. Does not make the node known or [back](Self::seen).
    pub(crate) fn counted(&mut self, node: u64, census: Census, now: Duration) {
        if let Some(known) = self.known.get_mut(&node) {
            *known = Known { census, at: now };
        }
    }

    /// Records that a node leaves.
    pub(crate) fn left(&mut self, node: u64, own: Member) {
        self.known.remove(&node);
        self.awaited.remove(&node);
        self.no_longer_wait_for(node, own);
    }

    /// Begins a query. Returns its number for the other nodes. `own`: this node's numbers.
    pub(crate) fn ask(
        &mut self,
        own: (Member, Vec<u64>),
        reply: Reply,
        now: Duration,
    ) -> Option<u64> {
        let (member, subscribers) = own;
        let question = Question {
            waits_for: self.known.keys().copied().collect(),
            subscribers,
            until: now + ANSWER_TIMEOUT,
            reply,
        };
        if question.waits_for.is_empty() || self.questions.len() >= MOST_QUESTIONS {
            let is_complete = question.waits_for.is_empty();
            self.answer(question, member, is_complete);
            return None;
        }
        self.last_question += 1;
        self.questions.insert(self.last_question, question);
        Some(self.last_question)
    }

    /// Records a node's answer.
    pub(crate) fn answered(&mut self, node: u64, question: u64, counts: &[u64], own: Member) {
        let Some(asked) = self.questions.get_mut(&question) else {
            return;
        };
        if !asked.waits_for.remove(&node) || counts.len() != asked.subscribers.len() {
            return;
        }
        for (sum, count) in asked.subscribers.iter_mut().zip(counts) {
            *sum = sum.saturating_add(*count);
        }
        self.finish(own);
    }

    /// Removes what is too old.
    pub(crate) fn expire(&mut self, own: Member, now: Duration) {
        let silent: Vec<u64> = self
            .known
            .iter()
            .filter(|(_, known)| known.at + LIFE <= now)
            .map(|(node, _)| *node)
            .collect();
        for node in silent {
            self.left(node, own);
        }
        let late: Vec<u64> = self
            .questions
            .iter()
            .filter(|(_, question)| question.until <= now)
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            if let Some(question) = self.questions.remove(&number) {
                self.answer(question, own, false);
            }
        }
    }

    /// The link is lost: no node can answer, and none counts as present until it announces itself again.
    pub(crate) fn down(&mut self, own: Member) {
        // nodes that had a link again have lost it, too
        self.awaited.values_mut().for_each(|coming| *coming = false);
        for (node, _) in std::mem::take(&mut self.known) {
            if self.awaited.len() < MOST_NODES {
                self.awaited.insert(node, false);
            }
        }
        for (_, question) in std::mem::take(&mut self.questions) {
            self.answer(question, own, false);
        }
    }

    /// Whether every node that was known when the link was lost has announced itself again.
    pub(crate) fn are_back(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Records that a node has a link again and will announce itself.
    pub(crate) fn is_coming(&mut self, node: u64) {
        if let Some(coming) = self.awaited.get_mut(&node) {
            *coming = true;
        }
    }

    /// Stops waiting for nodes that have no link yet.
    pub(crate) fn wait_for_coming(&mut self) {
        self.awaited.retain(|_, coming| *coming);
    }

    /// Stops waiting for nodes.
    pub(crate) fn wait_no_longer(&mut self) {
        self.awaited.clear();
    }

    /// When to call [`expire`](Self::expire).
    pub(crate) fn wakes_at(&self) -> Option<Duration> {
        self.questions.values().map(|question| question.until).min()
    }

    fn no_longer_wait_for(&mut self, node: u64, own: Member) {
        for question in self.questions.values_mut() {
            question.waits_for.remove(&node);
        }
        self.finish(own);
    }

    fn finish(&mut self, own: Member) {
        let done: Vec<u64> = self
            .questions
            .iter()
            .filter(|(_, question)| question.waits_for.is_empty())
            .map(|(number, _)| *number)
            .collect();
        for number in done {
            if let Some(question) = self.questions.remove(&number) {
                self.answer(question, own, true);
            }
        }
    }

    fn answer(&self, question: Question, own: Member, is_complete: bool) {
        let others = self.known.iter().map(|(node, known)| Member {
            node: *node,
            is_self: false,
            census: known.census,
        });
        (question.reply)(ClusterInfo {
            nodes: std::iter::once(own).chain(others).collect(),
            subscribers: question.subscribers,
            is_complete,
        });
    }
}

/// How often a node announces that it is present.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long a silent node counts as present.
const LIFE: Duration = Duration::from_secs(16);

/// How long a query waits for answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The most nodes in the table.
const MOST_NODES: usize = 1024;

/// The most queries in progress.
const MOST_QUESTIONS: usize = 1024;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn own() -> Member {
        Member {
            node: 1,
            is_self: true,
            census: Census::default(),
        }
    }

    #[derive(Clone, Default)]
    struct Answers(Arc<Mutex<Vec<ClusterInfo>>>);

    impl Answers {
        fn reply(&self) -> Reply {
            let answers = self.clone();
            Box::new(move |info| answers.0.lock().unwrap().push(info))
        }

        fn take(&self) -> Vec<ClusterInfo> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    #[test]
    fn a_query_ends_with_the_last_answer() {
        let (mut members, answers) = (Members::default(), Answers::default());
        assert!(members.seen(2, Census::default(), SECOND));
        assert!(!members.seen(2, Census::default(), SECOND));
        members.seen(3, Census::default(), SECOND);
        let number = members
            .ask((own(), vec![5]), answers.reply(), SECOND)
            .unwrap();
        members.answered(2, number, &[1], own());
        members.answered(2, number, &[1], own());
        members.answered(9, number, &[1], own());
        assert!(answers.take().is_empty());
        members.answered(3, number, &[u64::MAX], own());
        let info = answers.take().pop().unwrap();
        assert_eq!((info.subscribers, info.is_complete), (vec![u64::MAX], true));
        let nodes: Vec<u64> = info.nodes.iter().map(|node| node.node).collect();
        assert_eq!(nodes, [1, 2, 3]);
    }

    #[test]
    fn queries_and_silent_nodes_time_out() {
        let (mut members, answers) = (Members::default(), Answers::default());
        assert_eq!(members.ask((own(), vec![5]), answers.reply(), SECOND), None);
        assert!(answers.take()[0].is_complete);
        for end in 0..3 {
            members.seen(2, Census::default(), SECOND);
            members
                .ask((own(), vec![5]), answers.reply(), SECOND)
                .unwrap();
            assert!(members.wakes_at().is_some());
            match end {
                0 => members.left(2, own()),
                1 => members.expire(own(), SECOND + ANSWER_TIMEOUT),
                _ => members.down(own()),
            }
            let info = answers.take().pop().unwrap();
            assert_eq!(info.is_complete, end == 0);
            assert_eq!(members.wakes_at(), None);
        }
        members.seen(2, Census::default(), SECOND);
        members.expire(own(), SECOND + LIFE);
        assert!(members.known.is_empty());
    }

    #[test]
    fn a_known_node_is_awaited_until_it_announces_itself_or_leaves() {
        let mut members = Members::default();
        members.seen(2, Census::default(), SECOND);
        members.seen(3, Census::default(), SECOND);
        members.seen(4, Census::default(), SECOND);
        assert!(members.are_back());
        members.down(own());
        members.seen(2, Census::default(), SECOND);
        assert!(!members.are_back());
        // the link is lost again: the same three nodes are awaited
        members.down(own());
        members.seen(2, Census::default(), SECOND);
        members.seen(3, Census::default(), SECOND);
        assert!(!members.are_back());
        members.left(4, own());
        assert!(members.are_back());
        members.down(own());
        members.is_coming(3);
        members.is_coming(9);
        members.wait_for_coming();
        assert!(!members.are_back(), "a node that has a link is awaited");
        members.down(own());
        members.wait_for_coming();
        assert!(
            members.are_back(),
            "a node that lost its link is not awaited"
        );
        members.seen(2, Census::default(), SECOND);
        members.down(own());
        members.wait_no_longer();
        assert!(members.are_back());
    }

    #[test]
    fn a_node_that_only_answers_a_query_is_not_back() {
        let mut members = Members::default();
        members.seen(2, Census::default(), SECOND);
        members.down(own());
        members.counted(2, Census::default(), SECOND);
        assert!(!members.are_back());
        members.counted(3, Census::default(), SECOND);
        assert!(!members.known.contains_key(&3));
        members.seen(2, Census::default(), SECOND);
        assert!(members.are_back());
    }

    #[test]
    fn nodes_are_bounded() {
        let mut members = Members::default();
        for node in 0..5000 {
            members.seen(node, Census::default(), SECOND);
        }
        assert_eq!(members.known.len(), MOST_NODES);
        for round in 1..3 {
            members.down(own());
            members.seen(round * 10_000, Census::default(), SECOND);
            assert_eq!(members.awaited.len(), MOST_NODES);
        }
    }
}
