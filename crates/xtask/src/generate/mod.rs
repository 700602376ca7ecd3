//! The pages made from code, one file each. They are committed, and tidy fails when one is stale.

pub(crate) mod errors;
pub(crate) mod limits;
mod shown;

use crate::tree::Tree;

/// Why a page cannot be made from its source.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SourceError {
    #[error("is missing, and a page is generated from it")]
    Missing,
    #[error("holds no {0}")]
    Empty(&'static str),
    #[error("cannot be read near \"{0}\"")]
    Syntax(String),
    #[error("the default \"{0}\" has no readable form: teach crates/xtask/src/generate/shown.rs")]
    Default(String),
}

/// A generated page: where it lies, what it is made from, and what it should say.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) source: &'static str,
    pub(crate) text: Result<String, SourceError>,
}

pub(crate) fn pages(tree: &Tree) -> [Page; 2] {
    let of = |source: &str, make: fn(&str) -> Result<String, SourceError>| {
        tree.text(source)
            .ok_or(SourceError::Missing)
            .and_then(|text| make(text))
    };
    [
        Page {
            path: "docs/limits.md",
            source: limits::SOURCE,
            text: of(limits::SOURCE, limits::page),
        },
        Page {
            path: "docs/errors.md",
            source: errors::SOURCE,
            text: of(errors::SOURCE, errors::page),
        },
    ]
}
