//! Starting a gateway, its listeners and workers.

use std::sync::Arc;

use millrace_backplane::ClusterInfo;
use millrace_core::ShardIndex;
use tracing::Dispatch;

use super::{Gateway, StartError, State};
use crate::backplane::Prepared;
use crate::config::{GatewayConfig, ListenerConfig};
use crate::doorbell::Doorbell;
use crate::event::Handlers;
use crate::hub::Worker;
use crate::inbox::Command;
use crate::limits::{LimitValues, MAX_SHARDS};
use crate::listener::{ListenerState, Listening as Accepting, Owner};
use crate::net::address::{self, Bound, ListenError};
use crate::net::tls::{Terms, TlsConfig, TlsError};
use crate::options::Options;
use crate::shard::protocol::{Needs, Protocol};
use crate::stats::ShardStats;

/// A listener after it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The id for [`Gateway::stop_listeners`].
    pub id: u32,
    /// The bound address: `ip:port` with the actual port, or `unix:/path`. Empty if the listener is attached.
    pub address: String,
}

impl Gateway {
    /// Starts the I/O shards. On a running gateway the configuration has to be the same. `notices` rings when there are
    /// notices to [take](Self::take_notices).
    pub fn start(
        self: &Arc<Self>,
        config: GatewayConfig,
        notices: Arc<dyn Doorbell>,
    ) -> Result<(), StartError> {
        let mut state = self.state.lock();
        if let Some(running) = &state.config {
            return same(running, &config);
        }
        self.hub.audience().starter().set_door(notices);
        self.run(&mut state, config)
    }

    /// Starts the I/O shards of a gateway that does not run.
    pub(super) fn run(
        self: &Arc<Self>,
        state: &mut State,
        config: GatewayConfig,
    ) -> Result<(), StartError> {
        if state.shards_left > 0 {
            return Err(StartError::ShuttingDown);
        }
        if config.io_threads == 0 || config.io_threads > MAX_SHARDS {
            return Err(StartError::IoThreads(config.io_threads));
        }
        let has_history = config.channels.iter().any(|terms| terms.history.is_some());
        let has_presence = config.channels.iter().any(|terms| terms.presence);
        let prepare = |backplane| {
            let of = (&self.hub, &*config.channels);
            self.backplane.prepare(backplane, &config.limits, of)
        };
        let backplane = config.backplane.clone().map(prepare).transpose()?;
        self.hub.permits().set_limits(&config.limits);
        let has_others = backplane.is_some();
        self.hub
            .set_store(has_history && has_others, &config.channels);
        self.hub.set_channel_terms(&config.channels, &config.limits);
        self.hub
            .set_rosters(has_presence && has_others, &config.channels);
        self.hub
            .inboxes()
            .open(config.io_threads, config.limits.shard_inbox_bytes);
        for index in 0..config.io_threads {
            let Some(shard) = shard_index(index) else {
                break;
            };
            let counters = Arc::new(ShardStats::default());
            let (gateway, fixed) = (Arc::clone(self), config.clone());
            let kept = (Arc::clone(&counters), Arc::clone(&self.services));
            let alive = state.threads.alive();
            let run = move || {
                let _alive = alive;
                let _logging = fixed.log.as_ref().map(tracing::dispatcher::set_default);
                let outcome = crate::shard::run(shard, &gateway.hub, &fixed, kept);
                if let Err(message) = outcome {
                    gateway.part_failed(message);
                }
                gateway.thread_ended();
            };
            let thread = std::thread::Builder::new().name(format!("millrace-io-{index}"));
            match thread.spawn(run) {
                Ok(thread) => state.threads.add(thread),
                Err(error) => {
                    for unused in (index..config.io_threads).filter_map(shard_index) {
                        self.hub.inboxes().shut(unused);
                    }
                    self.hub.inboxes().post_all(|| Command::End);
                    return Err(StartError::Thread(error));
                }
            }
            self.hub.add_counters(counters);
            state.shards_left += 1;
        }
        if let Some(backplane) = backplane {
            self.start_backplane(state, backplane, config.log.clone())?;
        }
        self.hub.set_shards(config.io_threads);
        state.config = Some(config);
        Ok(())
    }

    fn start_backplane(
        self: &Arc<Self>,
        state: &mut State,
        prepared: Prepared,
        log: Option<Dispatch>,
    ) -> Result<(), StartError> {
        let gateway = Arc::clone(self);
        let alive = state.threads.alive();
        let ended = move |outcome| {
            let _alive = alive;
            gateway.backplane_ended(outcome);
        };
        match self.backplane.run(&self.hub, prepared, log, ended) {
            Ok(thread) => state.threads.add(thread),
            Err(error) => {
                self.hub.inboxes().post_all(|| Command::End);
                return Err(StartError::Thread(error));
            }
        }
        state.shards_left += 1;
        Ok(())
    }

    /// Binds an address and accepts connections on it from now on. Returns when it is bound.
    pub fn listen(self: &Arc<Self>, config: ListenerConfig) -> Result<Listening, ListenError> {
        self.listen_for(config, self.owner())
    }

