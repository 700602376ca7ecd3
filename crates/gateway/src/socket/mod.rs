//! One connection's life as a state machine over [`Env`](env::Env), and the contract with what it speaks: its session, which
//! decides what bytes mean, and the context, in which it says what is to happen. Nothing here spawns or sleeps.

mod admission;
pub(crate) mod bodies;
pub(crate) mod close;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod credit;
pub(crate) mod ending;
pub(crate) mod env;
pub(crate) mod fullest;
pub(crate) mod inbound;
pub(crate) mod outbox;
mod outside;
pub(crate) mod rate;
mod read;
pub(crate) mod read_queue;
mod session;
pub(crate) mod stops;
mod timers;
pub(crate) mod transfers;
mod waker;
pub(crate) mod wheel;
mod write;

pub(crate) use context::Context;
pub(crate) use session::{Flow, Goodbye, Liveness, Session, Taken, Traits, Wake};

#[cfg(test)]
pub(crate) mod tests;
