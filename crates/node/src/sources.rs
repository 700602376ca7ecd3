//! What rings on one JavaScript thread, by the number of its doorbell. Owns the table; numbers are reused.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::failure::Outcome;
use crate::js::{Js, Reference, Value};

/// An object that rings: a worker, or a gateway with notices.
pub(crate) trait Source {
    /// Handles its ring.
    fn answer(&self, js: Js<'_>) -> Outcome<()>;

    /// Releases what is kept for it here, because it rings no more. May be called more than once.
    fn end(&self, js: Js<'_>);
}

impl fmt::Debug for dyn Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sources(RefCell<Vec<Option<Rc<dyn Source>>>>);

impl Sources {
    /// Reserves a number for a source that is about to be made.
    pub(crate) fn reserve(&self) -> usize {
        let mut sources = self.0.borrow_mut();
        let free = sources.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            sources.push(None);
            sources.len() - 1
        })
    }

    /// Sets the source with this number.
    pub(crate) fn set(&self, number: usize, source: Rc<dyn Source>) {
        if let Some(place) = self.0.borrow_mut().get_mut(number) {
            *place = Some(source);
        }
    }

    pub(crate) fn get(&self, number: usize) -> Option<Rc<dyn Source>> {
        self.0.borrow().get(number).cloned().flatten()
    }

    /// A number above that of every source.
    #[cfg(unix)]
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Removes a source. The source that gets the number next answers rings that are still on their way, and finds
    /// nothing to do.
    pub(crate) fn remove(&self, number: usize) -> Option<Rc<dyn Source>> {
        self.0.borrow_mut().get_mut(number)?.take()
    }

    /// Ends all sources, because the environment is ending.
    pub(crate) fn end(&self, js: Js<'_>) {
        for source in self.0.take().into_iter().flatten() {
            source.end(js);
        }
    }
}

/// A JavaScript function that is called when there are notices.
#[derive(Debug)]
pub(crate) struct Listener(Cell<Option<Reference>>);

impl Listener {
    pub(crate) fn new(js: Js<'_>, function: Value<'_>) -> Outcome<Rc<Self>> {
        Ok(Rc::new(Self(Cell::new(Some(js.keep(function)?)))))
    }
}

impl Source for Listener {
    fn answer(&self, js: Js<'_>) -> Outcome<()> {
        match self.0.get() {
            Some(function) => js.call(js.kept(function)?, &[]).map(drop),
            None => Ok(()),
        }
    }

    fn end(&self, js: Js<'_>) {
        if let Some(function) = self.0.take() {
            js.forget(function);
        }
    }
}
