//! Re-exports what an adapter may use of the gateway, apart from the lowest layer (limits, counters, locks). Owns
//! nothing.
//!
//! A *protocol* is a value of [`Protocol`] that makes a [`Service`] from a listener's [`Options`]. If each of its
//! streams is one socket, it uses [`Streams`], whose [`Session`]s handle a connection through their [`Context`]. An
//! HTTP endpoint uses `crate::http` as well. `docs/decisions/0017` and `0021` say why.

pub(crate) use crate::close::{CloseMode, CloseReason};
pub(crate) use crate::config::{ClientPublishing, ListenerConfig};
pub(crate) use crate::event::record::Asking;
pub(crate) use crate::event::{
    Acceptance, FIRST_CREDIT, Handlers, Head, Step, TransferId, Transport, Turn, Whole,
};
pub(crate) use crate::event::{
    Calling, Event, Instruction, Operation, Question, Reply, Untaken, Waiting,
};
pub(crate) use crate::frame::{
    Charge, CompressionTerms, Encoding, EncodingDef, Encodings, Frame, HeadedDef, KeptMessage,
    LateReply, Message, WordedDef,
};
pub(crate) use crate::hub::{Hub, Received, Worker, unix_ms};
pub(crate) use crate::hub::{Readiness, Reading, StoreVerdict, Teller};
pub(crate) use crate::listener::Peer;
pub(crate) use crate::net::address::ListenError;
pub(crate) use crate::net::connect::{self, DialTarget};
pub(crate) use crate::net::special_addresses::is_special;
pub(crate) use crate::net::stream::{Carried, Stream};
pub(crate) use crate::net::tls::{ClientTls, Connector, random};
pub(crate) use crate::options::{Options, Reader};
pub(crate) use crate::shard::open::{Opened, Refusal};
pub(crate) use crate::shard::protocol::{Needs, Protocol, Service, Streams};
pub(crate) use crate::shard::tasks::spawn;
pub(crate) use crate::shard::{Part, Shard};
pub(crate) use crate::socket::env::Env;
pub(crate) use crate::socket::links::{Dial, Dialled, Link, Reached};
pub(crate) use crate::socket::transfers::{Owner, TakesSteps};
pub(crate) use crate::socket::{
    Context, Flow, Fragment, Goodbye, Liveness, MemberChange, Presence, Session, Taken, Traits,
    Wake,
};
pub(crate) use crate::worker::queue;
