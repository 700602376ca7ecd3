//! Limits as they were given: options and numbers of any tables. Knows no table; a limit that no table reads is an
//! error.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::table::{LimitError, Table};

/// Limits by the names of their options; durations are in milliseconds. `ListenerConfig::set_limit` sets them.
///
/// ```
/// use millrace_gateway::ListenerConfig;
///
/// let mut config = ListenerConfig::default();
/// config.set_limit("keepAliveTimeoutMs", 60_000)?; // a limit of HTTP
/// config.set_limit("idleTimeoutMs", 5_000)?; // a limit of every listener
/// assert_eq!(config.limits.idle_timeout.as_secs(), 5);
/// # Ok::<(), millrace_gateway::limits::LimitError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitValues(BTreeMap<String, u64>);

impl LimitValues {
    /// Adds a limit, and replaces an earlier one of the same option.
    pub(crate) fn insert(&mut self, option: &str, value: u64) {
        self.0.insert(option.to_owned(), value);
    }

    /// A reader that records which limits were read.
    pub(crate) fn reader(&self) -> LimitReader<'_> {
        LimitReader {
            values: &self.0,
            read: RefCell::default(),
        }
    }
}

/// Reads limits into tables and records which ones.
#[derive(Debug)]
pub(crate) struct LimitReader<'v> {
    values: &'v BTreeMap<String, u64>,
    read: RefCell<BTreeSet<String>>,
}

impl LimitReader<'_> {
    /// Reads a table: the given values, and the defaults of the rest.
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

    /// Checks that all limits were read. `Err`: those that are in no table.
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

    fn given(limits: &[(&str, u64)]) -> LimitValues {
        let mut values = LimitValues::default();
        for (option, value) in limits {
            values.insert(option, *value);
        }
        values
    }

    #[test]
    fn each_table_reads_its_own_limits_and_has_defaults_for_the_rest() {
        let values = given(&[("streams", 1), ("keysBytes", 2)]);
        let reader = values.reader();
        let one = One {
            streams: 1,
            pieces: 7,
        };
        assert_eq!(reader.table(), Ok(one));
        assert_eq!(reader.table(), Ok(Other { keys_bytes: 2 }));
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(LimitValues::default().reader().finish(), Ok(()));
    }

    #[test]
    fn the_error_names_limits_that_no_table_reads() {
        let values = given(&[("streams", 1), ("keysBytes", 2), ("keys_bytes", 2)]);
        let reader = values.reader();
        reader.table::<One>().unwrap();
        let error = reader.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no limit of this protocol is called keysBytes, keys_bytes"
        );
    }

    #[test]
    fn the_error_names_the_range_of_a_limit() {
        let values = given(&[("keysBytes", 11)]);
        let error = values.reader().table::<Other>().unwrap_err();
        assert_eq!(error.to_string(), "keysBytes must be from 1 to 10, not 11");
    }
}
