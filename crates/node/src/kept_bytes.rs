//! Bytes that a worker's thread hands over once and sends many times, identified by numbers. Owns them until JavaScript
//! releases them, and what the runtime was told about their memory.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use millrace_gateway::SharedBytes;

use crate::js::Js;

/// The kept bytes of one thread.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes {
    /// The bytes and their lengths by number.
    kept: RefCell<HashMap<u32, (SharedBytes, usize)>>,
    last: Cell<u32>,
    /// The sum of all lengths.
    size: Cell<usize>,
    /// The part of this sum that the runtime was told.
    told: Cell<usize>,
}

impl KeptBytes {
    /// Copies bytes and returns their number. `None` if too many bytes are kept already.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Option<u32> {
        let size = self.size.get().checked_add(bytes.len());
        let size = size.filter(|size| *size <= MOST_KEPT)?;
        let mut kept = self.kept.borrow_mut();
        let mut number = self.last.get().wrapping_add(1);
        while kept.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        kept.insert(number, (SharedBytes::new(bytes), bytes.len()));
        self.last.set(number);
        self.size.set(size);
        Some(number)
    }

    /// Releases bytes. Messages that were sent with them still hold them.
    pub(crate) fn forget(&self, number: u32) {
        if let Some((_, length)) = self.kept.borrow_mut().remove(&number) {
            self.size.update(|size| size - length);
        }
    }

    /// Releases all bytes.
    pub(crate) fn clear(&self) {
        self.kept.borrow_mut().clear();
        self.size.set(0);
    }

    /// The bytes with this number; `None` if there are none.
    pub(crate) fn get(&self, number: u32) -> Option<SharedBytes> {
        let kept = self.kept.borrow();
        kept.get(&number).map(|(shared, _)| shared.clone())
    }

    /// Tells the runtime how many bytes there are, because only garbage collection releases them.
    pub(crate) fn weigh(&self, js: Js<'_>) {
        js.count_memory(self.change());
    }

    /// The change since the runtime was told. The runtime must be told now.
    fn change(&self) -> i64 {
        let size = self.size.get();
        let told = self.told.replace(size);
        let signed = |size| i64::try_from(size).unwrap_or_default();
        signed(size) - signed(told)
    }
}

/// The most bytes that are kept.
const MOST_KEPT: usize = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_used_twice() {
        let kept = KeptBytes::default();
        let first = kept.keep(b"first").unwrap();
        kept.last.set(first.wrapping_sub(1));
        let second = kept.keep(b"second").unwrap();
        assert_ne!(first, second);
        assert_eq!(kept.get(first), Some(SharedBytes::new(b"first")));
        kept.forget(first);
        assert_eq!(kept.get(first), None);
        assert_eq!(kept.get(second), Some(SharedBytes::new(b"second")));
    }

    #[test]
    fn kept_bytes_are_bounded_and_weighed() {
        let kept = KeptBytes::default();
        let most = vec![0; MOST_KEPT];
        let first = kept.keep(&most[1..]).unwrap();
        assert_eq!(kept.keep(b"xy"), None);
        let second = kept.keep(b"x").unwrap();
        assert_eq!(kept.change(), i64::try_from(MOST_KEPT).unwrap());
        kept.forget(second);
        kept.forget(second);
        assert_eq!(kept.change(), -1);
        kept.forget(first);
        assert!(kept.keep(b"xy").is_some());
        assert_eq!(kept.change(), 3 - i64::try_from(MOST_KEPT).unwrap());
        kept.clear();
        assert_eq!((kept.change(), kept.change()), (-2, 0));
    }
}