    /// Like [`listen`](Self::listen), for this owner.
    pub(super) fn listen_for(
        self: &Arc<Self>,
        mut config: ListenerConfig,
        owner: Owner,
    ) -> Result<Listening, ListenError> {
        if !self.is_running() {
            return Err(ListenError::NotRunning);
        }
        let protocol = self.protocol(&config.protocol);
        let protocol = protocol.ok_or_else(|| ListenError::Protocol(config.protocol.clone()))?;
        let needs = protocol.needs(&config);
        // keys and passwords are not kept in the configuration
        let tls = config.tls.take();
        let tls = tls.map(|tls| Terms::new(&tls, needs.alpn)).transpose()?;
        let service = protocol.service(&config)?;
        config.options = Options::default();
        config.protocol_limits = LimitValues::default();
        // outside the lock: checking whether a unix socket is in use may take a moment
        let (bound, address) = if config.attached {
            (Bound::Tcp(Vec::new()), String::new())
        } else {
            address::bind(&config.address, config.reuse_port, config.backlog)?
        };
        let caution = service.caution(&self.hub);
        let mut state = self.state.lock();
        let shards = self.hub.shards();
        if shards == 0 {
            return Err(ListenError::NotRunning);
        }
        state.next_listener += 1;
        let id = state.next_listener;
        let services = Arc::clone(&self.services);
        let left = move || services.remove(id);
        let listener = Arc::new(ListenerState::new(id, config, tls, left).of(owner));
        self.services.add(id, service, needs);
        state.listeners.push(Arc::clone(&listener));
        let home = usize::try_from(id).unwrap_or_default() % shards;
        if let Some(home) = shard_index(home) {
            self.hub.inboxes().post(
                home,
                Command::Listen(Box::new(Accepting {
                    bound,
                    state: listener,
                    caution,
                })),
            );
            self.hub.inboxes().wake_bits(1 << home.get());
        }
        Ok(Listening { id, address })
    }

    /// The owner of listeners and connections that belong to no particular thread.
    pub(super) fn owner(&self) -> Owner {
        Owner {
            notices: self.hub.audience().starter(),
            worker: None,
        }
    }

    pub(super) fn protocol(&self, name: &str) -> Option<&dyn Protocol> {
        let mut protocols = self.protocols.iter();
        let found = protocols.find(|protocol| protocol.name() == name);
        found.map(|protocol| &**protocol)
    }

    /// Replaces certificates, keys and authorities of listeners: of all of them, or of none if one configuration is
    /// invalid. Open connections are not affected. Listeners that are gone or not encrypted are skipped.
    pub fn reload_tls(&self, configs: &[(u32, TlsConfig)]) -> Result<(), TlsError> {
        let listeners = self.state.lock().listeners.clone();
        let mut made = Vec::with_capacity(configs.len());
        for (id, config) in configs {
            let listener = listeners.iter().find(|listener| listener.id == *id);
            let Some((listener, old)) =
                listener.and_then(|listener| Some((listener, listener.tls.as_ref()?)))
            else {
                continue;
            };
            // the protocols may differ from before, such as without HTTP/2
            let like = ListenerConfig {
                tls: Some(config.clone()),
                ..listener.config.clone()
            };
            let protocol = self.protocol(&like.protocol);
            let needs = protocol.map_or_else(Needs::default, |protocol| protocol.needs(&like));
            made.push((old, Terms::new(config, needs.alpn)?));
        }
        for (old, newer) in made {
            old.replace(&newer);
        }
        Ok(())
    }

    /// Asks all nodes how many subscribers these channels have, at most [`MOST_CHANNELS`](crate::MOST_CHANNELS) of
    /// them; returns a ticket for [`cluster_answer`](Self::cluster_answer).
    pub fn ask_cluster(&self, channels: Vec<Box<[u8]>>) -> u32 {
        self.backplane.ask(&self.hub, channels)
    }

    /// Takes the answer of all nodes, which arrives within about a second.
    pub fn cluster_answer(&self, ticket: u32) -> Option<ClusterInfo> {
        self.backplane.answer(ticket)
    }

    /// Adds a worker, which takes no connections until it is [activated](Worker::activate).
    pub fn add_worker(
        self: &Arc<Self>,
        handlers: Handlers,
        door: Arc<dyn Doorbell>,
    ) -> Arc<Worker> {
        let id = self.next_worker();
        Arc::new(Worker::new(id, handlers, door, Arc::downgrade(&self.hub)))
    }

    /// The id for a new worker.
    pub(super) fn next_worker(&self) -> u32 {
        let mut state = self.state.lock();
        state.next_worker += 1;
        state.next_worker
    }
}

fn shard_index(index: usize) -> Option<ShardIndex> {
    u8::try_from(index).ok().and_then(ShardIndex::new)
}

fn same(running: &GatewayConfig, config: &GatewayConfig) -> Result<(), StartError> {
    if running.io_threads != config.io_threads {
        return Err(StartError::AlreadyStarted {
            option: "ioThreads",
        });
    }
    if running.io_uring != config.io_uring {
        return Err(StartError::AlreadyStarted { option: "ioUring" });
    }
    if config.backplane.is_some() && running.backplane != config.backplane {
        return Err(StartError::AlreadyStarted {
            option: "backplane",
        });
    }
    if running.channels != config.channels {
        return Err(StartError::AlreadyStarted { option: "channels" });
    }
    if running.limits != config.limits {
        return Err(StartError::AlreadyStarted { option: "limits" });
    }
    Ok(())
}
