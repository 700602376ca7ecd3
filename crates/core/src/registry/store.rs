//! The key/value store. Owns its three operations, each atomic.

use bytes::Bytes;

use super::Core;

impl Core {
    /// The value of a key.
    pub fn key(&self, key: &[u8]) -> Option<Bytes> {
        self.key_table(key).get(key).cloned()
    }

    /// Stores a value, or deletes the key where there is none; returns the value before.
    pub fn set_key(&self, key: &[u8], value: Option<Bytes>) -> Option<Bytes> {
        self.key_table(key).set(key, value)
    }

    /// Does what [`set_key`](Self::set_key) does if the present value equals `check`, where `None` means
    /// absent; returns whether it did.
    pub fn set_key_if(&self, key: &[u8], new: Option<Bytes>, check: Option<&[u8]>) -> bool {
        self.key_table(key).set_if(key, new, check)
    }
}
