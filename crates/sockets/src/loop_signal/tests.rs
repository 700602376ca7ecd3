//! A signal on an event loop that stands in for libuv's: it has one handle, and runs when a test says so.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::LoopSignal;
use super::libuv::{Callback, Libuv};

#[derive(Default)]
struct Loop {
    handle: Cell<*mut Memory>,
    refuses: bool,
    is_held: Cell<bool>,
    closing: Cell<Option<Callback>>,
    is_closed: AtomicBool,
    /// A signal that the loop has not seen yet.
    is_pending: AtomicBool,
    sent: AtomicUsize,
}

/// What libuv has in a handle's memory.
#[repr(C)]
struct Memory {
    data: *mut c_void,
    event_loop: *const Loop,
    callback: Callback,
}

const LIBUV: Libuv = Libuv {
    handle_size,
    async_init,
    async_send,
    close,
    hold,
    release,
};

unsafe extern "C" fn handle_size(kind: c_int) -> usize {
    assert_eq!(kind, 1, "UV_ASYNC");
    size_of::<Memory>()
}

unsafe extern "C" fn async_init(
    event_loop: *mut c_void,
    raw: *mut c_void,
    callback: Callback,
) -> c_int {
    let event_loop = event_loop.cast_const().cast::<Loop>();
    // SAFETY: the tests give their loop.
    let known = unsafe { &*event_loop };
    if known.refuses {
        return -1;
    }
    let raw = raw.cast::<Memory>();
    let memory = Memory {
        data: ptr::null_mut(),
        event_loop,
        callback,
    };
    // SAFETY: it has the size above.
    unsafe { raw.write(memory) };
    known.is_held.set(true);
    known.handle.set(raw);
    0
}

/// The loop of a handle.
unsafe fn loop_of<'l>(raw: *mut c_void) -> &'l Loop {
    // SAFETY: the handle is open, and the test keeps its loop.
    let event_loop = unsafe { &*(*raw.cast::<Memory>()).event_loop };
    assert!(!event_loop.is_closed.load(Ordering::SeqCst));
    event_loop
}

unsafe extern "C" fn async_send(raw: *mut c_void) -> c_int {
    // SAFETY: this is a handle of these tests.
    let event_loop = unsafe { loop_of(raw) };
    event_loop.sent.fetch_add(1, Ordering::SeqCst);
    event_loop.is_pending.store(true, Ordering::SeqCst);
    0
}

unsafe extern "C" fn close(raw: *mut c_void, callback: Callback) {
    // SAFETY: as above.
    let event_loop = unsafe { loop_of(raw) };
    event_loop.is_closed.store(true, Ordering::SeqCst);
    event_loop.closing.set(Some(callback));
}

unsafe extern "C" fn hold(raw: *mut c_void) {
    // SAFETY: as above.
    unsafe { loop_of(raw) }.is_held.set(true);
}

unsafe extern "C" fn release(raw: *mut c_void) {
    // SAFETY: as above.
    unsafe { loop_of(raw) }.is_held.set(false);
}

impl Loop {
    fn open(self: &Rc<Self>, on_signal: impl Fn() -> bool + 'static) -> Option<LoopSignal> {
        let event_loop = Rc::as_ptr(self).cast_mut().cast();
        // SAFETY: the loop has these functions, is run by its test's thread only, and outlives its handle.
        unsafe { LoopSignal::open(LIBUV, event_loop, Box::new(on_signal)) }
    }

    /// Runs what waits, once.
    fn run(&self) {
        let handle = self.handle.get();
        if self.is_pending.swap(false, Ordering::SeqCst) && self.closing.get().is_none() {
            // SAFETY: the handle is open.
            unsafe { ((*handle).callback)(handle.cast()) };
        }
        if let Some(closed) = self.closing.take() {
            self.handle.set(ptr::null_mut());
            // SAFETY: the handle is not used after this.
            unsafe { closed(handle.cast()) };
        }
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }
}

#[test]
fn the_loop_calls_back_once_for_all_signals_of_all_threads() {
    let event_loop = Rc::new(Loop::default());
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let signal = event_loop.open(move || {
        counted.set(counted.get() + 1);
        false
    });
    let signal = signal.expect("the loop makes a handle");
    event_loop.run();
    assert_eq!(calls.get(), 0);
    let other = signal.clone();
    let sending = thread::spawn(move || {
        for _ in 0..3 {
            other.send();
        }
    });
    sending.join().expect("the thread does not panic");
    signal.send();
    event_loop.run();
    event_loop.run();
    assert_eq!((event_loop.sent(), calls.get()), (4, 1));
    assert!(signal.close());
    event_loop.run();
}

