//! The store of histories on a real NATS with JetStream: the same promises as over Redis. The tests are skipped without
//! `nats-server`, unless `MILLRACE_REQUIRE_ALL=1`.

mod bounds;
mod cluster;
#[path = "../store/node.rs"]
mod node;
mod order;
mod outages;
#[path = "../ports/mod.rs"]
mod ports;
mod presence;
mod proxy;
mod restored;
#[path = "../store/roll.rs"]
mod roll;
#[path = "../store/scenes.rs"]
mod scenes;
mod server;
mod strangers;
