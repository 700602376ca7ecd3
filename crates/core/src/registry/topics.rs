//! Queries about names and about the subscriptions of one socket. Owns what protocols and the link to other
//! nodes ask, and how one client subscribes and unsubscribes itself.

use super::Core;
use crate::channel_list::Tally;
use crate::history::Position;
use crate::id::SocketId;
use crate::limits::SUBSCRIPTION_COUNT;
use crate::name::{Name, Space, Topic};
use crate::pattern::PatternError;
use crate::post::Post;
use crate::registry::Target;

/// Why a client's subscription is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnterError {
    /// The socket has the highest number of subscriptions already.
    #[error("a socket cannot have more than {most} subscriptions")]
    TooMany {
        /// The highest number of subscriptions.
        most: usize,
    },
    /// The client has subscribed itself already.
    #[error("the channel is subscribed already")]
    Already,
    /// Whether the socket would miss something is not known until the store of the channel is asked for this message.
    #[error("the store of histories has to be asked first")]
    Unknown(Position),
    /// No real socket with this id is open.
    #[error("there is no such socket")]
    NoSocket,
    /// The pattern is refused.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl<K> Core<K> {
    /// Subscribes a socket unless it is already subscribed, up to `most` subscriptions. Returns its
    /// subscriptions after that. Protocols use it for clients that subscribe one command at a time.
    pub fn enter<P: Post<Kept = K>>(
        &self,
        id: SocketId,
        topic: Topic<'_>,
        most: usize,
        post: &mut P,
    ) -> Result<Tally, EnterError> {
        if self.is_subscribed(id, topic) {
            return Ok(self.tally(id));
        }
        if self.tally(id).total() >= most {
            return Err(EnterError::TooMany { most });
        }
        self.subscribe_to(&[Target::Socket(id)], topic, 1, post)?;
        Ok(self.tally(id))
    }

    /// Ends a socket's subscription, if there is one, whatever its reference count. Returns the subscriptions
    /// that remain.
    pub fn exit<P: Post<Kept = K>>(&self, id: SocketId, topic: Topic<'_>, post: &mut P) -> Tally {
        let all = -i32::from(SUBSCRIPTION_COUNT);
        self.subscribe_to(&[Target::Socket(id)], topic, all, post)
            .expect("only new patterns are refused");
        self.tally(id)
    }

    /// The number of a socket's subscriptions.
    pub fn tally(&self, id: SocketId) -> Tally {
        let table = self.socket_table(id);
        table
            .get(id)
            .map(|entry| entry.channels().tally())
            .unwrap_or_default()
    }

    /// The names that a socket is subscribed to, in the order in which it subscribed.
    pub fn topics_of(&self, id: SocketId) -> Vec<Name> {
        let mut names = Vec::new();
        if let Some(entry) = self.socket_table(id).get(id) {
            entry.channels().for_each(|name| names.push(name.clone()));
        }
        names
    }

    /// Whether a socket is subscribed.
    pub fn is_subscribed(&self, id: SocketId, topic: Topic<'_>) -> bool {
        match topic {
            Topic::Pattern(text) => {
                let table = self.patterns.lock();
                table
                    .get(text)
                    .is_some_and(|listed| listed.list.read().members.contains_key(&id))
            }
            Topic::Channel(name) | Topic::Sharded(name) => {
                let key = self.hashed(topic.space(), name);
                self.channel_table(key)
                    .get(key)
                    .is_some_and(|channel| channel.members.contains_key(&id))
            }
        }
    }

    /// The number of sockets that are subscribed to a channel, or to exactly this pattern.
    pub fn subscribers(&self, topic: Topic<'_>) -> usize {
        match topic {
            Topic::Pattern(text) => {
                let table = self.patterns.lock();
                table
                    .get(text)
                    .map_or(0, |listed| listed.list.read().members.len())
            }
            Topic::Channel(name) | Topic::Sharded(name) => {
                let key = self.hashed(topic.space(), name);
                self.channel_table(key)
                    .get(key)
                    .map_or(0, |channel| channel.members.len())
            }
        }
    }

    /// Whether a message in the channel would have a recipient: a subscriber of the channel or of a pattern
    /// that matches it.
    pub fn has_subscriptions(&self, channel: &[u8]) -> bool {
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        if table.get(key).is_some() {
            return true;
        }
        let mut found = false;
        if let Some(patterns) = table.patterns() {
            patterns.for_each_candidate(channel, |listed| {
                found = found || listed.pattern.matches(channel) && listed.has_members();
            });
        }
        found
    }

    /// Shows every name of one space that has a subscriber, in no particular order. Each lock shard is
    /// visited under its lock, so `visit` must not call the core. [`Post::wanted`] reports every later change
    /// to what was shown.
    pub fn names(&self, space: Space, visit: &mut dyn FnMut(&Name)) {
        if space == Space::Pattern {
            let table = self.patterns.lock();
            table.iter().for_each(|listed| visit(&listed.name));
            return;
        }
        for table in self.channels.each() {
            table.iter(space).for_each(|channel| visit(&channel.name));
        }
    }

    /// The number of patterns that have a subscriber.
    pub fn pattern_count(&self) -> usize {
        self.patterns.lock().len()
    }
}
