//! Questions of a JavaScript thread that an I/O shard answers later, as data: each is answered exactly once, also if
//! the shard drops it. Knows nothing of what is asked.

use std::fmt;
use std::sync::Arc;

use millrace_core::Kind;

use crate::doorbell::Doorbell;
use crate::limits::FixedLimits;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

/// The answers for one JavaScript thread, and its doorbell.
pub struct Answers {
    waiting: Mutex<Waiting>,
    door: Arc<dyn Doorbell>,
}

/// The answers that the thread has not taken.
#[derive(Default)]
struct Waiting {
    answers: Vec<(u32, Reply)>,
    /// What clients have said among them.
    said: Vec<Said>,
    said_bytes: usize,
}

/// The bytes of the answers of one client that no thread has taken yet. Only the thread of its connection adds some.
#[derive(Clone, Debug, Default)]
pub(crate) struct Untaken(Arc<AtomicUsize>);

/// Bytes that count for a client until this is dropped.
struct Said {
    untaken: Untaken,
    bytes: usize,
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
            waiting: Mutex::default(),
            door,
        })
    }

    /// Takes the answers since the last call, each with the number of its question.
    pub fn take(&self) -> Vec<(u32, Reply)> {
        let taken = std::mem::take(&mut *self.waiting.lock());
        taken.answers
    }

    fn add(&self, number: u32, reply: Reply) {
        self.put(number, |_waiting| reply);
    }

    /// Adds what a client has said, or that it has said too much: its untaken answers may be `most` bytes together.
    fn add_said(&self, number: u32, reply: Reply, (untaken, most): (&Untaken, usize)) {
        let bytes = reply.bytes();
        let in_all = FixedLimits::default().call_answer_bytes;
        let fits = |waits: usize, most: usize| waits == 0 || waits.saturating_add(bytes) <= most;
        self.put(number, |waiting| {
            if !fits(untaken.bytes(), most) || !fits(waiting.said_bytes, in_all) {
                return Reply::Failed("limit".into(), Some(TOO_MUCH.into()));
            }
            waiting.said.push(Said::new(untaken, bytes));
            waiting.said_bytes += bytes;
            reply
        });
    }

    fn put(&self, number: u32, reply: impl FnOnce(&mut Waiting) -> Reply) {
        let is_first = {
            let mut waiting = self.waiting.lock();
            let reply = reply(&mut waiting);
            waiting.answers.push((number, reply));
            waiting.answers.len() == 1
        };
        if is_first {
            self.door.ring();
        }
    }
}

/// Why an answer of a client is not passed on.
const TOO_MUCH: &str = "too many bytes of answers wait for the thread that calls";

impl Reply {
    /// The bytes of what a client has said.
    fn bytes(&self) -> usize {
        match self {
            Self::Said(_, payload) => payload.len(),
            Self::Failed(code, reason) => code.len() + reason.as_deref().map_or(0, str::len),
            Self::Closed | Self::Yes | Self::Unable => 0,
        }
    }
}

impl Untaken {
    fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Said {
    fn new(untaken: &Untaken, bytes: usize) -> Self {
        untaken.0.fetch_add(bytes, Ordering::Relaxed);
        Self {
            untaken: untaken.clone(),
            bytes,
        }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        self.untaken.0.fetch_sub(self.bytes, Ordering::Relaxed);
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

    /// Answers with what a client has said. The call fails with `limit` if more than `most` bytes of this client would
    /// wait for threads, or too many bytes of all clients for this thread; one answer always fits.
    pub(crate) fn answer_said(self, reply: Reply, (untaken, most): (&Untaken, usize)) {
        if self.place.free() {
            self.answers.add_said(self.number, reply, (untaken, most));
        }
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

    /// What a client says of this length; it takes no memory, because nobody writes to it.
    fn said(bytes: usize) -> Reply {
        Reply::Said(Kind::Binary, vec![0; bytes].into())
    }

    fn is_limited(reply: &Reply) -> bool {
        matches!(reply, Reply::Failed(code, _) if &**code == "limit")
    }

    #[test]
    fn what_one_client_says_waits_only_up_to_its_bound() {
        let (_, answers) = asker();
        let (_, others) = asker();
        let questions = Questions::default();
        let (client, other) = (Untaken::default(), Untaken::default());
        let say = |answers: &Arc<Answers>, client: &Untaken, reply: Reply| {
            let place = questions.place(100).unwrap();
            Question::new(1, answers, &place).answer_said(reply, (client, 100));
        };
        let limited = |answers: &Answers| {
            let taken = answers.take();
            taken
                .iter()
                .map(|(_, reply)| is_limited(reply))
                .collect::<Vec<_>>()
        };
        // one that is longer than the bound fits if nothing else waits
        say(&answers, &client, said(101));
        say(&answers, &client, said(1));
        say(&answers, &other, said(100));
        say(
            &answers,
            &other,
            Reply::Failed("c".into(), Some("r".into())),
        );
        assert_eq!(limited(&answers), [false, true, false, true]);
        // what waits for another thread counts, too
        say(&others, &client, said(60));
        say(&answers, &client, said(41));
        say(&answers, &client, said(40));
        assert_eq!(limited(&answers), [true, false]);
        drop(others);
        say(&answers, &client, said(100));
        assert_eq!(limited(&answers), [false]);
        assert_eq!(client.bytes(), 0);
    }

    #[test]
    fn what_all_clients_say_waits_only_up_to_a_bound_for_each_thread() {
        let (_, answers) = asker();
        let questions = Questions::default();
        let most = FixedLimits::default().call_answer_bytes;
        let say = |bytes: usize| {
            let place = questions.place(100).unwrap();
            let client = Untaken::default();
            Question::new(1, &answers, &place).answer_said(said(bytes), (&client, usize::MAX));
        };
        for _ in 0..2 {
            for bytes in [most - 1, 2, 1, 1] {
                say(bytes);
            }
            let taken = answers.take();
            let limited: Vec<_> = taken.iter().map(|(_, reply)| is_limited(reply)).collect();
            assert_eq!(limited, [false, true, false, true]);
        }
        // other answers have no length
        say(most);
        let place = questions.place(100).unwrap();
        Question::new(2, &answers, &place).answer(Reply::Yes);
        assert_eq!(answers.take()[1], (2, Reply::Yes));
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
