//! A signal of libuv's event loop: how any thread wakes the one that runs the loop. Owns the memory of libuv's asynchronous
//! handle, and what may be done with it, when and on which thread; does not know what is signalled.
#![expect(
    unsafe_code,
    reason = "a handle is memory that libuv uses until it is closed"
)]

mod libuv;

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use parking_lot::RwLock;

pub use libuv::Libuv;

/// See the module. Its clones are the same signal, and dropping them does not close it.
#[derive(Clone, Debug)]
pub struct LoopSignal(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    libuv: Libuv,
    raw: *mut c_void,
    /// The loop's thread, the only one on which the handle is opened, held, released and closed.
    thread: ThreadId,
    /// Read-locked during every send, so that none is under way when the handle is closed. The woken thread does not wait
    /// for it, because only closing locks it for writing.
    is_open: RwLock<bool>,
}

// SAFETY: libuv's function that sends is made for any thread, and every other use of the pointer is on the loop's thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// What belongs to a handle until libuv has closed it. Used on the loop's thread only.
struct Home {
    handle: Arc<Handle>,
    layout: Layout,
    on_signal: Box<dyn Fn() -> bool>,
}

impl LoopSignal {
    /// Opens a signal that does not keep the loop running until [`hold`](Self::hold). The loop calls `on_signal` after one
    /// signal or several, and once more if it returned true, after everything else that waits has had its turn. It must not
    /// panic. It is dropped on this thread when libuv has closed the handle, and not before it returns. `None` if libuv
    /// makes no handle.
    ///
    /// # Safety
    /// `event_loop` is a `uv_loop_t` of the libuv that has these functions. This thread runs it, no other one ever does, and
    /// it exists until `on_signal` is dropped.
    pub unsafe fn open(
        libuv: Libuv,
        event_loop: *mut c_void,
        on_signal: Box<dyn Fn() -> bool>,
    ) -> Option<Self> {
        let layout = Layout::from_size_align(libuv.async_bytes(), ALIGN).ok()?;
        if layout.size() < size_of::<*const Home>() {
            return None;
        }
        // SAFETY: the layout has a size.
        let raw = unsafe { alloc::alloc_zeroed(layout) }.cast::<c_void>();
        if raw.is_null() {
            alloc::handle_alloc_error(layout);
        }
        // SAFETY: the memory is large enough, and the loop is that of this thread, as the caller promises.
        let status = unsafe { (libuv.async_init)(event_loop, raw, signalled) };
        if status != 0 {
            // SAFETY: libuv did not take it.
            unsafe { alloc::dealloc(raw.cast(), layout) };
            return None;
        }
        let handle = Arc::new(Handle {
            libuv,
            raw,
            thread: thread::current().id(),
            is_open: RwLock::new(true),
        });
        let home = Rc::into_raw(Rc::new(Home {
            handle: Arc::clone(&handle),
            layout,
            on_signal,
        }));
        // SAFETY: the first word of a handle is its user's, and libuv calls nothing before this function returns.
        unsafe { raw.cast::<*const Home>().write(home) };
        // SAFETY: the handle was just made on this thread.
        unsafe { (libuv.release)(raw) };
        Some(Self(handle))
    }

    /// Has the loop call back soon, once for all signals that it has not seen. Any thread may call this; after
    /// [`close`](Self::close) it does nothing.
    pub fn send(&self) {
        self.0.send();
    }

    /// Keeps the loop running. Does nothing on another thread, or after [`close`](Self::close).
    pub fn hold(&self) {
        self.0.keep_running(true);
    }

    /// Lets the loop end. Does nothing on another thread, or after [`close`](Self::close).
    pub fn release(&self) {
        self.0.keep_running(false);
    }

    /// Closes the signal: the loop does not call back any more, and no send is under way when this returns. Returns false
    /// if it is closed already, or if this is another thread than the loop's, on which it does nothing.
    pub fn close(&self) -> bool {
        self.0.close()
    }
}

impl Handle {
    fn send(&self) {
        let is_open = self.is_open.read();
        if *is_open {
            // SAFETY: the handle is not closed while the lock is held. It fails only for a handle of another kind.
            let _sent = unsafe { (self.libuv.async_send)(self.raw) };
        }
    }

    fn keep_running(&self, holds: bool) {
        if self.is_elsewhere() || !*self.is_open.read() {
            return;
        }
        let call = if holds {
            self.libuv.hold
        } else {
            self.libuv.release
        };
        // SAFETY: the handle is open, and this is its thread, on which alone it is closed.
        unsafe { call(self.raw) };
    }

    fn close(&self) -> bool {
        if self.is_elsewhere() || !mem::replace(&mut *self.is_open.write(), false) {
            return false;
        }
        // SAFETY: the handle was open until now, this is its thread, and no send is under way or will be.
        unsafe { (self.libuv.close)(self.raw, closed) };
        true
    }

    fn is_elsewhere(&self) -> bool {
        thread::current().id() != self.thread
    }
}

/// libuv calls this on its loop's thread after one signal or several.
unsafe extern "C" fn signalled(raw: *mut c_void) {
    // SAFETY: `open` has put the home there, and libuv calls this before `closed`. A count of its own keeps the home if the
    // callback closes the handle and runs the loop.
    let home = unsafe {
        let home = raw.cast::<*const Home>().read();
        Rc::increment_strong_count(home);
        Rc::from_raw(home)
    };
    if (home.on_signal)() {
        home.handle.send();
    }
}

/// libuv calls this on its loop's thread when it does not use the handle's memory any more.
unsafe extern "C" fn closed(raw: *mut c_void) {
    // SAFETY: `open` has put it there, and libuv calls this once.
    let home = unsafe { Rc::from_raw(raw.cast::<*const Home>().read()) };
    // SAFETY: it was allocated with this layout, and nobody uses it after `close`.
    unsafe { alloc::dealloc(raw.cast(), home.layout) };
}

/// The alignment of memory that C allocates.
const ALIGN: usize = 16;

#[cfg(test)]
mod tests;
