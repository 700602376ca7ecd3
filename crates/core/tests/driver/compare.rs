//! Compares everything that a core shows with the model. Changes neither.

use std::collections::{BTreeMap, BTreeSet};

use millrace_core::{ChannelState, Counts, SocketId, SocketState, Space};
use millrace_testkit::model::{Socket, Topic};

use super::topics::given_as;
use super::{Driver, address, ids, mirror};

impl Driver {
    /// The immediate target of a virtual socket.
    pub(super) fn target(&self, id: SocketId) -> Option<SocketId> {
        match self.model.sockets.get(&id.get()) {
            Some(Socket::Virtual { target, .. }) => SocketId::new(*target),
            _ => None,
        }
    }

    pub(super) fn compare(&self) {
        self.compare_channels();
        self.compare_names();
        self.compare_mirror();
        self.compare_sockets();
        self.compare_counts();
        self.compare_keys();
    }

    fn compare_channels(&self) {
        let states = self.core.channels(usize::MAX);
        let channels: BTreeMap<Topic, BTreeMap<u64, u16>> = states.iter().map(plain).collect();
        assert_eq!(channels.len(), states.len());
        let mut expected = self.model.references();
        expected.retain(|topic, _| matches!(topic, Topic::Channel(_)));
        assert_eq!(channels, expected);
        for byte in 0..8 {
            let name = super::name(byte);
            let state = self.core.channel(&name);
            let exists = expected.contains_key(&Topic::Channel(name.clone()));
            let heard = !self.model.publish(&name, &[]).is_empty();
            assert_eq!(self.core.has_subscriptions(&name), heard);
            assert_eq!(state.is_some(), exists);
            assert!(state.is_none_or(|state| states.contains(&state)));
        }
        assert_eq!(self.core.channels(1).len(), states.len().min(1));
    }

    /// Compares every name of every space, and what other nodes were told about it.
    fn compare_names(&self) {
        let mut names = Vec::new();
        for space in [Space::Channel, Space::Sharded, Space::Pattern] {
            self.core
                .names(space, &mut |name| names.push(mirror::topic(name)));
        }
        for topic in &names {
            let members = self.model.channels.get(topic).map_or(0, BTreeMap::len);
            assert_eq!(self.core.subscribers(given_as(topic)), members);
        }
        let listed: BTreeSet<Topic> = names.iter().cloned().collect();
        assert_eq!(listed.len(), names.len(), "each name is shown once");
        let expected: BTreeSet<Topic> = self.model.channels.keys().cloned().collect();
        assert_eq!(listed, expected);
        assert_eq!(self.mirror.wanted, expected);
    }

    fn compare_mirror(&self) {
        let mirror = &self.mirror;
        assert_eq!(mirror.lists.len(), self.model.channels.len());
        for (channel, list) in &mirror.lists {
            let name = &mirror.names[channel];
            let expected = self.model.publish_to(name, &[]);
            let listed: Vec<(u64, u64)> = list
                .values()
                .map(|each| (each.subscriber.get(), each.route.socket.get()))
                .collect();
            let expected: Vec<(u64, u64)> = expected
                .iter()
                .map(|each| (each.subscriber, each.socket))
                .collect();
            assert_eq!(listed, expected, "the recipients of {name:?}");
        }
    }

    fn compare_sockets(&self) {
        let states: BTreeMap<SocketId, SocketState> = self.core.sockets().into_iter().collect();
        let known: Vec<u64> = states.keys().map(|id| id.get()).collect();
        assert_eq!(
            known,
            self.model.sockets.keys().copied().collect::<Vec<_>>()
        );
        for (id, state) in &states {
            self.compare_socket(*id, state);
        }
        for id in ids(&self.ids) {
            assert_eq!(self.core.socket(id).as_ref(), states.get(&id));
            let route = self.core.route(id).map(|route| route.socket.get());
            assert_eq!(route, self.model.resolve(id.get()), "where {id} leads");
            let topics = self.core.topics_of(id);
            let names: BTreeSet<Topic> = topics.iter().map(mirror::topic).collect();
            assert_eq!(names.len(), topics.len());
            assert_eq!(names, self.model.topics_of(id.get()), "the topics of {id}");
            let channels = self.core.channels_of(id, usize::MAX).len();
            assert_eq!(channels, self.core.tally(id).channels);
            for topic in &topics {
                assert!(self.core.is_subscribed(id, topic.topic()));
            }
        }
    }

    fn compare_socket(&self, id: SocketId, state: &SocketState) {
        match (state, &self.model.sockets[&id.get()]) {
            (
                SocketState::Real {
                    address: peer,
                    worker,
                    route,
                },
                Socket::Real {
                    shard,
                    slot,
                    worker: pinned,
                    token,
                },
            ) => {
                assert_eq!(
                    (route.socket, route.shard.get(), route.slot),
                    (id, usize::from(*shard), *slot)
                );
                assert_eq!((*peer, worker), (address(*slot), pinned));
                let stored = self.core.token(id).map(|token| token.bytes);
                assert_eq!(stored, token.clone().map(Into::into));
            }
            (
                SocketState::Virtual { target, annotation },
                Socket::Virtual {
                    target: aim, mark, ..
                },
            ) => {
                assert_eq!(target.get(), *aim);
                assert_eq!(annotation.as_deref().map(mirror::mark), *mark);
                assert_eq!(self.core.token(id), None);
            }
            other => panic!("{id} differs from the model: {other:?}"),
        }
    }

    fn compare_counts(&self) {
        let model = &self.model;
        let real = model
            .sockets
            .values()
            .filter(|socket| matches!(socket, Socket::Real { .. }))
            .count();
        let topics = model.channels.keys();
        let patterns = topics
            .filter(|topic| matches!(topic, Topic::Pattern(_)))
            .count();
        assert_eq!(self.core.pattern_count(), patterns);
        let expected = Counts {
            sockets: real,
            virtual_sockets: model.sockets.len() - real,
            channels: model.channels.len() - patterns,
            patterns,
            subscriptions: model.channels.values().map(BTreeMap::len).sum(),
            // the core also counts keys that have expired
            keys: self.core.key_count(),
        };
        assert_eq!(self.core.counts(), expected);
    }
}

fn plain(state: &ChannelState) -> (Topic, BTreeMap<u64, u16>) {
    let subscribers = state
        .subscribers
        .iter()
        .map(|(id, count)| (id.get(), *count))
        .collect();
    (Topic::Channel(state.name.to_vec()), subscribers)
}
