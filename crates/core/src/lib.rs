//! Sockets, channels with their history, patterns, subscriptions, virtual sockets, tokens and the key/value store,
//! without I/O.
//!
//! [`Core`] is the registry that every transport and every worker shares. It owns which sockets exist, what
//! they are subscribed to and which I/O shard owns each one; it never reads a clock, starts a thread, uses a
//! network, or waits for anything but its own locks, which are held briefly. It tells I/O shards what
//! changed by the [`Post`] trait, which it calls while it holds the lock that orders the calls.
#![forbid(unsafe_code)]

mod annotation;
mod channel;
mod channel_list;
mod channels;
mod dangling;
mod elsewhere;
mod hash;
mod history;
mod id;
mod keys;
mod kind;
pub mod limits;
mod name;
mod name_map;
mod object;
mod past;
mod past_totals;
mod pasts;
mod pattern;
mod pattern_index;
mod patterns;
mod post;
mod presence;
mod present;
mod registry;
mod room;
mod rooms;
mod route;
mod sockets;
mod sync;
mod terms;

pub use crate::annotation::{Annotation, AnnotationError, NotAnObject};
pub use crate::channel_list::Tally;
pub use crate::history::{
    ChannelTerms, Cursor, ENTRY_CHARGE, Entered, Entering, Epoch, HistoryBounds, HistoryTerms,
    InStore, Kept, MOST_OFFSET, Manner, NAME_CHARGE, Number, PastSummary, Position, Progress,
    Published, Room, Start, Step, Stored,
};
pub use crate::id::{ChannelId, SocketId, TermsIndex};
pub use crate::keys::{Held, Update};
pub use crate::kind::Kind;
pub use crate::name::{Name, Space, Topic};
pub use crate::pattern::{Pattern, PatternError};
pub use crate::post::{Match, Numbered, Post, Recipient};
pub use crate::presence::{
    Batch, Changes, INFO_CHARGE, Info, InfoError, MemberCount, MemberId, MemberState, News,
    PresenceBounds, Unsaved,
};
pub use crate::present::Maker;
pub use crate::registry::{
    Bookmark, ChannelState, ChannelSummary, Core, Counts, EnterError, Entrance, NoPresence,
    OtherMembers, OwnError, Past, Reach, SocketState, Target, TokenError,
};
pub use crate::route::{Route, ShardIndex, ShardSet};
pub use crate::sockets::{Closed, SocketInfo, Token};
