//! What rings on one JavaScript thread, by the number that its doorbell rings with. Owns the table; a number is used again.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::failure::Outcome;
use crate::js::{Js, Reference, Value};

/// Something that rings: a worker, or a gateway with notices.
pub(crate) trait Source: fmt::Debug {
    /// It has rung.
    fn answer(&self, js: Js<'_>) -> Outcome<()>;

    /// It rings no more: what is kept for it here is let go. May come more than once.
    fn end(&self, js: Js<'_>);
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sources(RefCell<Vec<Option<Rc<dyn Source>>>>);

impl Sources {
    /// A number for a source that is made now.
    pub(crate) fn reserve(&self) -> usize {
        let mut sources = self.0.borrow_mut();
        let free = sources.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            sources.push(None);
            sources.len() - 1
        })
    }

    /// What has this number from now on.
    pub(crate) fn set(&self, number: usize, source: Rc<dyn Source>) {
        if let Some(place) = self.0.borrow_mut().get_mut(number) {
            *place = Some(source);
        }
    }

    pub(crate) fn get(&self, number: usize) -> Option<Rc<dyn Source>> {
        self.0.borrow().get(number).cloned().flatten()
    }

    /// Takes one out. A ring on its way is answered by whatever has the number next, which then finds nothing to do.
    pub(crate) fn remove(&self, number: usize) -> Option<Rc<dyn Source>> {
        self.0.borrow_mut().get_mut(number)?.take()
    }

    /// The environment is going away.
    pub(crate) fn end(&self, js: Js<'_>) {
        for source in self.0.take().into_iter().flatten() {
            source.end(js);
        }
    }
}

/// A function that takes notices.
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
