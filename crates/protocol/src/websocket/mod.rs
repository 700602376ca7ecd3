//! RFC 6455: opening handshake, frames, messages and close codes.
//!
//! Owns the whole wire protocol of WebSocket, in both roles. Never touches a socket: [`Decoder`] gets
//! the bytes that were read and returns items, the `append_*` functions write frames into a buffer, and
//! [`handshake`] checks a request that was parsed elsewhere.
//!
//! ```
//! use millrace_protocol::websocket::{Decoder, DecoderConfig, Input, Item, Opcode, append_part};
//!
//! let mut read = Vec::new();
//! append_part(&mut read, Opcode::Text, true, Some([1, 2, 3, 4]), b"hello");
//!
//! let (mut decoder, config) = (Decoder::new(), DecoderConfig::default());
//! let mut input = Input::new(&mut read);
//! while let Some(item) = decoder.next(&mut input, &config, 0)? {
//!     assert!(matches!(item, Item::Message { payload, .. } if &payload[..] == b"hello"));
//! }
//! # Ok::<(), millrace_protocol::websocket::DecodeError>(())
//! ```

pub mod close;
pub mod deflate;
pub mod handshake;

mod assembly;
mod config;
mod decoder;
mod encode;
mod error;
mod head;
mod input;
mod item;
mod mask;
mod masked;
mod opcode;
mod partial;
mod rate;
mod rsv1;
mod sent;
mod simple;

pub use config::{DecoderConfig, Role};
pub use decoder::Decoder;
pub use encode::{append_close, append_frame, append_masked_close, append_part, header};
pub use error::DecodeError;
pub use input::Input;
pub use item::{Item, Payload};
pub use masked::Masked;
pub use opcode::{Kind, Opcode};
pub use sent::{SentFrame, split_sent};
