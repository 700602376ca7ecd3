//! The whole server without JavaScript: I/O shards, listeners, adapters, worker queues and limits.
//!
//! A [`Gateway`] is one core with its shards, listeners and workers. It knows workers only as queues with a
//! [`Doorbell`], so that it runs and is tested without JavaScript.
#![forbid(unsafe_code)]

mod adapter;
mod backplane;
mod close;
pub mod config;
mod contract;
mod disk;
mod doorbell;
mod event;
mod fault;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gateway;
mod http;
mod hub;
mod inbox;
mod inflaters;
pub mod limits;
mod listener;
mod net;
mod notice;
pub mod options;
mod permits;
mod secret;
mod shard;
mod socket;
mod stats;
mod sync;
mod target_stats;
mod worker;

pub use config::{GatewayConfig, ListenerConfig};
pub use doorbell::Doorbell;
pub use event::{
    Acceptance, Answers, Handlers, Head, Operation, Place, Rejection, Reply, Step, StreamId,
    TextPlace, TransferId, Whole,
};
pub use frame::{HEAD_ROOM, KeptMessage, SharedBytes};
pub use gateway::{
    Adopted, DialConfig, Gateway, Listening, Member, SpreadTerms, StartError, StopTerms,
};
pub use http::{AnswerHead, AnswerHeads, HeadError, Verbatim};
pub use hub::{
    Asked, Forwardable, Hub, PastError, Sending, SubscribeError, TOKEN_WORDS, TokenWords, Worker,
    unix_ms,
};
pub use millrace_backplane::{
    Bounds as BackplaneBounds, ClusterInfo, Config as BackplaneConfig,
    Credentials as BackplaneCredentials, MOST_CHANNELS, Protocol as BackplaneProtocol,
    Sentinel as BackplaneSentinel, Server as BackplaneServer, Signer as BackplaneSigner,
    Stats as BackplaneStats, Tls as BackplaneTls,
};
pub use millrace_core::{
    Annotation, AnnotationError, ChannelState, Core, Counts, EnterError, Entered, Entrance, Epoch,
    Held, HistoryTerms, Info, InfoError, Kept, Kind, Maker, Manner, MemberCount, MemberId,
    MemberState, Name, NoPresence, Number, Past, Pattern, PatternError, Position, Published, Reach,
    ShardSet, SocketId, SocketState, Space, Start, Tally, Target, Token, TokenError, Topic, Update,
};
pub use net::address::{BindAddress, ListenError};
pub use net::connect::DialTarget;
pub use net::proxy::{TrustError, Trusted};
pub use net::tls::{ClientCertificates, ClientTls, Identity, TlsConfig, TlsError};
pub use notice::{DialError, Notice};
pub use options::Options;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub use shard::bench;
pub use stats::{
    CompressionStats, HistoryStats, PresenceStats, Stats, Times, Traffic, WorkerStats,
};
pub use worker::{AsciiText, Batch, Sidecar};

/// Whether an application may close a connection with this code: 1000 to 1003, 1007 to 1014, 3000 to 4999.
pub fn is_sendable_close_code(code: u16) -> bool {
    millrace_protocol::websocket::close::is_sendable(code)
}
