//! Outgoing connections. Each has the configuration of a listener of its own, which does not listen; stopping that
//! listener by its id closes the connection.

use std::sync::{Arc, Weak};

use ahash::AHashMap;

use super::Gateway;
use crate::config::ListenerConfig;
use crate::inbox::Command;
use crate::limits::LimitValues;
use crate::listener::{Dialling, ListenerState, Owner};
use crate::net::address::ListenError;
use crate::net::connect::DialTarget;
use crate::net::tls::{ClientTls, Connector};
use crate::notice::Notices;
use crate::options::Options;
use crate::sync::Mutex;

/// An outgoing connection.
#[derive(Clone, Debug)]
pub struct DialConfig {
    /// The peer.
    pub target: DialTarget,
    /// Encryption; `None` is plain.
    pub tls: Option<ClientTls>,
    /// The protocol with its options and limits. The fields that concern listening are not used.
    pub terms: ListenerConfig,
}

/// The listeners of outgoing connections by id, so that they can be closed.
#[derive(Debug, Default)]
pub(super) struct Dialled(Mutex<AHashMap<u32, Weak<ListenerState>>>);

impl Dialled {
    /// Closes the connections with these ids, including those that are still being established.
    pub(super) fn stop(&self, ids: &[u32]) {
        let found: Vec<_> = {
            let dialled = self.0.lock();
            ids.iter()
                .filter_map(|id| dialled.get(id)?.upgrade())
                .collect()
        };
        // after the lock is released, because dropping the last reference takes it
        for state in found {
            state.stop();
        }
    }

    /// The ids of the connections whose owner has these notices.
    pub(super) fn of(&self, notices: &Arc<Notices>) -> Vec<u32> {
        let all: Vec<_> = {
            let dialled = self.0.lock();
            dialled.values().filter_map(Weak::upgrade).collect()
        };
        // after the lock is released, as above
        let own = all.iter().filter(|state| state.is_of(notices));
        own.map(|state| state.id).collect()
    }

    fn remove(&self, id: u32) {
        self.0.lock().remove(&id);
    }
}

impl Gateway {
    /// Connects to a peer. Its socket belongs to a worker, as if it had been accepted. Returns an id at once, which
    /// [`stop_listeners`](Self::stop_listeners) takes to close the connection.
    /// [`Notice::DialFailed`](crate::Notice::DialFailed) follows if the peer cannot be reached.
    pub fn dial(self: &Arc<Self>, config: DialConfig) -> Result<u32, ListenError> {
        self.dial_for(config, self.owner())
    }

    /// Like [`dial`](Self::dial), for this owner.
    pub(super) fn dial_for(
        self: &Arc<Self>,
        config: DialConfig,
        owner: Owner,
    ) -> Result<u32, ListenError> {
        let DialConfig {
            target,
            tls,
            mut terms,
        } = config;
        let protocol = self.protocol(&terms.protocol);
        let protocol = protocol.ok_or_else(|| ListenError::Protocol(terms.protocol.clone()))?;
        let needs = protocol.needs(&terms);
        let service = protocol.service(&terms)?;
        let tls = tls.as_ref().map(Connector::new).transpose()?;
        terms.options = Options::default();
        terms.protocol_limits = LimitValues::default();
        let mut state = self.state.lock();
        if self.hub.shards() == 0 {
            return Err(ListenError::NotRunning);
        }
        state.next_listener += 1;
        let id = state.next_listener;
        let (services, dialled) = (Arc::clone(&self.services), Arc::clone(&self.dialled));
        let left = move || {
            dialled.remove(id);
            services.remove(id);
        };
        let is_encrypted = tls.is_some();
        let terms = ListenerState::dialled(id, terms, is_encrypted, left);
        let terms = Arc::new(terms.of(owner));
        self.services.add(id, service, needs);
        self.dialled.0.lock().insert(id, Arc::downgrade(&terms));
        let shard = self.hub.next_shard();
        let dialling = Dialling {
            target,
            tls,
            state: terms,
        };
        self.hub
            .inboxes()
            .post(shard, Command::Dial(Box::new(dialling)));
        self.hub.inboxes().wake_bits(1 << shard.get());
        Ok(id)
    }
}
