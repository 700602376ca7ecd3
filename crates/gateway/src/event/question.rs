//! Questions of a JavaScript thread that an I/O shard answers later, as data: each is answered exactly once, also if
//! the shard drops it. Knows nothing of what is asked.

use std::fmt;
use std::sync::Arc;

use millrace_core::Kind;

use crate::doorbell::Doorbell;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

/// The answers for one JavaScript thread, and its doorbell.
pub struct Answers {
    waiting: Mutex<Vec<(u32, Reply)>>,
    door: Arc<dyn Doorbell>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The socket does not exist, or was closed before the answer.
    Closed,
    /// What was asked is the case.
    Yes,
    /// The socket's protocol has no such thing.
    Unable,
    /// The result of a call.
    Said(Kind, Box<[u8]>),
    /// A call failed: the code, and a reason.
    Failed(Box<str>, Option<Box<str>>),
}

/// A question that waits for its answer. Dropped without one, it is answered with [`Reply::Closed`].
pub(crate) struct Question {
    number: u32,
    answers: Arc<Answers>,
    place: Arc<Place>,
}

/// The questions that wait, of which there are at most so many.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    waiting: Arc<AtomicUsize>,
}

/// The place of one question among those that wait; the asker keeps it to take the question back. Dropped, it is free.
#[derive(Debug)]
pub struct Place {
    is_free: AtomicBool,
    waiting: Arc<AtomicUsize>,
}

impl Answers {
    /// The answers for the thread that this doorbell wakes.
    pub fn new(door: Arc<dyn Doorbell>) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::new(Vec::new()),
            door,
        })
    }

    /// Takes the answers since the last call, each with the number of its question.
    pub fn take(&self) -> Vec<(u32, Reply)> {
        std::mem::take(&mut *self.waiting.lock())
    }

    fn add(&self, number: u32, reply: Reply) {
        let is_first = {
            let mut waiting = self.waiting.lock();
            waiting.push((number, reply));
            waiting.len() == 1
        };
        if is_first {
            self.door.ring();
        }
    }
}

impl Questions {
    /// A place for a question; `None`: so many wait already.
    pub(crate) fn place(&self, most: usize) -> Option<Arc<Place>> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= most {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Arc::new(Place {
            is_free: AtomicBool::new(false),
            waiting: Arc::clone(&self.waiting),
        }))
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl Place {
    /// Takes the question back, which is then not answered. False: it has been answered.
    pub fn free(&self) -> bool {
        let was_taken = !self.is_free.swap(true, Ordering::Relaxed);
        if was_taken {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        was_taken
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // a question that was never asked
        self.free();
    }
}

impl Question {
    pub(crate) fn new(number: u32, answers: &Arc<Answers>, place: &Arc<Place>) -> Self {
        Self {
            number,
            answers: Arc::clone(answers),
            place: Arc::clone(place),
        }
    }

    /// Whether it was taken back.
    pub(crate) fn is_over(&self) -> bool {
        self.place.is_free.load(Ordering::Relaxed)
    }

    pub(crate) fn answer(self, reply: Reply) {
        self.settle(reply);
    }

    fn settle(&self, reply: Reply) {
        if self.place.free() {
            self.answers.add(self.number, reply);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.settle(Reply::Closed);
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Rings(AtomicUsize);

    impl Doorbell for Rings {
        fn ring(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn asker() -> (Arc<Rings>, Arc<Answers>) {
        let rings = Arc::<Rings>::default();
        let door: Arc<dyn Doorbell> = Arc::<Rings>::clone(&rings);
        (rings, Answers::new(door))
    }

    #[test]
    fn each_question_is_answered_once_and_several_answers_ring_once() {
        let (rings, answers) = asker();
        let questions = Questions::default();
        let ask = |number| {
            let place = questions.place(2).unwrap();
            Question::new(number, &answers, &place)
        };
        let (one, other) = (ask(1), ask(2));
        assert!(questions.place(2).is_none(), "two wait already");
        other.answer(Reply::Yes);
        drop(one);
        assert_eq!(answers.take(), [(2, Reply::Yes), (1, Reply::Closed)]);
        assert_eq!(rings.0.load(Ordering::Relaxed), 1);
        assert_eq!(questions.count(), 0);
        ask(3).answer(Reply::Unable);
        assert_eq!(rings.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_place_without_a_question_is_free_when_it_is_dropped() {
        let questions = Questions::default();
        for _ in 0..3 {
            let place = questions.place(1);
            assert!(place.is_some() && questions.place(1).is_none());
            drop(place);
        }
        let (_, answers) = asker();
        let place = questions.place(1).unwrap();
        Question::new(1, &answers, &place).answer(Reply::Yes);
        assert_eq!(questions.count(), 0);
        let other = questions.place(1);
        drop(place);
        assert_eq!(questions.count(), 1, "the other one waits");
        drop(other);
    }

    #[test]
    fn a_question_that_was_taken_back_is_not_answered() {
        let (rings, answers) = asker();
        let questions = Questions::default();
        let place = questions.place(1).unwrap();
        let question = Question::new(1, &answers, &place);
        assert!(place.free() && question.is_over());
        assert_eq!(questions.count(), 0, "another may wait");
        assert!(!place.free());
        question.answer(Reply::Yes);
        assert!(answers.take().is_empty());
        assert_eq!(rings.0.load(Ordering::Relaxed), 0);
    }
}
