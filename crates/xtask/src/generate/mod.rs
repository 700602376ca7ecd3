//! The pages and modules that are generated from code, one file each. They are committed, and tidy fails if
//! one is out of date.

pub(crate) mod errors;
mod kinds;
mod limit_options;
mod limits;
mod numbered;
mod numbers;
mod shown;
pub(crate) mod tables;

use crate::tree::Tree;

use tables::Table;

/// Why a page cannot be generated.
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
    #[error("the limit {0} is there twice: names are unique over all tables")]
    Twice(String),
    #[error("the number {0} is taken twice in a table")]
    Taken(String),
    #[error("the default of the limit {0} is not in its range")]
    OutOfRange(String),
}

/// A generated page: its path, its source, and its content.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) source: &'static str,
    pub(crate) text: Result<String, SourceError>,
}

pub(crate) fn pages(tree: &Tree) -> [Page; 4] {
    let errors = tree.text(errors::SOURCE).ok_or(SourceError::Missing);
    let kinds = tree.text(kinds::SOURCE).ok_or(SourceError::Missing);
    let limits = |make: fn(&[Table]) -> Result<String, SourceError>| make(&tables::tables(tree)?);
    [
        Page {
            path: "docs/limits.md",
            source: tables::SOURCE,
            text: limits(limits::page),
        },
        Page {
            path: "js/src/options/limits.generated.ts",
            source: tables::SOURCE,
            text: limits(limit_options::module),
        },
        Page {
            path: "docs/errors.md",
            source: errors::SOURCE,
            text: errors.and_then(|text| errors::page(text)),
        },
        Page {
            path: "js/src/worker/kinds.generated.ts",
            source: kinds::SOURCE,
            text: kinds.and_then(|text| kinds::module(text)),
        },
    ]
}
