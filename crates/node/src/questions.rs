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
}

impl Questions {
    /// Whether there is a place for answers.
    pub(crate) fn is_open(&self) -> bool {
        self.answers.borrow().is_some()
    }

    pub(crate) fn open(&self, answers: Arc<Answers>) {
        self.answers.replace(Some(answers));
    }

    /// Asks with the number and the answers that `ask` gets. Returns the number; `None`: it was not asked.
    pub(crate) fn ask<E>(
        &self,
        ask: impl FnOnce((u32, &Arc<Answers>)) -> Result<Option<Arc<Place>>, E>,
    ) -> Result<Option<u32>, E> {
        let answers = self.answers.borrow();
        let Some(answers) = &*answers else {
            return Ok(None);
        };
        let number = self.next();
        let place = ask((number, answers))?;
        Ok(place.map(|place| {
            self.places.borrow_mut().insert(number, place);
            number
        }))
    }

    /// A number from 1 on that no waiting question has.
    fn next(&self) -> u32 {
        let places = self.places.borrow();
        loop {
            let number = self.last.get().wrapping_add(1).max(1);
            self.last.set(number);
            if !places.contains_key(&number) {
                return number;
            }
        }
    }

    /// Takes a question back.
    pub(crate) fn forget(&self, number: u32) {
        if let Some(place) = self.places.borrow_mut().remove(&number) {
            place.free();
        }
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
