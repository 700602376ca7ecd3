//! The store of histories on a real Redis or Valkey: one order and equal offsets for all nodes, whatever happens to links
//! and servers. The tests are skipped without `redis-server` (or the program of `MILLRACE_TEST_REDIS`), unless
//! `MILLRACE_REQUIRE_ALL=1`.

mod bounds;
mod cluster;
mod lost_data;
mod node;
mod order;
mod outages;
#[path = "../ports/mod.rs"]
mod ports;
mod presence;
mod roll;
mod scenes;
mod secure;
mod secured;
mod server;
mod strangers;
