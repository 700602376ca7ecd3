//! Sending. Owns the way of a message to the I/O shards, for one socket and for a channel; never walks
//! over subscribers, except to leave some out.

use smallvec::SmallVec;

use super::Core;
use crate::channels::{Channel, Recipients};
use crate::id::SocketId;
use crate::post::Post;

impl Core {
    /// Posts a message for one socket, following virtual ones. Returns the deliveries posted, 0 or 1: 0
    /// if there is no such socket, its chain leads through one of `except`, or the inbox is full.
    pub fn send<P: Post>(
        &self,
        target: SocketId,
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let table = self.socket_table(target);
        let Some((route, annotation)) = table.resolve(target) else {
            return 0;
        };
        if !except.is_empty() && table.passes_through(target, except) {
            return 0;
        }
        usize::from(post.direct(route, annotation, message))
    }

    /// Posts a message for every subscriber of a channel, once to each I/O shard that has any. Leaves out
    /// the sockets in `except` and every virtual socket whose chain leads through one of them. Returns
    /// the deliveries posted.
    pub fn publish<P: Post>(
        &self,
        channel: &[u8],
        message: &P::Message,
        except: &[SocketId],
        post: &mut P,
    ) -> usize {
        let table = self.channel_table(channel);
        let Some(channel) = table.get(channel) else {
            return 0;
        };
        if except.is_empty() {
            return post_to(channel, channel.recipients(), message, &[], post);
        }
        let except = self.excluded(channel, except);
        let mut recipients = channel.recipients().clone();
        for id in &except {
            let shard = channel.members.get(id).map(|member| member.shard);
            if let Some(entry) = recipients.iter_mut().find(|entry| Some(entry.0) == shard) {
                entry.1 -= 1;
            }
        }
        post_to(channel, &recipients, message, &except, post)
    }

    /// The subscribers of a channel that `except` leaves out, sorted, each once.
    fn excluded(&self, channel: &Channel, except: &[SocketId]) -> Excluded {
        let mut excluded = Excluded::new();
        for &id in except {
            if channel.members.contains_key(&id) {
                excluded.push(id);
            }
            self.exclude_descendants(channel, id, &mut excluded);
        }
        excluded.sort_unstable();
        excluded.dedup();
        excluded
    }

    /// Adds the subscribers below `id`, looking at its virtual sockets or at the channel's members,
    /// whichever are fewer.
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

type Excluded = SmallVec<[SocketId; 8]>;

fn post_to<P: Post>(
    channel: &Channel,
    recipients: &Recipients,
    message: &P::Message,
    except: &[SocketId],
    post: &mut P,
) -> usize {
    let mut posted: u64 = 0;
    for &(shard, count) in recipients {
        if count > 0 && post.publish(shard, channel.id, message, except, count) {
            posted += u64::from(count);
        }
    }
    usize::try_from(posted).unwrap_or(usize::MAX)
}
