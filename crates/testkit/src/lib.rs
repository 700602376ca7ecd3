//! Test partners: the naive model of the core and clients. Development only.
