//! The bytes of strings on their way from JavaScript into Rust. Owns one buffer per environment that
//! keeps its room between calls; never interprets what is in it.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An environment's buffer, at rest.
#[derive(Default)]
pub(crate) struct Scratch(Cell<Vec<u8>>);

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// The buffer, in use by one call. A getter that calls back into the addon meanwhile gets a new one.
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

    /// Gives the memory back.
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

/// Room kept between calls; what one huge message needed is given back.
const KEPT_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept_and_content_is_not() {
        let scratch = Scratch::default();
        scratch.borrow().extend_from_slice(&[1; 1000]);
        let again = scratch.borrow();
        assert!(again.is_empty());
        assert!(again.capacity() >= 1000);
    }

    #[test]
    fn a_nested_call_gets_its_own() {
        let scratch = Scratch::default();
        let mut outer = scratch.borrow();
        outer.push(1);
        scratch.borrow().push(2);
        assert_eq!(outer[..], [1]);
    }

    #[test]
    fn huge_room_is_given_back() {
        let scratch = Scratch::default();
        scratch.borrow().reserve(KEPT_BYTES + 1);
        assert_eq!(scratch.borrow().capacity(), 0);
    }
}
