//! What functions of one JavaScript thread work on, as long as that thread's JavaScript may call one of them. Owns the
//! count of these functions; knows nothing of what they do.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::js::Js;

/// Something that functions work on.
pub(crate) trait Shell: fmt::Debug {
    /// A drain is over: what it put off is done.
    fn wake(&self);

    /// JavaScript has none of its functions any more.
    fn lost(&self);

    /// The environment is going away.
    fn end(&self, js: Js<'_>);
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Shells(RefCell<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    /// Of no other shell of this process, before or after.
    number: usize,
    shell: Rc<dyn Shell>,
    functions: usize,
}

impl Shells {
    /// `shell`, whose number this is, has one more function.
    pub(crate) fn keep<S: Shell + 'static>(&self, number: usize, shell: &Rc<S>) {
        let mut shells = self.0.borrow_mut();
        match shells.iter_mut().find(|kept| kept.number == number) {
            Some(kept) => kept.functions += 1,
            None => shells.push(Kept {
                number,
                shell: Rc::<S>::clone(shell),
                functions: 1,
            }),
        }
    }

    /// JavaScript has lost one function of the shell with this number.
    pub(crate) fn function_lost(&self, number: usize) {
        let lost = {
            let mut shells = self.0.borrow_mut();
            let place = shells.iter().position(|kept| kept.number == number);
            let Some((place, kept)) = place.and_then(|at| Some((at, shells.get_mut(at)?))) else {
                return;
            };
            kept.functions -= 1;
            (kept.functions == 0).then(|| shells.swap_remove(place))
        };
        if let Some(lost) = lost {
            lost.shell.lost();
        }
    }

    /// A drain is over.
    pub(crate) fn wake(&self) {
        for kept in self.0.borrow().iter() {
            kept.shell.wake();
        }
    }

    /// The environment is going away.
    pub(crate) fn end(&self, js: Js<'_>) {
        for kept in self.0.take() {
            kept.shell.end(js);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug, Default)]
    struct Told {
        lost: Cell<u32>,
        woken: Cell<u32>,
    }

    impl Shell for Told {
        fn wake(&self) {
            self.woken.set(self.woken.get() + 1);
        }

        fn lost(&self) {
            self.lost.set(self.lost.get() + 1);
        }

        fn end(&self, _js: Js<'_>) {}
    }

    #[test]
    fn a_shell_goes_with_the_last_of_its_functions() {
        let (shells, one, other) = (Shells::default(), Rc::default(), Rc::default());
        shells.keep::<Told>(1, &one);
        shells.keep::<Told>(2, &other);
        shells.keep(1, &one);
        shells.function_lost(1);
        assert_eq!((one.lost.get(), Rc::strong_count(&one)), (0, 2));
        shells.function_lost(1);
        assert_eq!((one.lost.get(), Rc::strong_count(&one)), (1, 1));
        // a callback that comes too late
        shells.function_lost(1);
        shells.wake();
        assert_eq!((one.woken.get(), other.woken.get()), (0, 1));
        assert_eq!(other.lost.get(), 0);
    }
}
