//! Memory that Rust and JavaScript share on one thread: an `ArrayBuffer` that is made once and used
//! for every batch. Owns its address; does not know its content.
#![expect(
    unsafe_code,
    reason = "the runtime owns the memory and gives its address"
)]

use std::ptr;

use crate::failure::{Failure, Outcome};
use crate::js::{Js, Reference, Value};

/// See the module. Only JavaScript of this package gets the buffer, so no other code can transfer it.
/// Its maker keeps it until [`release`](Self::release) or the environment's end.
#[derive(Debug)]
pub(crate) struct Memory {
    kept: Reference,
    data: *mut u8,
    length: usize,
}

impl Memory {
    /// Makes a buffer of `length` bytes. Returns it as a JavaScript value and for use here.
    pub(crate) fn new(js: Js<'_>, length: usize) -> Outcome<(Value<'_>, Self)> {
        let (buffer, data) = js.array_buffer(&vec![0; length])?;
        if data.is_null() {
            return Err(Failure::internal("the runtime gave no memory"));
        }
        let kept = js.keep(buffer)?;
        let memory = Self { kept, data, length };
        Ok((buffer, memory))
    }

    /// Releases the buffer to the runtime.
    pub(crate) fn release(self, js: Js<'_>) {
        js.forget(self.kept);
    }

    /// Writes `bytes` to its start. Returns false if they do not fit.
    pub(crate) fn fill(&self, bytes: &[u8]) -> bool {
        if bytes.len() > self.length {
            return false;
        }
        // SAFETY: `data` has `length` bytes, which the kept buffer holds in place, and JavaScript, on
        // this same thread, is not running.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, bytes.len()) };
        true
    }

    /// The first `count` pairs of doubles in it; fewer if the buffer is shorter.
    pub(crate) fn pairs(&self, count: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        let room = self.length / (2 * size_of::<f64>());
        let at = |index: usize| {
            // SAFETY: in range by `take` below, alive and unchanging as in `fill`.
            let bytes = unsafe {
                self.data
                    .add(index * size_of::<f64>())
                    .cast::<[u8; 8]>()
                    .read()
            };
            f64::from_ne_bytes(bytes)
        };
        (0..count)
            .take(room)
            .map(move |pair| (at(2 * pair), at(2 * pair + 1)))
    }
}
