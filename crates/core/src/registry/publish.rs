//! Sending. Owns how a message gets to the I/O shards, for one socket, for a channel and for the patterns that
//! match it. Never walks over subscribers, except to exclude some. Over 400 lines because all ways of sending post by the
//! same few functions.

use std::cell::OnceCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Core;
use crate::annotation::Annotation;
use crate::channel::{Channel, Recipients};
use crate::channels::ChannelTable;
use crate::id::{SocketId, TermsIndex};
use crate::name::{Name, Space, Topic};
use crate::name_map::Hashed;
use crate::patterns::{Listed, Patterns};
use crate::post::{Match, Post};
use crate::route::{Route, ShardIndex};
use crate::terms::{TermsList, first_match};

/// The recipients of a message from another node. That node names the kind of subscription for which it sent the
/// message, so that no subscriber gets it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// The subscribers of a channel, without those of patterns.
    Subscribers(&'a [u8]),
    /// The subscribers of a sharded channel.
    Sharded(&'a [u8]),
    /// The subscribers of every pattern that matches this channel, without the channel's own subscribers.
    Patterns(&'a [u8]),
    /// The subscribers of one pattern.
    Pattern {
        /// The pattern's text.
        pattern: &'a [u8],
        /// The channel that the message was sent to.
        channel: &'a [u8],
    },
}

/// The channel that a message is published in. Its shared name is made only when a pattern needs it.
struct InChannel<'a> {
    bytes: &'a [u8],
    entry: Option<&'a Channel>,
    made: OnceCell<Name>,
    /// The patterns of terms, if there are any.
    list: Option<&'a TermsList>,
    terms: OnceCell<Option<TermsIndex>>,
}

impl<K> Core<K> {
    /// Calls `post` with the route and the annotation of one socket, following virtual ones. The socket's lock is
    /// held during the call, as it is in [`Post::direct`]. Returns `None` if there is no such socket or its chain
    /// leads through one of `except`.
    pub fn reach<R>(
        &self,
        target: SocketId,
        except: &[SocketId],
        post: impl FnOnce(Route, Option<&Arc<Annotation>>) -> R,
    ) -> Option<R> {
        let table = self.socket_table(target);
        let (route, annotation) = table.resolve(target)?;
        if !except.is_empty() && table.passes_through(target, except) {
            return None;
        }
        Some(post(route, annotation))
    }

    /// Posts a message for one socket, following virtual ones. Returns the number of deliveries posted: 0 if
    /// there is no such socket, its chain leads through one of `except`, or the inbox is full; otherwise 1.
    #[inline]
    pub fn send<P: Post<Kept = K>>(
        &self,
        target: SocketId,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let mut ready = false;
        loop {
            let table = self.socket_table(target);
            let Some((route, annotation)) = table.resolve(target) else {
                return 0;
            };
            if !except.is_empty() && table.passes_through(target, except) {
                return 0;
            }
            if ready || post.is_ready(message, annotation) {
                return usize::from(post.direct(route, annotation, message));
            }
            // the socket keeps this annotation for as long as it resolves
            let annotation = annotation.cloned();
            drop(table);
            post.make_ready(message, annotation.as_ref());
            ready = true;
        }
    }

    /// Posts a message for every subscriber of a channel, once to each I/O shard that has any, and then for the
    /// subscribers of each pattern that matches the channel. Excludes the sockets in `except` and every virtual
    /// socket whose chain leads through one of them. Returns the number of deliveries posted. A socket with
    /// several matching subscriptions gets one delivery for each.
    pub fn publish<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let topic = Topic::Channel(channel);
        if !post.is_ready(message, None) && !self.make_ready(topic, message, post) {
            return 0;
        }
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        if table.has_beside() {
            return self.publish_but_to(table, (key.hash, channel), message, except, post);
        }
        post.upstream(Topic::Channel(channel), message);
        let entry = table.get(key);
        let posted = entry.map_or(0, |entry| self.post_to(entry, message, except, post));
        match table.patterns() {
            None => posted,
            Some(patterns) => {
                let channel = InChannel::new(channel, entry, table.terms());
                posted + self.post_matches(patterns, &channel, message, except, post)
            }
        }
    }

    /// Posts a message without a number for the subscribers of a channel and of matching patterns. Not inlined, because
    /// [`publish`](Self::publish) has its own copy.
    #[inline(never)]
    pub(super) fn publish_plain<P: Post<Kept = K>>(
        &self,
        table: &ChannelTable<K>,
        key: Hashed<'_>,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        post.upstream(Topic::Channel(key.name), message);
        let entry = table.get(key);
        let posted = entry.map_or(0, |entry| self.post_to(entry, message, except, post));
        posted + self.publish_matches(table, key, message, except, post)
    }

    /// Posts for the subscribers of the patterns that match a channel.
    pub(super) fn publish_matches<P: Post<Kept = K>>(
        &self,
        table: &ChannelTable<K>,
        key: Hashed<'_>,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        table.patterns().map_or(0, |patterns| {
            let channel = InChannel::new(key.name, table.get(key), table.terms());
            self.post_matches(patterns, &channel, message, except, post)
        })
    }

    /// Does the same as [`publish`](Self::publish) in a sharded channel, which no pattern matches.
    pub fn publish_sharded<P: Post<Kept = K>>(
        &self,
        channel: &[u8],
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let topic = Topic::Sharded(channel);
        if !post.is_ready(message, None) && !self.make_ready(topic, message, post) {
            return 0;
        }
        let key = self.hashed(Space::Sharded, channel);
        let table = self.channel_table(key);
        post.upstream(Topic::Sharded(channel), message);
        table
            .get(key)
            .map_or(0, |entry| self.post_to(entry, message, except, post))
    }

    /// Posts a message from another node for the subscribers on this one, and does not forward it to other nodes.
    /// Returns the number of deliveries posted.
    pub fn publish_here<P: Post<Kept = K>>(
        &self,
        reach: Reach<'_>,
        message: &P::Message,
        post: &mut P,
    ) -> usize {
        let (name, space) = match reach {
            Reach::Subscribers(name) | Reach::Patterns(name) => (name, Space::Channel),
            Reach::Pattern { channel, .. } => (channel, Space::Channel),
            Reach::Sharded(name) => (name, Space::Sharded),
        };
        if !post.is_ready(message, None) {
            let topic = match reach {
                Reach::Sharded(name) => Topic::Sharded(name),
                _ => Topic::Channel(name),
            };
            if !self.reaches_anybody(topic) {
                return 0;
            }
            post.make_ready(message, None);
        }
        // the lock of the table of patterns is taken before the channel's lock
        let listed = match reach {
            Reach::Pattern { pattern, .. } => self.patterns.lock().get(pattern).map(Arc::clone),
            _ => None,
        };
        let key = self.hashed(space, name);
        let table = self.channel_table(key);
        let entry = table.get(key);
        let channel = InChannel::new(name, entry, table.terms());
        match reach {
            Reach::Subscribers(_) | Reach::Sharded(_) => {
                entry.map_or(0, |entry| self.post_to(entry, message, &[], post))
            }
            Reach::Patterns(_) => table.patterns().map_or(0, |patterns| {
                self.post_matches(patterns, &channel, message, &[], post)
            }),
            // the other node may use prefixes for its channels, and `*` also matches an empty rest
            Reach::Pattern { .. } => listed
                .filter(|listed| listed.pattern.matches(name))
                .map_or(0, |listed| {
                    self.post_match(&listed, &channel, message, &[], post)
                }),
        }
    }

    /// Makes a message that takes long to encode ready before the channel is locked. Returns false if the message
    /// has no recipient.
    ///
    /// This check takes the channel's lock for a moment, and its result was true at some time during this call.
    /// So a publication without a recipient is complete and needs no second check. The second lock sees every
    /// subscription that began or ended in between.
    #[cold]
    pub(super) fn make_ready<P: Post<Kept = K>>(
        &self,
        topic: Topic<'_>,
        message: &P::Message,
        post: &mut P,
    ) -> bool {
        let wanted = post.has_upstream() || self.reaches_anybody(topic) || self.keeps(topic);
        if wanted {
            post.make_ready(message, None);
        }
        wanted
    }

    fn reaches_anybody(&self, topic: Topic<'_>) -> bool {
        match topic {
            Topic::Channel(name) => self.has_subscriptions(name),
            Topic::Sharded(_) | Topic::Pattern(_) => self.subscribers(topic) > 0,
        }
    }

    /// Posts for the subscribers of the patterns that match a channel. The channel is locked.
    #[inline(never)]
    fn post_matches<P: Post<Kept = K>>(
        &self,
        patterns: &Patterns,
        channel: &InChannel<'_>,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let mut posted = 0;
        patterns.for_each_candidate(channel.bytes, |listed| {
            let literal = listed.pattern.literal().len();
            let rest = channel.bytes.get(literal..).unwrap_or_default();
            if listed.pattern.matches_behind_literal(channel.bytes, rest) {
                posted += self.post_match(listed, channel, message, except, post);
            }
        });
        posted
    }

    fn post_match<P: Post<Kept = K>>(
        &self,
        listed: &Listed,
        channel: &InChannel<'_>,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let list = listed.list.read();
        if list.members.is_empty() {
            return 0;
        }
        let matched = Match {
            pattern: list.id,
            channel: channel.name(),
            terms: channel.terms(),
        };
        self.post_each(&list, except, |shard, except, count| {
            post.publish_match(shard, matched, message, except, count)
        })
    }

    /// Posts for the members of a locked channel.
    fn post_to<P: Post<Kept = K>>(
        &self,
        channel: &Channel,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        self.post_each(channel, except, |shard, except, count| {
            post.publish(shard, channel.id, message, except, count)
        })
    }

    /// Posts to each I/O shard that has members of a locked channel or pattern other than `except`.
    #[expect(
        clippy::inline_always,
        reason = "with several ways to publish it would be a call per publication"
    )]
    #[inline(always)]
    fn post_each(
        &self,
        list: &Channel,
        except: &[SocketId],
        post: impl FnMut(ShardIndex, &[SocketId], u32) -> bool,
    ) -> usize {
        if except.is_empty() {
            post_counted(list.recipients(), &[], post)
        } else {
            self.post_but(list, except, post)
        }
    }

    /// A function of its own, so that publications without exceptions do not pay for it.
    #[inline(never)]
    fn post_but(
        &self,
        list: &Channel,
        except: &[SocketId],
        post: impl FnMut(ShardIndex, &[SocketId], u32) -> bool,
    ) -> usize {
        let except = self.excluded(list, except);
        let mut recipients = Recipients::from_slice(list.recipients());
        for id in &except {
            let shard = list.members.get(id).map(|member| member.shard);
            if let Some(entry) = recipients.iter_mut().find(|entry| Some(entry.0) == shard) {
                entry.1 -= 1;
            }
        }
        post_counted(&recipients, &except, post)
    }

    /// The subscribers of a channel that `except` excludes: sorted, without duplicates.
    #[inline]
    pub(super) fn excluded(&self, channel: &Channel, except: &[SocketId]) -> Excluded {
        let mut excluded = Excluded::new();
        for &id in except {
            if channel.members.contains_key(&id) {
                excluded.push(id);
            }
            self.exclude_descendants(channel, id, &mut excluded);
        }
        if excluded.len() > 1 {
            excluded.sort_unstable();
            excluded.dedup();
        }
        excluded
    }

    /// Excludes the subscribers among the virtual sockets below `id`. Visits either these virtual sockets or the
    /// channel's members, whichever are fewer.
    fn exclude_descendants(&self, channel: &Channel, id: SocketId, excluded: &mut Excluded) {
        let table = self.socket_table(id);
        let mut left = channel.members.len();
        let mut more = false;
        table.visit_descendants(id, |descendant| {
            more = left == 0;
            left = left.saturating_sub(1);
            if channel.members.contains_key(&descendant) {
                excluded.push(descendant);
            }
            !more
        });
        let Some(root) = table.root(id).filter(|_| more) else {
            return;
        };
        for (&member, subscription) in &channel.members {
            if subscription.route().socket == root && table.passes_through(member, &[id]) {
                excluded.push(member);
            }
        }
    }
}

