//! Inboxes for benches, which accept everything and keep nothing. Used by this crate's benches and by the
//! instruction counts of the gateway.

use std::hint::black_box;
use std::sync::Arc;

use millrace_core::{
    Annotation, ChannelId, Match, Name, Post, Recipient, Route, ShardIndex, SocketId,
};

/// Accepts everything and keeps nothing.
pub(crate) struct Sink;

impl Post for Sink {
    type Message = [u8];
    type Kept = ();

    fn keep(&mut self, _: &[u8]) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, list: ChannelId, name: &Name, recipient: Recipient) {
        black_box((list, name, recipient));
    }

    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, route: Route) {
        black_box((channel, subscriber, route));
    }

    fn publish(
        &mut self,
        shard: ShardIndex,
        channel: ChannelId,
        message: &[u8],
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        black_box((shard, channel, message, except, recipients));
        true
    }

    fn publish_match(
        &mut self,
        shard: ShardIndex,
        matched: Match<'_>,
        message: &[u8],
        except: &[SocketId],
        recipients: u32,
    ) -> bool {
        black_box((shard, matched, message, except, recipients));
        true
    }

    fn direct(
        &mut self,
        route: Route,
        annotation: Option<&Arc<Annotation>>,
        message: &[u8],
    ) -> bool {
        black_box((route, annotation, message));
        true
    }
}
