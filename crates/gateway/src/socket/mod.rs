//! The contract between one connection and what it speaks: the session, which decides what bytes mean, and the context, in
//! which it says what is to happen.

pub(crate) mod context;
mod session;

pub(crate) use context::Context;
pub(crate) use session::{Flow, Goodbye, Liveness, Session, Taken, Traits, Wake};
