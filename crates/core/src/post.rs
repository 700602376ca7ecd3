//! How the core reaches the I/O shards and other nodes. Owns the contract; never an inbox.

use std::sync::Arc;

use crate::annotation::Annotation;
use crate::history::{Entering, HistoryTerms, Manner, Number, Position};
use crate::id::{ChannelId, SocketId, TermsIndex};
use crate::name::{Name, Topic};
use crate::presence::Batch;
use crate::route::{Route, ShardIndex};

/// One entry of an I/O shard's recipient list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The subscribed socket, real or virtual.
    pub subscriber: SocketId,
    /// The real socket behind it.
    pub route: Route,
    /// How the copies for this subscriber are marked: the outermost annotation of its chain.
    pub annotation: Option<Arc<Annotation>>,
    /// Whether its client knows of it: it has subscribed itself, or its shard was told how the socket has
    /// [entered](Post::enter).
    pub is_known: bool,
}

/// A message of a channel with history, as an I/O shard gets it.
#[derive(Debug)]
pub struct Numbered<'a, M: ?Sized> {
    /// Its number.
    pub number: &'a Number,
    /// The last message before it that the shard has [refused](Post::publish_numbered) without being told so: its
    /// recipients miss everything up to there.
    pub missed: Option<Position>,
    /// The message.
    pub message: &'a M,
}

/// A pattern that a message's channel matches.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The pattern's recipient list.
    pub pattern: ChannelId,
    /// The channel that the message was sent to.
    pub channel: &'a Name,
    /// The terms of that channel.
    pub terms: Option<TermsIndex>,
}

/// How the core reaches the I/O shards.
///
/// Each channel and each pattern has a recipient list on every shard, under an id of its own. The core posts
/// everything about a channel while it holds that channel's lock, every change of a pattern's list while it
/// holds the pattern's lock, and a direct message while it holds the socket's lock. So every shard sees one
/// order of subscribe, publish and unsubscribe. An implementation only appends to an inbox: it never blocks
/// and never calls back into the core. The caller wakes the shards when the core's function has returned.
///
/// A message that takes long to encode is not encoded under these locks. If a message is not
/// [ready](Self::is_ready) and has a recipient, the core [makes it ready](Self::make_ready) before it takes
/// the lock.
pub trait Post {
    /// A message in whatever form the implementation shares it.
    type Message: ?Sized;

    /// A message in the form in which history keeps it. Cheap to clone.
    type Kept;

    /// Adds the recipient, because (list, subscriber) got its first reference. `name` is the name of the
    /// channel or pattern and stays the same for as long as the list has recipients.
    fn join(&mut self, list: ChannelId, name: &Name, recipient: Recipient);

    /// Removes the recipient, because (list, subscriber) lost its last reference.
    fn leave(&mut self, list: ChannelId, subscriber: SocketId, route: Route);

