//! Subscriptions of a socket's own client, which stand beside those that the application gives the socket: the socket gets
//! each message once, until both have ended. Also the terms by which a client may have them.

use super::Core;
use crate::id::{SocketId, TermsIndex};
use crate::name::Space;
use crate::post::{Post, Recipient};
use crate::terms::first_match;

/// Why a client cannot subscribe itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// It has already.
    #[error("the channel is subscribed already")]
    Already,
    /// The socket has the highest number of subscriptions already.
    #[error("a socket cannot have more than {most} subscriptions")]
    TooMany {
        /// The highest number of subscriptions.
        most: usize,
    },
    /// There is no such socket.
    #[error("there is no such socket")]
    NoSocket,
}

impl<K> Core<K> {
    /// Subscribes a socket to a channel for its client, up to `most` subscriptions of the socket, those of the
    /// application included.
    pub fn enter_own<P: Post<Kept = K>>(
        &self,
        id: SocketId,
        channel: &[u8],
        most: usize,
        post: &mut P,
    ) -> Result<(), OwnError> {
        let held = self.tally(id).total();
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        if let Some(member) = table
            .get_mut(key)
            .and_then(|channel| channel.members.get_mut(&id))
        {
            let was_own = member.own();
            return if was_own {
                Err(OwnError::Already)
            } else {
                Ok(())
            };
        }
        if held >= most {
            return Err(OwnError::TooMany { most });
        }
        let channel = table.get_or_make(key);
        let before = channel.members.len();
        let joined = self.socket_table(id).join(id, &channel.name);
        let entered = match joined {
            None => Err(OwnError::NoSocket),
            Some((route, annotation)) => {
                channel.insert(id, route, 0);
                if let Some(member) = channel.members.get_mut(&id) {
                    member.own();
                }
                let recipient = Recipient {
                    subscriber: id,
                    route,
                    annotation,
                    is_known: true,
                };
                let (list, name) = (channel.id, channel.name.clone());
                Self::tell_lost(&mut table, key, route.shard, post);
                post.join(list, &name, recipient);
                if before == 0 {
                    post.wanted(list, &name, true);
                }
                Ok(())
            }
        };
        let after = before + usize::from(entered.is_ok());
        table.count(after, before);
        if after == 0 {
            table.discard(key);
        }
        entered
    }

    /// Ends the subscription of a socket's client, if there is one. Returns whether the socket is subscribed no more; not
    /// while the application has it subscribed.
    pub fn exit_own<P: Post<Kept = K>>(&self, id: SocketId, channel: &[u8], post: &mut P) -> bool {
        let key = self.hashed(Space::Channel, channel);
        let mut table = self.channel_table(key);
        let Some(channel) = table.get_mut(key) else {
            return true;
        };
        let before = channel.members.len();
        let Some(route) = channel.disown(id) else {
            let is_gone = !channel.members.contains_key(&id);
            if table.forget(key, &[id]) {
                post.presence_is_due();
            }
            return is_gone;
        };
        self.socket_table(id).leave(id, &channel.name);
        post.leave(channel.id, id, route);
        let after = channel.members.len();
        if after == 0 {
            post.wanted(channel.id, &channel.name, false);
        }
        table.count(after, before);
        if table.forget(key, &[id]) {
            post.presence_is_due();
        }
        if after == 0 {
            table.discard(key);
        }
        true
    }

    /// The terms of a channel, whether it exists or not.
    pub fn terms_of(&self, channel: &[u8]) -> Option<TermsIndex> {
        let key = self.hashed(Space::Channel, channel);
        let table = self.channel_table(key);
        match table.get(key) {
            Some(channel) => channel.id.terms(),
            None => table.terms().and_then(|terms| first_match(terms, channel)),
        }
    }
}
