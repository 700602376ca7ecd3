//! The native addon: argument conversion, worker drains and doorbells. The only napi code.
//!
//! It converts and forwards; the gateway or JavaScript makes every decision. Each JavaScript thread
//! that loads it has one [`environment::Environment`]; the process has one [`addon::Addon`].
#![deny(unsafe_code)]

mod add_worker;
mod addon;
mod adopt;
mod answering;
mod arguments;
mod backpressure;
mod bind;
mod bound;
mod calling;
mod cluster;
mod config;
mod control;
mod debug;
mod dial;
mod door;
mod drain;
mod entry;
mod environment;
mod exchange;
mod failure;
mod forward;
mod guarded_files;
mod handlers;
mod hot;
mod http_request;
mod js;
mod kept_bytes;
mod log;
mod log_relay;
mod log_sink;
mod memory;
mod module;
mod numbers;
mod past;
mod presence;
mod questions;
mod replies;
mod ring_again;
mod scratch;
mod sendings;
mod shells;
mod slot;
#[cfg(unix)]
mod sockets;
mod sources;
mod stats;
mod streams;
mod tell;
mod texts;
mod token_words;
mod worker;

use napi::bindgen_prelude::{Env, JsValue, Object};
use napi_derive::napi;

/// Fills the module's exports. The runtime calls it once for each thread that loads the addon.
#[napi(module_exports)]
pub fn initialize(exports: Object, env: Env) -> napi::Result<()> {
    module::open(env.raw(), exports.raw())
}
