//! A connection's life over a real environment and hub, with no thread, no runtime and a peer in memory.

mod bodies;
mod effects;
mod half_close;
mod harness;
mod lives;
pub(crate) mod probe;
mod sends;
mod sockety;
mod sockety_assembly;
mod sockety_contents;
mod sockety_down;
mod sockety_files;
mod sockety_lost;
mod sockety_room;