    /// Posts a message for the channel's subscribers on this shard, except those in `except`. `recipients` is
    /// their number. `except` is sorted and holds only subscribers of the channel, on any shard.
    ///
    /// Returns false if the shard's inbox is full: its recipients are then not counted as deliveries.
    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &Self::Message,
        except: &[SocketId],
        recipients: u32,
    ) -> bool;

    /// Does the same as [`publish`](Self::publish) for the subscribers of a pattern.
    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &Self::Message,
        except: &[SocketId],
        recipients: u32,
    ) -> bool;

    /// Does the same as [`publish`](Self::publish) in a channel with history. It is also called for a shard all of whose
    /// subscribers are in `except`: then `recipients` is 0. A message that the shard refuses is told with the next one that
    /// it accepts.
    fn publish_numbered(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        numbered: &Numbered<'_, Self::Message>,
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.publish(shard, channel, numbered.message, except, recipients)
    }

    /// Tells the shard of a subscriber how it has entered a channel with history, or at a position, in front of everything
    /// that is posted for its subscription. Never of a virtual socket. Unless it is behind, its [join](Self::join) follows.
    fn enter(&mut self, name: &Name, route: Route, entering: &Entering) {
        let _ = (name, route, entering);
    }

    /// Tells a shard that it has not got messages of a channel, up to this position, because it
    /// [refused](Self::publish_numbered) them. Always accepted: it is posted in front of the [join](Self::join) of a
    /// subscriber who misses none of them, or if the shard [has room](Self::has_room).
    fn gap(&mut self, shard: ShardIndex, channel: ChannelId, last: Position) {
        let _ = (shard, channel, last);
    }

    /// Whether a shard's inbox takes a few more commands.
    fn has_room(&self, shard: ShardIndex) -> bool {
        let _ = shard;
        true
    }

    /// Something has changed among the members of a channel: [`tell_presence`](crate::Core::tell_presence) is to be called
    /// some time later. Not called again until then.
    fn presence_is_due(&mut self) {}

    /// Posts what has changed among the members of a channel, for its subscribers on this shard and those that the batch
    /// names. False: the shard's inbox is full.
    fn presence(&mut self, shard: ShardIndex, batch: &Arc<Batch>) -> bool {
        let _ = (shard, batch);
        true
    }

    /// Something has changed among this node's members of a channel that [other nodes](crate::Core::share_presence) know of. The
    /// channel's lock is held.
    fn unsaved(&mut self, name: &Name) {
        let _ = name;
    }

    /// The time in milliseconds of Unix time. Asked only for channels with history or presence.
    fn unix_ms(&mut self) -> u64 {
        0
    }

    /// The form of a message that is kept, and the length in bytes that it is charged. A lock is held.
    fn keep(&mut self, message: &Self::Message) -> (Self::Kept, usize);

    /// Whether [`keep`](Self::keep) takes a short time for this message. If not, the core has it
    /// [prepared](Self::make_keepable) before it takes the lock.
    fn is_keepable(&self, message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Does the slow part of [keeping](Self::keep) in advance. No lock is held.
    fn make_keepable(&mut self, message: &Self::Message) {
        let _ = message;
    }

    /// Posts a message for one socket. Returns false if the shard's inbox is full.
    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &Self::Message,
    ) -> bool;

    /// Whether a message can be posted in the short time for which a lock may be held: with this annotation
    /// for a direct message, and without one for subscribers. The core asks before it posts, and for a single
    /// socket while it holds that socket's lock.
    fn is_ready(&self, message: &Self::Message, annotation: Option<&Arc<Annotation>>) -> bool {
        let _ = (message, annotation);
        true
    }

    /// Does the slow part of posting in advance. The core calls it without holding a lock. The message may
    /// not be posted afterwards, because its recipients may be gone by then.
    fn make_ready(&mut self, message: &Self::Message, annotation: Option<&Arc<Annotation>>) {
        let _ = (message, annotation);
    }

    /// Whether a store numbers the messages of channels with history, and keeps them. Asked only for such channels.
    fn stores(&self) -> bool {
        false
    }

    /// Gives a message of a channel with history to the store. It comes back by [`apply`](crate::Core::apply), if the
    /// channel is followed. No lock is held.
    fn store(
        &mut self,
        channel: &[u8],
        terms: HistoryTerms,
        message: &Self::Message,
        manner: &Manner<'_>,
    ) {
        let _ = (channel, terms, message, manner);
    }

    /// Whether [`upstream`](Self::upstream) takes messages of channels that have no subscriber on this node.
    fn has_upstream(&self) -> bool {
        false
    }

    /// Tells the link to other nodes that a channel or pattern got its first subscriber or lost its last; the id of its list
    /// has the [terms](ChannelId::terms) of the channel. Called while its lock is held, so the last call for a name describes
    /// the current state.
    fn wanted(&mut self, list: ChannelId, name: &Name, wanted: bool) {
        let _ = (list, name, wanted);
    }

    /// Gives the link to other nodes a message that was published in a channel, whether or not it has
    /// subscribers here. Called before anything is posted for the message, while the channel's lock is held.
    fn upstream(&mut self, channel: Topic<'_>, message: &Self::Message) {
        let _ = (channel, message);
    }
}