#[test]
fn a_callback_that_left_something_is_called_again() {
    let event_loop = Rc::new(Loop::default());
    let left = Rc::new(Cell::new(2));
    let counted = Rc::clone(&left);
    let signal = event_loop.open(move || {
        counted.set(counted.get() - 1);
        counted.get() > 0
    });
    let signal = signal.expect("the loop makes a handle");
    signal.send();
    event_loop.run();
    assert_eq!(left.get(), 1, "the rest of the loop has its turn");
    event_loop.run();
    event_loop.run();
    assert_eq!(left.get(), 0);
    assert!(signal.close());
    event_loop.run();
}

#[test]
fn a_closed_signal_does_nothing_and_keeps_its_callback_until_libuv_is_done() {
    let event_loop = Rc::new(Loop::default());
    let kept = Rc::new(());
    let counted = Rc::clone(&kept);
    let signal = event_loop.open(move || panic!("{counted:?} is closed"));
    let signal = signal.expect("the loop makes a handle");
    signal.send();
    assert!(signal.close());
    signal.send();
    signal.hold();
    signal.release();
    assert_eq!((event_loop.sent(), Rc::strong_count(&kept)), (1, 2));
    event_loop.run();
    assert_eq!(Rc::strong_count(&kept), 1);
    assert!(!signal.close());
    signal.send();
}

#[test]
fn only_the_thread_of_the_loop_holds_releases_and_closes() {
    let event_loop = Rc::new(Loop::default());
    let signal = event_loop.open(|| false).expect("the loop makes a handle");
    assert!(!event_loop.is_held.get());
    let other = signal.clone();
    let elsewhere = thread::spawn(move || {
        other.hold();
        other.close()
    });
    assert!(!elsewhere.join().expect("the thread does not panic"));
    assert!(!event_loop.is_held.get());
    signal.hold();
    assert!(event_loop.is_held.get());
    let other = signal.clone();
    let elsewhere = thread::spawn(move || other.release());
    elsewhere.join().expect("the thread does not panic");
    assert!(event_loop.is_held.get());
    signal.release();
    assert!(!event_loop.is_held.get());
    assert!(signal.close());
    event_loop.run();
}

#[test]
fn a_loop_that_makes_no_handle_keeps_no_callback() {
    let event_loop = Rc::new(Loop {
        refuses: true,
        ..Loop::default()
    });
    let kept = Rc::new(());
    let counted = Rc::clone(&kept);
    assert!(
        event_loop
            .open(move || Rc::strong_count(&counted) > 9)
            .is_none()
    );
    assert_eq!(Rc::strong_count(&kept), 1);
}

#[test]
fn a_callback_may_close_its_signal_and_run_the_loop() {
    let event_loop = Rc::new(Loop::default());
    let own = Rc::new(OnceCell::<LoopSignal>::new());
    let (signal, inner) = (Rc::clone(&own), Rc::clone(&event_loop));
    let opened = event_loop.open(move || {
        assert!(signal.get().is_some_and(LoopSignal::close));
        inner.run();
        assert!(inner.handle.get().is_null(), "libuv has closed it");
        true
    });
    let opened = opened.expect("the loop makes a handle");
    opened.send();
    assert!(own.set(opened).is_ok());
    event_loop.run();
    assert_eq!((event_loop.sent(), Rc::strong_count(&own)), (1, 1));
}

#[test]
fn no_send_reaches_a_handle_that_is_closed_meanwhile() {
    let event_loop = Rc::new(Loop::default());
    let signal = event_loop.open(|| false).expect("the loop makes a handle");
    let sending: Vec<_> = (0..2)
        .map(|_| {
            let signal = signal.clone();
            thread::spawn(move || {
                for _ in 0..1_000 {
                    signal.send();
                }
            })
        })
        .collect();
    while event_loop.sent() == 0 {
        thread::yield_now();
    }
    assert!(signal.close());
    let sent = event_loop.sent();
    event_loop.run();
    for sender in sending {
        sender.join().expect("the thread does not panic");
    }
    assert_eq!(event_loop.sent(), sent);
}
