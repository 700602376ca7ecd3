//! Test partners: the naive model of the core. Development only; never a dependency of what is shipped.
#![forbid(unsafe_code)]

pub mod model;