impl<'a> InChannel<'a> {
    fn new(bytes: &'a [u8], entry: Option<&'a Channel>, list: Option<&'a TermsList>) -> Self {
        Self {
            list,
            bytes,
            entry,
            made: OnceCell::new(),
            terms: OnceCell::new(),
        }
    }

    /// Its terms. Those of a channel without subscribers are found at the first pattern that matches it.
    fn terms(&self) -> Option<TermsIndex> {
        let list = self.list?;
        match self.entry {
            Some(channel) => channel.id.terms(),
            None => *self.terms.get_or_init(|| first_match(list, self.bytes)),
        }
    }

    fn name(&self) -> &Name {
        match self.entry {
            Some(channel) => &channel.name,
            None => self
                .made
                .get_or_init(|| Name::new(Space::Channel, self.bytes)),
        }
    }
}

pub(super) type Excluded = SmallVec<[SocketId; 8]>;

#[expect(
    clippy::inline_always,
    reason = "with several ways to publish it would be a call per publication"
)]
#[inline(always)]
fn post_counted(
    recipients: &Recipients,
    except: &[SocketId],
    mut post: impl FnMut(ShardIndex, &[SocketId], u32) -> bool,
) -> usize {
    let mut posted: u64 = 0;
    for &(shard, count) in recipients {
        if count > 0 && post(shard, except, count) {
            posted += u64::from(count);
        }
    }
    usize::try_from(posted).unwrap_or(usize::MAX)
}
