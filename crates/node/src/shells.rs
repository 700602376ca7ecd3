//! The objects on which the functions of one JavaScript thread work, as long as that thread may call one of them. Owns
//! the count of these functions; knows nothing about what they do.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::js::Js;

/// An object that functions work on.
pub(crate) trait Shell {
    /// A drain has ended: do what was deferred.
    fn wake(&self);

    /// JavaScript has none of its functions any more.
    fn lost(&self);

    /// The environment is ending.
    fn end(&self, js: Js<'_>);
}

impl fmt::Debug for dyn Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shell")
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Shells(RefCell<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    /// A number that no other shell of this process ever has.
    number: usize,
    shell: Rc<dyn Shell>,
    functions: usize,
}

impl Shells {
    /// Counts one more function of `shell`, which has this number.
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

    /// Counts one function less of the shell with this number.
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

    /// Tells all shells that a drain has ended.
    pub(crate) fn wake(&self) {
        for kept in self.0.borrow().iter() {
            kept.shell.wake();
        }
    }

    /// Ends all shells, because the environment is ending.
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
    fn a_shell_is_removed_with_its_last_function() {
        let (shells, one, other) = (Shells::default(), Rc::default(), Rc::default());
        shells.keep::<Told>(1, &one);
        shells.keep::<Told>(2, &other);
        shells.keep(1, &one);
        shells.function_lost(1);
        assert_eq!((one.lost.get(), Rc::strong_count(&one)), (0, 2));
        shells.function_lost(1);
        assert_eq!((one.lost.get(), Rc::strong_count(&one)), (1, 1));
        // a callback that comes after the shell was removed
        shells.function_lost(1);
        shells.wake();
        assert_eq!((one.woken.get(), other.woken.get()), (0, 1));
        assert_eq!(other.lost.get(), 0);
    }
}
