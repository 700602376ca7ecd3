//! How a thread that runs JavaScript is woken. Owns no thread: the addon and the tests implement it.

/// Wakes a JavaScript thread. Called from any thread; never blocks; does nothing once its
/// environment is gone.
pub trait Doorbell: Send + Sync {
    /// Makes the thread drain soon.
    fn ring(&self);
}
