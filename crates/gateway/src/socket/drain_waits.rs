//! The questions of those who wait for one outbox to fall to its low-water mark. Answers them; does not know the mark.

use crate::event::{Question, Reply};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct DrainWaits {
    all: Vec<Question>,
    /// The number of them from which those that were taken back are looked for.
    crowded: usize,
}

impl DrainWaits {
    pub(super) fn push(&mut self, question: Question) {
        if self.all.len() >= self.crowded.max(FEW) {
            self.all.retain(|question| !question.is_over());
            self.crowded = 2 * self.all.len();
        }
        self.all.push(question);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn answer(self) {
        for question in self.all {
            question.answer(Reply::Yes);
        }
    }
}

/// So few are not looked through.
const FEW: usize = 16;
