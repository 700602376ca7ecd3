//! Limits as they were given: options and numbers of whichever tables. Knows no table; what no table takes is an error.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::table::{LimitError, Table};

/// Limits by the names of their options; durations are in milliseconds.
///
/// ```
/// use millrace_gateway::limits::LimitValues;
///
/// let limits = LimitValues::new().with("keepAliveTimeoutMs", 60_000);
/// assert!(limits.has("keepAliveTimeoutMs"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitValues(BTreeMap<String, u64>);

impl LimitValues {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, option: &str, value: u64) -> Self {
        self.insert(option, value);
        self
    }

    /// One more, in the place of an earlier one.
    pub fn insert(&mut self, option: &str, value: u64) {
        self.0.insert(option.to_owned(), value);
    }

    /// Whether this one is given.
    pub fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }

    /// Reads them into tables, and remembers what was read.
    pub(crate) fn reader(&self) -> LimitReader<'_> {
        LimitReader {
            values: &self.0,
            read: RefCell::default(),
        }
    }
}

/// Limits that are being read, and which were.
#[derive(Debug)]
pub(crate) struct LimitReader<'v> {
    values: &'v BTreeMap<String, u64>,
    read: RefCell<BTreeSet<String>>,
}

impl LimitReader<'_> {
    /// A table: what is given, and the defaults of the rest.
    pub(crate) fn table<T: Table>(&self) -> Result<T, LimitError> {
        let mut table = T::default();
        for option in T::options() {
            if let Some(value) = self.values.get(&option) {
                table.set(&option, *value)?;
                self.read.borrow_mut().insert(option);
            }
        }
        Ok(table)
    }

    /// All are read. `Err`: those that no table took.
    pub(crate) fn finish(&self) -> Result<(), LimitError> {
        let read = self.read.borrow();
        let unread = self.values.keys().filter(|option| !read.contains(*option));
        let unread: Vec<&str> = unread.map(String::as_str).collect();
        if unread.is_empty() {
            Ok(())
        } else {
            Err(LimitError::OfNoTable(unread.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::limits;

    limits! {
        /// One.
        #[derive(Debug, PartialEq)]
        struct One {
            /// A.
            streams: u32 = 5, 1..=10, "a";
            /// B.
            pieces: u32 = 7, 1..=10, "b";
        }
    }

    limits! {
        /// Another.
        #[derive(Debug, PartialEq)]
        struct Other {
            /// C.
            keys_bytes: u64 = 9, 1..=10, "c";
        }
    }

    #[test]
    fn each_table_takes_its_own_and_has_defaults_for_the_rest() {
        let values = LimitValues::new().with("streams", 1).with("keysBytes", 2);
        let reader = values.reader();
        let one = One {
            streams: 1,
            pieces: 7,
        };
        assert_eq!(reader.table(), Ok(one));
        assert_eq!(reader.table(), Ok(Other { keys_bytes: 2 }));
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(LimitValues::new().reader().finish(), Ok(()));
    }

    #[test]
    fn what_no_table_takes_is_named() {
        let values = LimitValues::new()
            .with("streams", 1)
            .with("keysBytes", 2)
            .with("keys_bytes", 2);
        let reader = values.reader();
        reader.table::<One>().unwrap();
        let error = reader.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            "keysBytes, keys_bytes is no limit of this protocol"
        );
    }

    #[test]
    fn what_is_out_of_range_is_named_with_its_range() {
        let values = LimitValues::new().with("keysBytes", 11);
        let error = values.reader().table::<Other>().unwrap_err();
        assert_eq!(error.to_string(), "keysBytes must be from 1 to 10, not 11");
    }
}
