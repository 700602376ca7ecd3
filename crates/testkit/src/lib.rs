//! The naive model of the core, for tests. A development dependency only, never one of the package.
#![forbid(unsafe_code)]

pub mod model;
