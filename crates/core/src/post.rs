//! The way from the core to the I/O shards. Owns the contract; never an inbox.

use std::sync::Arc;

use crate::annotation::Annotation;
use crate::id::{ChannelId, SocketId};
use crate::route::{Route, ShardIndex};

/// What a message is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Bytes.
    Binary,
}

/// One entry of an I/O shard's recipient list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The subscribed socket, real or virtual.
    pub subscriber: SocketId,
    /// The real socket behind it.
    pub route: Route,
    /// What this subscriber's copies are marked with; of a chain, the outermost annotation.
    pub annotation: Option<Arc<Annotation>>,
}

/// How the core reaches the I/O shards.
///
/// Everything about one channel is posted while that channel's lock is held, and a direct message while
/// its socket's lock is held, so that every shard sees one order of subscribe, publish and unsubscribe.
/// An implementation only appends to an inbox: it never blocks and never calls back into the core. Waking
/// the shards is the caller's, after the core's function returned.
pub trait Post {
    /// A message in whatever form the implementation shares it.
    type Message: ?Sized;

    /// The first reference of (channel, subscriber): add the recipient.
    fn join(&mut self, channel: ChannelId, recipient: Recipient);

    /// The last reference of (channel, subscriber) is gone: remove the recipient.
    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, route: Route);

    /// A message for the `recipients` subscribers that the channel has on this shard without those in
    /// `except`, which is sorted and holds only subscribers of the channel, on any shard.
    ///
    /// False if the shard's inbox is full: its recipients are then not counted as deliveries.
    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &Self::Message,
        except: &[SocketId],
        recipients: u32,
    ) -> bool;

    /// A message for one socket. False if the shard's inbox is full.
    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &Self::Message,
    ) -> bool;
}
