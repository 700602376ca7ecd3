//! What the core shows about itself for debugging. Owns the copies; each table is copied under its own
//! lock, so the parts may be of different moments.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::Core;
use crate::annotation::Annotation;
use crate::channel::Channel;
use crate::dangling::Dangling;
use crate::id::SocketId;
use crate::name::Space;
use crate::route::Route;
use crate::sockets::{Entry, Nature};

/// A channel and its subscriptions, sorted by socket id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// The channel's name.
    pub name: Bytes,
    /// Every subscriber with its reference count, 1 to 65,535.
    pub subscribers: Vec<(SocketId, u16)>,
}

/// A socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketState {
    /// A real socket.
    Real {
        /// The peer's address; `None` for a unix socket.
        address: Option<IpAddr>,
        /// The worker that the connection is pinned to.
        worker: u32,
        /// The I/O shard and the slot where it lives.
        route: Route,
    },
    /// A virtual socket, which may be dangling.
    Virtual {
        /// Its immediate target.
        target: SocketId,
        /// The annotation it was created with.
        annotation: Option<Arc<Annotation>>,
    },
}

/// The number of objects of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Open real sockets.
    pub sockets: usize,
    /// Virtual sockets not deleted, dangling ones included.
    pub virtual_sockets: usize,
    /// Channels with a subscription, sharded ones included.
    pub channels: usize,
    /// Patterns with a subscription.
    pub patterns: usize,
    /// Subscriptions, each counted once whatever its reference count.
    pub subscriptions: usize,
    /// Keys with a value.
    pub keys: usize,
}

impl<K> Core<K> {
    /// At most `limit` channels, in no particular order.
    pub fn channels(&self, limit: usize) -> Vec<ChannelState> {
        let mut states = Vec::new();
        for table in self.channels.each() {
            let left = limit - states.len();
            states.extend(table.iter(Space::Channel).take(left).map(ChannelState::of));
        }
        states
    }

    /// The channel of that name.
    pub fn channel(&self, name: &[u8]) -> Option<ChannelState> {
        let key = self.hashed(Space::Channel, name);
        self.channel_table(key).get(key).map(ChannelState::of)
    }

    /// At most `limit` of the channels that a socket is in, in no particular order.
    pub fn channels_of(&self, id: SocketId, limit: usize) -> Vec<ChannelState> {
        let mut names = Vec::new();
        if let Some(entry) = self.socket_table(id).get(id) {
            entry.channels().for_each(|name| {
                if names.len() < limit && name.space() == Space::Channel {
                    names.push(name.clone());
                }
            });
        }
        names
            .iter()
            .filter_map(|name| self.channel(name.as_bytes()))
            .collect()
    }

    /// All real and virtual sockets, in no particular order.
    pub fn sockets(&self) -> Vec<(SocketId, SocketState)> {
        let mut states = Vec::new();
        for table in self.sockets.each() {
            states.extend(
                table
                    .iter()
                    .map(|(id, entry)| (id, SocketState::of(id, entry))),
            );
        }
        let dangling = self.dangling.lock();
        states.extend(
            dangling
                .iter()
                .map(|(id, entry)| (id, SocketState::dangling(entry))),
        );
        states
    }

    /// The real or virtual socket with this id.
    pub fn socket(&self, id: SocketId) -> Option<SocketState> {
        let state = self
            .socket_table(id)
            .get(id)
            .map(|entry| SocketState::of(id, entry));
        state.or_else(|| self.dangling.lock().get(id).map(SocketState::dangling))
    }

    /// At most `limit` keys with their values, in no particular order.
    pub fn keys(&self, limit: usize, now: u64) -> Vec<(Bytes, Bytes)> {
        let mut pairs = Vec::new();
        self.scan_keys(0, limit, now, &mut |key, value| {
            pairs.push((Bytes::copy_from_slice(key), value.clone()));
        });
        pairs.truncate(limit);
        pairs
    }

    /// The number of objects of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            virtual_sockets: self.dangling.lock().len(),
            ..Counts::default()
        };
        for table in self.sockets.each() {
            counts.sockets += table.reals();
            counts.virtual_sockets += table.virtuals();
        }
        for table in self.channels.each() {
            counts.channels += table.len();
            counts.subscriptions += table.subscriptions();
        }
        let patterns = self.patterns.lock();
        counts.patterns = patterns.len();
        counts.subscriptions += patterns.subscriptions();
        drop(patterns);
        counts.keys = self.key_count();
        counts
    }
}

impl ChannelState {
    fn of(channel: &Channel) -> Self {
        let members = channel.members.iter();
        let mut subscribers: Vec<_> = members
            .map(|(id, member)| (*id, member.references()))
            .collect();
        subscribers.sort_unstable();
        Self {
            name: Bytes::copy_from_slice(channel.name.as_bytes()),
            subscribers,
        }
    }
}

impl SocketState {
    fn dangling(entry: &Dangling) -> Self {
        Self::Virtual {
            target: entry.target,
            annotation: entry.annotation.clone(),
        }
    }

    fn of(id: SocketId, entry: &Entry) -> Self {
        match &entry.nature {
            Nature::Real(real) => {
                let info = real.info();
                Self::Real {
                    address: info.address,
                    worker: info.worker,
                    route: entry.route(id),
                }
            }
            Nature::Virtual(alias) => Self::Virtual {
                target: alias.target,
                annotation: alias.own_annotation().cloned(),
            },
        }
    }
}
