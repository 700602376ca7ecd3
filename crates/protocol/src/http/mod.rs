//! HTTP/1.x from the network, checked before a parser sees it.
//!
//! Owns which requests are valid on the wire and where they end. Does not parse requests for others:
//! [`Inspector`] gets the bytes that were read and says how many of them may be passed on to a parser, which
//! may then be lenient. Never looks at bytes after an upgrade.
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
pub use field::Asks;
pub use inspector::{Inspector, NextHead, Outcome, Progress};
pub use refusal::Refusal;
pub use request_line::METHODS;
