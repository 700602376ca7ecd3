//! Tests a connection's life with a real environment and hub, but without threads or a runtime, and with a peer in
//! memory.

mod bodies;
mod effects;
mod half_close;
mod harness;
mod lives;
mod marks;
pub(crate) mod probe;
mod sends;
mod sockety;
mod sockety_assembly;
mod sockety_contents;
mod sockety_down;
mod sockety_files;
mod sockety_lost;
mod sockety_room;
mod streaming;
