//! The options of a protocol on one listener, as JavaScript passes them: names and values that only the protocol
//! interprets. An option that the protocol does not read is an error. Debug output shows no values, because some are
//! passwords.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::net::address::ListenError;

#[cfg(test)]
mod tests;

/// Names and their values.
///
/// ```
/// use millrace_gateway::Options;
///
/// let user = Options::new().text("name", "ann").text("password", "secret");
/// let options = Options::new().text("publishAs", "text").list("users", [user]);
/// assert_eq!(format!("{options:?}"), r#"Options {"publishAs", "users"}"#);
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Options(BTreeMap<String, Value>);

/// The value of an option.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A boolean.
    Flag(bool),
    /// A JavaScript number.
    Number(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Values in order.
    List(Vec<Value>),
    /// Nested options.
    Fields(Options),
}

impl Options {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an option of any kind.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a boolean.
    #[must_use]
    pub fn flag(self, name: &str, value: bool) -> Self {
        self.with(name, value)
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, name: &str, value: impl Into<f64>) -> Self {
        self.with(name, value.into())
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, name: &str, value: impl Into<String>) -> Self {
        self.with(name, value.into())
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.with(name, Value::Bytes(value.into()))
    }

    /// Adds a list of values.
    #[must_use]
    pub fn list<V: Into<Value>>(self, name: &str, values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter().map(Into::into);
        self.with(name, Value::List(values.collect()))
    }

    /// Adds nested options.
    #[must_use]
    pub fn fields(self, name: &str, value: Self) -> Self {
        self.with(name, value)
    }

    /// A reader that records which options were read.
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            options: self,
            at: String::new(),
            read: RefCell::default(),
        }
    }
}

/// Reads options and records which ones. An option that is not given is `None`; one of another kind is an error.
#[derive(Debug)]
pub struct Reader<'o> {
    options: &'o Options,
    /// The path of these options: `""`, or for example `users[0].`.
    at: String,
    read: RefCell<BTreeSet<&'o str>>,
}

impl<'o> Reader<'o> {
    /// Reads a boolean.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ListenError> {
        self.kind(name, "true or false", |value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        })
    }

    /// Reads an integer of at least 0.
    pub fn whole(&self, name: &str) -> Result<Option<u64>, ListenError> {
        self.kind(name, "a whole number", |value| match value {
            Value::Number(number) => to_whole(*number),
            _ => None,
        })
    }

    /// Reads a text.
    pub fn text(&self, name: &str) -> Result<Option<&'o str>, ListenError> {
        self.kind(name, "a text", Value::as_text)
    }

    /// Reads bytes.
    pub fn bytes(&self, name: &str) -> Result<Option<&'o [u8]>, ListenError> {
        self.kind(name, "bytes", |value| match value {
            Value::Bytes(bytes) => Some(&**bytes),
            _ => None,
        })
    }

    /// Reads a list of texts.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, ListenError> {
        self.kind(name, "a list of texts", |value| match value {
            Value::List(values) => values
                .iter()
                .map(|value| value.as_text().map(str::to_owned))
                .collect(),
            _ => None,
        })
    }

    /// Reads one of these words, and returns what it stands for.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, ListenError> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("'{word}'")).collect();
            self.wrong(name, &format!("one of {}", words.join(", ")))
        })
    }

    /// Reads a list of nested options with `read`, and checks that each was read completely; empty if the list is not
    /// given.
    pub fn each<T>(
        &self,
        name: &str,
        read: impl Fn(&Self) -> Result<T, ListenError>,
    ) -> Result<Vec<T>, ListenError> {
        let fields = self.kind(name, "a list of objects", |value| match value {
            Value::List(values) => values.iter().map(Value::as_fields).collect(),
            _ => None,
        })?;
        let fields: Vec<&Options> = fields.unwrap_or_default();
        let numbered = fields.into_iter().enumerate();
        numbered
            .map(|(index, options)| {
                let own = Reader {
                    options,
                    at: format!("{}{name}[{index}].", self.at),
                    read: RefCell::default(),
                };
                let made = read(&own)?;
                own.finish()?;
                Ok(made)
            })
            .collect()
    }

    /// Reads nested options with `read`, and checks that they were read completely.
    pub fn nested<T>(
        &self,
        name: &str,
        read: impl Fn(&Self) -> Result<T, ListenError>,
    ) -> Result<Option<T>, ListenError> {
        let Some(options) = self.kind(name, "an object", Value::as_fields)? else {
            return Ok(None);
        };
        let own = Reader {
            options,
            at: format!("{}{name}.", self.at),
            read: RefCell::default(),
        };
        let made = read(&own)?;
        own.finish()?;
        Ok(Some(made))
    }

    /// The value of an option, of any kind.
    pub fn value(&self, name: &str) -> Option<&'o Value> {
        let (name, value) = self.options.0.get_key_value(name)?;
        self.read.borrow_mut().insert(name);
        Some(value)
    }

    /// The error for an option that has the wrong value.
    pub fn wrong(&self, name: &str, expected: &str) -> ListenError {
        ListenError::Option {
            option: format!("{}{name}", self.at),
            problem: format!("must be {expected}"),
        }
    }

    /// Checks that all options were read. `Err`: those that were not, because no such options exist.
    pub fn finish(&self) -> Result<(), ListenError> {
        let read = self.read.borrow();
        let mut unread = self
            .options
            .0
            .keys()
            .filter(|name| !read.contains(&***name));
        let Some(first) = unread.next() else {
            return Ok(());
        };
        let all = unread.fold(format!("{}{first}", self.at), |all, name| {
            format!("{all}, {}{name}", self.at)
        });
        Err(ListenError::Option {
            option: all,
            problem: "is no option of this protocol".to_owned(),
        })
    }

    fn kind<T>(
        &self,
        name: &str,
        expected: &str,
        is: impl FnOnce(&'o Value) -> Option<T>,
    ) -> Result<Option<T>, ListenError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        is(value)
            .map(Some)
            .ok_or_else(|| self.wrong(name, expected))
    }
}

impl Value {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn as_fields(&self) -> Option<&Options> {
        match self {
            Self::Fields(options) => Some(options),
            _ => None,
        }
    }
}

fn to_whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=MOST_WHOLE).contains(&number);
    // formatted without a fraction, which needs no cast
    is_whole
        .then(|| format!("{number:.0}").parse().ok())
        .flatten()
}

/// The largest integer that JavaScript represents safely.
const MOST_WHOLE: f64 = 9_007_199_254_740_991.0;

/// Shows only the names.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options ")?;
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Shows only the kind.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag(_) => "Flag",
            Self::Number(_) => "Number",
            Self::Text(_) => "Text",
            Self::Bytes(_) => "Bytes",
            Self::List(_) => "List",
            Self::Fields(_) => "Fields",
        })
    }
}

impl FromIterator<(String, Value)> for Options {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Options> for Value {
    fn from(options: Options) -> Self {
        Self::Fields(options)
    }
}
