//! The calls of the application that a client of `millrace.v1` has not answered. Dropped, they are answered as closed.
//! Pure.

use crate::contract::{Question, Reply, Untaken};

/// See the module. The session bounds it.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    waiting: Vec<(u64, Question)>,
    /// What the client has answered and no thread has taken.
    untaken: Untaken,
}

impl Calls {
    /// The id of a new call; the question is handed back if as many as `most` are waited for.
    pub(super) fn add(&mut self, question: Question, most: usize) -> Result<u64, Question> {
        if self.waiting.len() >= most {
            // those that the application waits for no longer
            self.waiting.retain(|(_, question)| !question.is_over());
        }
        if self.waiting.len() >= most {
            return Err(question);
        }
        self.last += 1;
        self.waiting.push((self.last, question));
        Ok(self.last)
    }

    /// Whether the application waits for an answer.
    pub(super) fn are_awaited(&self) -> bool {
        self.waiting.iter().any(|(_, question)| !question.is_over())
    }

    /// Answers a call; the answers that no thread has taken may be `most` bytes together. A call that is unknown was
    /// answered, or is waited for no longer.
    pub(super) fn answer(&mut self, id: u64, reply: Reply, most: usize) {
        let at = self.waiting.iter().position(|(waits, _)| *waits == id);
        if let Some(at) = at {
            let (_, question) = self.waiting.remove(at);
            question.answer_said(reply, (&self.untaken, most));
        }
    }
}
