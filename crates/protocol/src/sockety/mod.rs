//! Sockety: messages with data, files and streams, many at a time on one connection.
//!
//! Owns the wire, which is the same in both directions and for both roles. A message or a response is its *head* (id,
//! action or parent, sizes, file names: what a packet of it has as its body) and its *contents* (data, files, a stream).
//! [`Decoder`] is fed with what was read and yields heads, and contents piece by piece as they come; the `append_*`
//! functions write packets, and [`Sender`] decides which packets they are and on which channel. Holds no contents, claims no
//! memory for sizes that were announced, reads no clock, makes no ids.
//!
//! ```
//! use millrace_protocol::sockety::{
//!     Decoder, DecoderConfig, FileList, Head, Id, Item, Sender, Subject, append_header,
//! };
//!
//! let mut sent = Vec::new();
//! append_header(4096, &mut sent);
//! let mut sender = Sender::new(4096);
//! let head = Head {
//!     subject: Subject::Action("greet"),
//!     id: Id::v4([7; 16]),
//!     expects_response: true,
//!     has_stream: false,
//!     data_size: 5,
//!     files: FileList::default(),
//! };
//! let channel = sender.begin(&head, &mut sent)?.unwrap();
//! sender.data(channel, b"hello", &mut sent)?;
//!
//! let (mut decoder, config, mut input) = (Decoder::new(), DecoderConfig::default(), &sent[..]);
//! assert_eq!(decoder.next(&mut input, &config)?, Some(Item::Header { channels: 4096 }));
//! let message = Item::Message { channel: 0, head, finished: false };
//! assert_eq!(decoder.next(&mut input, &config)?, Some(message));
//! let data = Item::Data { channel: 0, bytes: b"hello", left: 0, finished: true };
//! assert_eq!(decoder.next(&mut input, &config)?, Some(data));
//! assert_eq!(decoder.next(&mut input, &config)?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod channel_set;
mod channels;
mod config;
mod contents;
mod decoder;
mod encode;
mod error;
mod files;
mod head;
mod header;
mod id;
mod in_progress;
mod item;
mod kept;
mod outgoing;
mod packet;
mod partial;
mod sender;
mod width;

pub use config::DecoderConfig;
pub use contents::{Content, ContentsError};
pub use decoder::Decoder;
pub use encode::{
    ABORT, GO_AWAY, HEARTBEAT, MOST_CODE, STREAM_END, append_begin, append_body, append_continue,
    append_data_head, append_fast_reply, append_file_end, append_file_head, append_head,
    append_payload, append_stream_head, append_switch, data_packet_bytes,
};
pub use error::{DecodeError, EncodeError};
pub use files::{FileInfo, FileList, FileListBuf};
pub use head::{Head, Subject};
pub use header::{MOST_CHANNELS, append_header};
pub use id::Id;
pub use item::Item;
pub use sender::{SendError, Sender};
