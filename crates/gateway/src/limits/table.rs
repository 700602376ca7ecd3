//! The macro for tables of limits, and setting a limit by the name of its option. Defines no limit.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Makes a struct of limits with their defaults from rows of the form `/// limits what`, `name: Type = default,
/// least..=most, "when met";`. Durations are in milliseconds there. A row without a range cannot be set by a number,
/// and a table without any range cannot be set at all.
macro_rules! limits {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $met:literal;)*
    }) => {
        $crate::limits::limits! { @struct $(#[$meta])* $vis struct $name {
            $($(#[$doc])* $field: $type = $default, $met;)*
        } }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $range:expr $(, $met:literal)?;)*
    }) => {
        $crate::limits::limits! { @struct $(#[$meta])* $vis struct $name {
            $($(#[$doc])* $field: $type = $default, $crate::limits::limits!(@met $range $(, $met)?);)*
        } }

        impl $crate::limits::Table for $name {
            fn options() -> Vec<String> {
                Self::default().rows().map(|row| row.option()).collect()
            }

            fn set(&mut self, option: &str, value: u64) -> Result<(), $crate::limits::LimitError> {
                $crate::limits::table::set(self.rows(), option, value)
            }
        }

        impl $name {
            fn rows(&mut self) -> impl Iterator<Item = $crate::limits::table::Row<'_>> {
                let rows = [$($crate::limits::limits!(@row $field, self.$field, $range $(, $met)?)),*];
                rows.into_iter().flatten()
            }
        }
    };
    (@struct $(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $met:expr;)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$doc])* #[doc = concat!("\n\nWhen met: ", $met, ".")] $vis $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
    (@met $range:expr, $met:literal) => { $met };
    (@met $met:expr) => { $met };
    (@row $field:ident, $place:expr, $range:expr, $met:literal) => {
        Some($crate::limits::table::Row::new(stringify!($field), $range, &mut $place))
    };
    (@row $field:ident, $place:expr, $met:expr) => { None };
}

pub(crate) use limits;

/// A table of limits that options set by name. The macro implements it if a row has a range.
pub trait Table: Default {
    /// The options that [`Self::set`] accepts, as JavaScript names them.
    fn options() -> Vec<String>;

    /// Sets the limit that an option names; a duration is in milliseconds.
    fn set(&mut self, option: &str, value: u64) -> Result<(), LimitError>;
}

/// Why an option does not set a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The table has no such limit.
    #[error("no limit is called {0}")]
    Unknown(String),
    /// No table of the protocol has limits with these names.
    #[error("no limit of this protocol is called {0}")]
    OfNoTable(String),
    /// The value is below the range or above it.
    #[error("{option} must be from {least} to {most}, not {value}")]
    OutOfRange {
        /// The option.
        option: String,
        /// The least value.
        least: u64,
        /// The greatest value.
        most: u64,
        /// The value that was given.
        value: u64,
    },
}

/// A type of limit.
pub(crate) trait Bound {
    /// The suffix of its options' names.
    fn suffix(&self) -> &'static str {
        ""
    }

    /// Sets the number. False: the type cannot hold it.
    fn put(&mut self, number: u64) -> bool;
}

impl Bound for u32 {
    fn put(&mut self, number: u64) -> bool {
        put(self, Self::try_from(number).ok())
    }
}

impl Bound for usize {
    fn put(&mut self, number: u64) -> bool {
        put(self, Self::try_from(number).ok())
    }
}

impl Bound for u64 {
    fn put(&mut self, number: u64) -> bool {
        put(self, Some(number))
    }
}

impl Bound for Duration {
    fn suffix(&self) -> &'static str {
        "Ms"
    }

    fn put(&mut self, number: u64) -> bool {
        put(self, Some(Self::from_millis(number)))
    }
}

fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.is_some_and(|value| {
        *place = value;
        true
    })
}

/// A limit that an option sets.
pub(crate) struct Row<'a> {
    field: &'static str,
    range: RangeInclusive<u64>,
    place: &'a mut dyn Bound,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        field: &'static str,
        range: RangeInclusive<u64>,
        place: &'a mut dyn Bound,
    ) -> Self {
        Self {
            field,
            range,
            place,
        }
    }

    /// The option of the limit: `idle_timeout` has `idleTimeoutMs`.
    pub(crate) fn option(&self) -> String {
        let mut option = String::new();
        for (index, word) in self.field.split('_').enumerate() {
            let mut characters = word.chars();
            let first = characters.next().filter(|_| index > 0);
            option.extend(first.map(|first| first.to_ascii_uppercase()));
            option.push_str(first.map_or(word, |_| characters.as_str()));
        }
        option + self.place.suffix()
    }
}

/// Sets the limit among `rows` that has this option.
pub(crate) fn set<'a>(
    mut rows: impl Iterator<Item = Row<'a>>,
    option: &str,
    value: u64,
) -> Result<(), LimitError> {
    let Some(row) = rows.find(|row| row.option() == option) else {
        return Err(LimitError::Unknown(option.to_owned()));
    };
    if row.range.contains(&value) && row.place.put(value) {
        return Ok(());
    }
    Err(LimitError::OutOfRange {
        option: option.to_owned(),
        least: *row.range.start(),
        most: *row.range.end(),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    limits! {
        /// A sample.
        #[derive(Debug, PartialEq)]
        struct Sample {
            /// A.
            http2_streams: u32 = 5, 1..=10, "a";
            /// B.
            policy: &'static str = "close", "b";
            /// C.
            idle_timeout: Duration = Duration::ZERO, 0..=2_000, "c";
            /// D.
            keys_bytes: u64 = 1024 * 1024, 1..=u64::MAX, "d";
            /// E.
            requests: u32 = 5, 1..=u64::MAX, "e";
        }
    }

    #[test]
    fn limits_are_set_by_the_names_of_their_options() {
        assert_eq!(
            Sample::options(),
            ["http2Streams", "idleTimeoutMs", "keysBytes", "requests"]
        );
        let mut limits = Sample::default();
        assert_eq!(limits.set("http2Streams", 10), Ok(()));
        assert_eq!(limits.set("idleTimeoutMs", 1_500), Ok(()));
        assert_eq!(limits.set("keysBytes", u64::MAX), Ok(()));
        let expected = Sample {
            http2_streams: 10,
            policy: "close",
            idle_timeout: Duration::from_millis(1_500),
            keys_bytes: u64::MAX,
            requests: 5,
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn unknown_limits_and_values_out_of_range_change_nothing() {
        let mut limits = Sample::default();
        for name in ["policy", "http2_streams", "idleTimeout", ""] {
            assert_eq!(
                limits.set(name, 1),
                Err(LimitError::Unknown(name.to_owned()))
            );
        }
        for (option, value, range) in [
            ("http2Streams", 11, 1..=10),
            ("http2Streams", 0, 1..=10),
            ("idleTimeoutMs", 2_001, 0..=2_000),
            ("requests", 1 << 32, 1..=u64::MAX),
        ] {
            let error = LimitError::OutOfRange {
                option: option.to_owned(),
                least: *range.start(),
                most: *range.end(),
                value,
            };
            assert_eq!(limits.set(option, value), Err(error));
        }
        assert_eq!(limits, Sample::default());
    }
}
