//! One lock shard of the key/value store. Owns keys and values; never interprets either.

use std::collections::HashMap;

use ahash::RandomState;
use bytes::Bytes;

/// Keys and values; both may be empty.
pub(crate) struct KeyTable(HashMap<Box<[u8]>, Bytes, RandomState>);

impl KeyTable {
    pub(crate) fn new(hasher: RandomState) -> Self {
        Self(HashMap::with_hasher(hasher))
    }

    /// Stores the value, or deletes the key where there is none; returns what was there.
    pub(crate) fn set(&mut self, key: &[u8], value: Option<Bytes>) -> Option<Bytes> {
        let Some(value) = value else {
            return self.0.remove(key);
        };
        match self.0.get_mut(key) {
            Some(present) => Some(std::mem::replace(present, value)),
            None => self.0.insert(key.into(), value),
        }
    }

    /// [`set`](Self::set), if what is there equals `check`; whether it did.
    pub(crate) fn set_if(&mut self, key: &[u8], new: Option<Bytes>, check: Option<&[u8]>) -> bool {
        let matches = self.0.get(key).map(|present| &present[..]) == check;
        if matches {
            self.set(key, new);
        }
        matches
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Bytes> {
        self.0.get(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Bytes)> {
        self.0.iter().map(|(key, value)| (&key[..], value))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::name_hasher;

    const A: Option<Bytes> = Some(Bytes::from_static(b"a"));

    #[test]
    fn setting_returns_what_was_there() {
        let mut table = KeyTable::new(name_hasher());
        assert_eq!(table.set(b"k", A), None);
        assert_eq!(table.set(b"k", Some(Bytes::new())), A);
        assert_eq!(table.get(b"k"), Some(&Bytes::new()));
        assert_eq!(table.set(b"k", None), Some(Bytes::new()));
        assert_eq!(table.set(b"k", None), None);
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn the_empty_key_is_a_key() {
        let mut table = KeyTable::new(name_hasher());
        assert_eq!(table.set(b"", A), None);
        assert_eq!(table.get(b""), A.as_ref());
        assert_eq!(
            table.iter().collect::<Vec<_>>(),
            [(&b""[..], &Bytes::from_static(b"a"))]
        );
    }

    #[test]
    fn setting_conditionally_follows_the_table_of_cases() {
        let mut table = KeyTable::new(name_hasher());
        assert!(!table.set_if(b"k", A, Some(b"")), "absent is not empty");
        assert!(table.set_if(b"k", None, None), "absent, nothing to store");
        assert_eq!(table.len(), 0);
        assert!(table.set_if(b"k", A, None));
        assert!(!table.set_if(b"k", None, None), "present");
        assert!(!table.set_if(b"k", None, Some(b"b")));
        assert!(table.set_if(b"k", Some(Bytes::new()), Some(b"a")));
        assert!(table.set_if(b"k", None, Some(b"")));
        assert_eq!(table.get(b"k"), None);
    }
}
