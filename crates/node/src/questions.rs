//! What one JavaScript thread has asked a gateway's I/O threads and still waits for. Owns the numbers of the questions,
//! and where their answers arrive.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use millrace_gateway::{Answers, Place, Reply};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    answers: RefCell<Option<Arc<Answers>>>,
    last: Cell<u32>,
    places: RefCell<HashMap<u32, Arc<Place>>>,
    /// What came with answers that were taken.
    results: RefCell<HashMap<u32, Reply>>,
}

impl Questions {
    /// Where answers arrive; `None`: nowhere so far.
    pub(crate) fn answers(&self) -> Option<Arc<Answers>> {
        self.answers.borrow().clone()
    }

    pub(crate) fn open(&self, answers: Arc<Answers>) {
        self.answers.replace(Some(answers));
    }

    /// A number for a question, from 1 on, that no waiting one has.
    pub(crate) fn number(&self) -> u32 {
        let places = self.places.borrow();
        loop {
            let number = self.last.get().wrapping_add(1).max(1);
            self.last.set(number);
            if !places.contains_key(&number) {
                return number;
            }
        }
    }

    /// Keeps the place of a question that was asked.
    pub(crate) fn asked(&self, number: u32, place: Arc<Place>) {
        self.places.borrow_mut().insert(number, place);
    }

    /// Takes a question back.
    pub(crate) fn forget(&self, number: u32) {
        if let Some(place) = self.places.borrow_mut().remove(&number) {
            place.free();
        }
    }

    /// Keeps what came with an answer until it is taken.
    pub(crate) fn keep_result(&self, number: u32, reply: Reply) {
        self.results.borrow_mut().insert(number, reply);
    }

    /// Takes what came with an answer.
    pub(crate) fn take_result(&self, number: u32) -> Option<Reply> {
        self.results.borrow_mut().remove(&number)
    }

    /// Takes the answers since the last call.
    pub(crate) fn take(&self) -> Vec<(u32, Reply)> {
        let taken = self.answers.borrow().as_ref().map(|answers| answers.take());
        let mut places = self.places.borrow_mut();
        let taken = taken.unwrap_or_default().into_iter();
        // an answer may have been on its way when its question was taken back
        taken
            .filter(|(number, _)| places.remove(number).is_some())
            .collect()
    }
}
