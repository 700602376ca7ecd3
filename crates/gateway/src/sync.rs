//! The only place in this crate that names a lock or an atomic, so that loom can replace them.

#[cfg(not(millrace_loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(not(millrace_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
