//! How the runtime's rare callbacks find their environment. Some come late, and some on another thread, with the
//! module object of a thread that has ended. They carry a slot, which is never freed but reused, and which
//! returns its content only on the thread that put it there. Does not know that content.
#![expect(
    unsafe_code,
    reason = "any thread may check whether a kept address is its own"
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

// SAFETY: the address is returned only on the thread that it came from, and no other code uses it.
unsafe impl Send for Content {}

impl Slot {
    /// The content that this thread has put here; `None` if another thread did or it was removed.
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

    /// The slot that this [`data`](Self::data) belongs to.
    ///
    /// # Safety
    /// `data` comes from a slot.
    pub(crate) unsafe fn of(data: *mut c_void) -> &'static Self {
        // SAFETY: as the caller promises, and slots are never freed.
        unsafe { &*data.cast_const().cast::<Self>() }
    }
}

/// All slots: as many as were ever in use at the same time.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Vec<&'static Slot>>);

impl Slots {
    /// Takes a slot with this address, which belongs to the calling thread until it is [given
    /// back](Self::give_back).
    pub(crate) fn take(&self, address: *const c_void) -> &'static Slot {
        let free = self.0.lock().pop();
        let slot = free.unwrap_or_else(|| Box::leak(Box::default()));
        let thread = thread::current().id();
        *slot.0.lock() = Some(Content { thread, address });
        slot
    }

    /// Empties a slot, so that it can be reused.
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
        assert!(!seen.expect("the thread does not panic"));
        slots.give_back(slot);
        assert_eq!(slot.content(), None);
    }

    #[test]
    fn a_slot_that_is_given_back_is_reused() {
        let slots = Slots::default();
        let first = slots.take(ptr::null());
        slots.give_back(first);
        let again = slots.take(ptr::null());
        assert!(ptr::eq(first, again));
        assert!(!ptr::eq(first, slots.take(ptr::null())));
    }
}
