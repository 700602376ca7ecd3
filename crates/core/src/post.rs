//! The way from the core to the I/O shards, and to other nodes. Owns the contract; never an inbox.

use std::sync::Arc;

use crate::annotation::Annotation;
use crate::id::{ChannelId, SocketId};
use crate::name::{Name, Topic};
use crate::route::{Route, ShardIndex};

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

/// A pattern that a message's channel matches.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The pattern's recipient list.
    pub pattern: ChannelId,
    /// The channel that the message was sent to.
    pub channel: &'a Name,
}

/// How the core reaches the I/O shards.
///
/// Each channel and each pattern has a recipient list on every shard, under an id of its own. Everything
/// about one channel is posted while that channel's lock is held, what changes a pattern's list while the
/// pattern is locked, and a direct message while its socket's lock is held, so that every shard sees one
/// order of subscribe, publish and unsubscribe. An implementation only appends to an inbox: it never blocks
/// and never calls back into the core. Waking the shards is the caller's, after the core's function returned.
///
/// What takes long to encode is not encoded under these locks: a message that is not
/// [ready](Self::is_ready) is [made so](Self::make_ready) before, if somebody is there to get it.
pub trait Post {
    /// A message in whatever form the implementation shares it.
    type Message: ?Sized;

    /// The first reference of (list, subscriber): add the recipient. `name` is that of the channel or
    /// pattern, the same for as long as the list has recipients.
    fn join(&mut self, list: ChannelId, name: &Name, recipient: Recipient);

    /// The last reference of (list, subscriber) is gone: remove the recipient.
    fn leave(&mut self, list: ChannelId, subscriber: SocketId, route: Route);

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

    /// As [`publish`](Self::publish), for the subscribers of a pattern.
    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
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

    /// Whether a message can be posted in the short time that a lock may be held; as who is sent to with this
    /// annotation gets it, or as subscribers do. Asked before anything is posted, for a single socket while
    /// its lock is held.
    fn is_ready(&self, message: &Self::Message, annotation: Option<&Arc<Annotation>>) -> bool {
        let _ = (message, annotation);
        true
    }

    /// Does ahead of posting what takes longer. Called with no lock held; nothing may come of it, because
    /// who was there to get the message may be gone by then.
    fn make_ready(&mut self, message: &Self::Message, annotation: Option<&Arc<Annotation>>) {
        let _ = (message, annotation);
    }

    /// Whether [`upstream`](Self::upstream) takes messages that nobody here is subscribed to.
    fn has_upstream(&self) -> bool {
        false
    }

    /// A channel or pattern got its first subscriber, or lost its last: for the link to other nodes. Called
    /// while its lock is held, so the last call for a name tells how it is.
    fn wanted(&mut self, name: &Name, wanted: bool) {
        let _ = (name, wanted);
    }

    /// A message was published in a channel, whoever is subscribed: for the link to other nodes. Called
    /// before anything is posted for it, while the channel's lock is held.
    fn upstream(&mut self, channel: Topic<'_>, message: &Self::Message) {
        let _ = (channel, message);
    }
}
