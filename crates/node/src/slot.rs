//! Where the runtime's rare callbacks find the environment that they are for. Some come late, and some on another
//! thread, with the module object of one that has ended: what they carry is a slot, which is never freed but used
//! again, and which gives its content only to the thread that put it there. Knows nothing of that content.
#![expect(
    unsafe_code,
    reason = "an address is kept where any thread may look whether it is its own"
)]

use std::ffi::c_void;
use std::ptr;
use std::thread::{self, ThreadId};

use parking_lot::Mutex;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Option<Content>>);

#[derive(Debug)]
struct Content {
    thread: ThreadId,
    address: *const c_void,
}

// SAFETY: the address is given to the thread that it came from, and nobody else uses it.
unsafe impl Send for Content {}

impl Slot {
    /// What this thread has put here; nothing if that was another one, or it has been taken out.
    pub(crate) fn content(&self) -> Option<*const c_void> {
        let content = self.0.lock();
        let own = content
            .as_ref()
            .filter(|content| content.thread == thread::current().id());
        own.map(|content| content.address)
    }

    /// The slot as a callback's data.
    pub(crate) fn data(&'static self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// The slot whose [`data`](Self::data) this is.
    ///
    /// # Safety
    /// It is that of some slot.
    pub(crate) unsafe fn of(data: *mut c_void) -> &'static Self {
        // SAFETY: the caller's promise, and slots are never freed.
        unsafe { &*data.cast_const().cast::<Self>() }
    }
}

/// All slots: as many as were in use at once.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Vec<&'static Slot>>);

impl Slots {
    /// A slot with this address, which belongs to the calling thread, until it is [given back](Self::give_back).
    pub(crate) fn take(&self, address: *const c_void) -> &'static Slot {
        let free = self.0.lock().pop();
        let slot = free.unwrap_or_else(|| Box::leak(Box::default()));
        let thread = thread::current().id();
        *slot.0.lock() = Some(Content { thread, address });
        slot
    }

    /// Empties a slot, for others to use.
    pub(crate) fn give_back(&self, slot: &'static Slot) {
        *slot.0.lock() = None;
        self.0.lock().push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_filled_a_slot_sees_its_content() {
        let slots = Slots::default();
        let address = ptr::without_provenance::<c_void>(8);
        let slot = slots.take(address);
        assert_eq!(slot.content(), Some(address));
        let seen = thread::spawn(move || slot.content().is_some()).join();
        assert!(!seen.expect("the thread only looks"));
        slots.give_back(slot);
        assert_eq!(slot.content(), None);
    }

    #[test]
    fn a_slot_that_is_given_back_is_used_again() {
        let slots = Slots::default();
        let first = slots.take(ptr::null());
        slots.give_back(first);
        let again = slots.take(ptr::null());
        assert!(ptr::eq(first, again));
        assert!(!ptr::eq(first, slots.take(ptr::null())));
    }
}
