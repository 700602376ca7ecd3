//! The naive models of the core, for tests. A development dependency only, never one of the package.
#![forbid(unsafe_code)]

pub mod history;
pub mod model;
