//! HTTP/1.x as it comes from the network, judged before any parser sees it.
//!
//! Owns what a request may look like on the wire and where it ends. Parses nothing for anybody: [`Inspector`]
//! is fed with the bytes that were read and says how many of them may be passed on to a parser, which is then
//! free to be lenient. Never looks behind an upgrade.
//!
//! ```
//! use millrace_protocol::http::{Inspector, InspectorConfig, Outcome, Refusal};
//!
//! let config = InspectorConfig::default();
//! let read = b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\nGET / HT";
//! let progress = Inspector::new().inspect(read, &config);
//! assert_eq!((progress.passed, progress.outcome), (37, Outcome::More));
//!
//! let read = b"GET / HTTP/1.1\nHost: example.com\n\n";
//! let progress = Inspector::new().inspect(read, &config);
//! assert_eq!(progress.outcome, Outcome::Refused(Refusal::BareLineFeed));
//! ```

pub mod answer;
pub mod apart;
mod bytes;
mod chunked;
mod config;
mod field;
mod head;
pub mod head_lines;
mod inspector;
mod refusal;
mod request_line;

pub use bytes::lists;
pub use config::InspectorConfig;
pub use inspector::{Inspector, Outcome, Progress};
pub use refusal::Refusal;
pub use request_line::METHODS;
