//! The only place in this crate that names a lock or an atomic, so that loom can replace them; and how to keep those of
//! different threads on different cache lines.

#[cfg(not(millrace_loom))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(millrace_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use std::ops::{Deref, DerefMut};

#[cfg(millrace_loom)]
pub(crate) use loom::sync::MutexGuard;
#[cfg(millrace_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Loom's mutex with the interface of parking_lot: without poisoning.
#[cfg(millrace_loom)]
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(millrace_loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("loom stops at a panic")
    }
}

/// Loom's condition variable with the interface of parking_lot.
#[cfg(millrace_loom)]
#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

#[cfg(millrace_loom)]
impl Condvar {
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Releases a lock until the variable is notified.
#[cfg(not(millrace_loom))]
pub(crate) fn wait_for<'a, T>(bell: &Condvar, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    bell.wait(&mut guard);
    guard
}

/// Releases a lock until the variable is notified.
#[cfg(millrace_loom)]
pub(crate) fn wait_for<'a, T>(bell: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    bell.0.wait(guard).expect("loom stops at a panic")
}

/// A value on cache lines of its own, for what one thread writes often beside what others read or write. Processors
/// fetch lines of 64 bytes in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
