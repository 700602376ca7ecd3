//! Bytes that a worker's thread hands over once and sends many times, by numbers. Owns them until JavaScript lets go of them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use millrace_gateway::SharedBytes;

/// Those of one thread.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes {
    kept: RefCell<HashMap<u32, SharedBytes>>,
    last: Cell<u32>,
}

impl KeptBytes {
    /// Copies bytes; their number.
    pub(crate) fn keep(&self, bytes: &[u8]) -> u32 {
        let mut kept = self.kept.borrow_mut();
        let mut number = self.last.get().wrapping_add(1);
        while kept.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        kept.insert(number, SharedBytes::new(bytes));
        self.last.set(number);
        number
    }

    /// What was sent with them still has them.
    pub(crate) fn forget(&self, number: u32) {
        self.kept.borrow_mut().remove(&number);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.kept.borrow_mut().clear();
    }

    /// `None`: no bytes have that number.
    pub(crate) fn get(&self, number: u32) -> Option<SharedBytes> {
        self.kept.borrow().get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_kept_are_given_once() {
        let kept = KeptBytes::default();
        let first = kept.keep(b"first");
        kept.last.set(first.wrapping_sub(1));
        let second = kept.keep(b"second");
        assert_ne!(first, second);
        assert_eq!(kept.get(first), Some(SharedBytes::new(b"first")));
        kept.forget(first);
        assert_eq!(kept.get(first), None);
        assert_eq!(kept.get(second), Some(SharedBytes::new(b"second")));
    }
}
