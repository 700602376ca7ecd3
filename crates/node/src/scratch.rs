//! The bytes of strings on their way from JavaScript into Rust. Owns one buffer per environment,
//! which keeps its capacity between calls; never interprets its content.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An environment's buffer while no call uses it.
#[derive(Default)]
pub(crate) struct Scratch(Cell<Vec<u8>>);

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// The buffer while a call uses it. If a getter calls the addon again meanwhile, that call gets a
/// new buffer.
#[derive(Debug)]
pub(crate) struct Borrowed<'a> {
    home: &'a Scratch,
    bytes: Vec<u8>,
}

impl Scratch {
    pub(crate) fn borrow(&self) -> Borrowed<'_> {
        Borrowed {
            home: self,
            bytes: self.0.take(),
        }
    }

    /// Frees the memory.
    pub(crate) fn clear(&self) {
        drop(self.0.take());
    }
}

impl Deref for Borrowed<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        if bytes.capacity() <= KEPT_BYTES {
            self.home.0.set(bytes);
        }
    }
}

/// The capacity that is kept between calls. More than this is freed after a huge message.
const KEPT_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_kept_and_content_is_cleared() {
        let scratch = Scratch::default();
        scratch.borrow().extend_from_slice(&[1; 1000]);
        let again = scratch.borrow();
        assert!(again.is_empty());
        assert!(again.capacity() >= 1000);
    }

    #[test]
    fn a_nested_call_gets_a_buffer_of_its_own() {
        let scratch = Scratch::default();
        let mut outer = scratch.borrow();
        outer.push(1);
        scratch.borrow().push(2);
        assert_eq!(outer[..], [1]);
    }

    #[test]
    fn a_huge_capacity_is_freed() {
        let scratch = Scratch::default();
        scratch.borrow().reserve(KEPT_BYTES + 1);
        assert_eq!(scratch.borrow().capacity(), 0);
    }
}
