//! The options of a listener that belong to HTTP itself; endpoints read their own.

use crate::net::address::ListenError;
use crate::options::{Reader, Value};

/// Which browser origins may open a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Origins {
    /// Any origin, and requests without `Origin`.
    #[default]
    Any,
    /// The origin's host and port must equal the request's `Host`; requests without `Origin` come from no browser and
    /// are allowed.
    SameHost,
    /// One of these (`scheme://host[:port]`, compared without case); requests without `Origin` are allowed.
    List(Vec<String>),
}

impl Origins {
    /// Reads the option `origins`.
    pub(super) fn read(options: &Reader<'_>) -> Result<Self, ListenError> {
        match options.value("origins") {
            None => Ok(Self::Any),
            Some(Value::List(_)) => Ok(Self::List(options.texts("origins")?.unwrap_or_default())),
            Some(Value::Text(text)) if text == "*" => Ok(Self::Any),
            Some(Value::Text(text)) if text == "same-host" => Ok(Self::SameHost),
            Some(_) => Err(options.wrong("origins", "'*', 'same-host' or a list of texts")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn origins_are_a_word_or_a_list() {
        let read = |options: Options| Origins::read(&options.reader());
        assert_eq!(read(Options::new()).unwrap(), Origins::Any);
        let word = |word: &str| read(Options::new().text("origins", word));
        assert_eq!(word("*").unwrap(), Origins::Any);
        assert_eq!(word("same-host").unwrap(), Origins::SameHost);
        let list = Options::new().list("origins", ["https://a.example"]);
        let expected = Origins::List(vec!["https://a.example".to_owned()]);
        assert_eq!(read(list).unwrap(), expected);
        for wrong in [
            Options::new().text("origins", "same"),
            Options::new().flag("origins", true),
            Options::new().list("origins", [true]),
        ] {
            assert!(read(wrong).is_err());
        }
    }
}
