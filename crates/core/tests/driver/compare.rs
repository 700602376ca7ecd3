//! Everything that can be seen of a core, next to the model. Changes neither.

use std::collections::{BTreeMap, BTreeSet};

use millrace_core::{ChannelState, Counts, SocketId, SocketState};
use millrace_testkit::model::Socket;

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
        self.compare_mirror();
        self.compare_sockets();
        self.compare_counts();
        let keys: BTreeMap<Vec<u8>, Vec<u8>> = self
            .core
            .keys(usize::MAX)
            .into_iter()
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        assert_eq!(keys, self.model.keys);
        for (key, value) in &self.model.keys {
            assert_eq!(self.core.key(key).as_deref(), Some(&value[..]));
        }
    }

    fn compare_channels(&self) {
        let states = self.core.channels(usize::MAX);
        assert_eq!(states.len(), self.model.channels.len());
        let channels: BTreeMap<Vec<u8>, BTreeMap<u64, u16>> = states.iter().map(plain).collect();
        assert_eq!(channels, self.model.channels);
        for byte in 0..8 {
            let name = super::name(byte);
            let state = self.core.channel(&name);
            let exists = self.model.channels.contains_key(&name);
            assert_eq!(self.core.has_subscriptions(&name), exists);
            assert_eq!(state.is_some(), exists);
            assert!(state.is_none_or(|state| states.contains(&state)));
        }
        assert_eq!(self.core.channels(1).len(), states.len().min(1));
    }

    fn compare_mirror(&self) {
        let mirror = &self.mirror;
        assert_eq!(mirror.lists.len(), self.model.channels.len());
        for (channel, list) in &mirror.lists {
            let name = &mirror.names[channel];
            let expected = self.model.publish(name, &[]);
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
            let states = self.core.channels_of(id, usize::MAX);
            let names: BTreeSet<Vec<u8>> = states.iter().map(|state| state.name.to_vec()).collect();
            assert_eq!(names.len(), states.len());
            assert_eq!(
                names,
                self.model.channels_of(id.get()),
                "the channels of {id}"
            );
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
                assert_eq!(self.core.token(id), token.clone().map(Into::into));
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
            other => panic!("{id} is something else: {other:?}"),
        }
    }

    fn compare_counts(&self) {
        let model = &self.model;
        let real = model
            .sockets
            .values()
            .filter(|socket| matches!(socket, Socket::Real { .. }))
            .count();
        let expected = Counts {
            sockets: real,
            virtual_sockets: model.sockets.len() - real,
            channels: model.channels.len(),
            subscriptions: model.channels.values().map(BTreeMap::len).sum(),
            keys: model.keys.len(),
        };
        assert_eq!(self.core.counts(), expected);
    }
}

fn plain(state: &ChannelState) -> (Vec<u8>, BTreeMap<u64, u16>) {
    let subscribers = state
        .subscribers
        .iter()
        .map(|(id, count)| (id.get(), *count))
        .collect();
    (state.name.to_vec(), subscribers)
}
