//! What applications do with a gateway, started or not: messages, subscriptions, tokens, keys and counters. `dirty`
//! collects the I/O shards to [wake](Hub::wake), so that many calls share one wake-up. Over 400 lines because each call has its
//! documentation here.

use bytes::Bytes;
use millrace_core::{
    Annotation, Held, Kind, Reach, ShardSet, SocketId, Target, Token, TokenError, Topic, Update,
};

use super::Hub;
use super::clients::name_of;
use super::clock::unix_ms;
use super::outgoing::{Outgoing, SMALL_BYTES, post_small};
use super::poster::{Lost, Poster};
use crate::frame::Publication;
use crate::inbox::Command;
use crate::stats::{Stats, WorkerStats};
use crate::sync::Ordering;
use crate::worker::AsciiText;

/// A text that a worker received, in the form that all its recipients share.
#[derive(Debug)]
pub struct Forwardable(Publication);

impl Hub {
    /// Sends to sockets and channels; returns the number of posted deliveries. Never blocks.
    #[inline]
    pub fn send(
        &self,
        targets: &[Target<'_>],
        kind: Kind,
        payload: &[u8],
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        if let [Target::Socket(id)] = targets
            && payload.len() <= SMALL_BYTES
        {
            return self.send_small(*id, (kind, payload), except, dirty);
        }
        self.send_message(targets, &Outgoing::new(kind, payload), except, dirty)
    }

    /// Like [`send`](Self::send), with a payload that connections with compression get as it is. Other nodes decide by
    /// the terms of the channel alone.
    pub fn send_uncompressed(
        &self,
        targets: &[Target<'_>],
        kind: Kind,
        payload: &[u8],
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        let publication = Publication::new(kind, payload).uncompressed();
        self.send_message(targets, &Outgoing::fresh(&publication), except, dirty)
    }

    /// Like [`send`](Self::send), with a large payload behind [`HEAD_ROOM`](crate::HEAD_ROOM) arbitrary bytes, which is
    /// not copied.
    pub fn send_in_place(
        &self,
        targets: &[Target<'_>],
        kind: Kind,
        bytes: Vec<u8>,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        let publication = Publication::in_place(kind, bytes);
        self.send_message(targets, &Outgoing::fresh(&publication), except, dirty)
    }

    /// Prepares an ASCII text that a worker received for sending, without a copy.
    pub fn forwardable(&self, text: AsciiText) -> Forwardable {
        let bytes = text.into_roomy();
        Forwardable(Publication::in_place(Kind::Text, bytes))
    }

    /// Like [`send`](Self::send), with a text that a worker received.
    pub fn forward(
        &self,
        targets: &[Target<'_>],
        text: &Forwardable,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        self.send_message(targets, &Outgoing::shared(&text.0), except, dirty)
    }

    /// A function of its own, so that messages for one socket are posted from registers.
    #[inline(never)]
    fn send_message(
        &self,
        targets: &[Target<'_>],
        message: &Outgoing<'_>,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        let mut lost = Lost::default();
        let count = targets
            .iter()
            .map(|target| {
                let (count, more) = match target {
                    Target::Socket(id) => self.post_to_socket(*id, message, except, dirty),
                    Target::Channel(name) => self.post_to_channel(name, message, except, dirty),
                };
                lost.add(more);
                count
            })
            .sum();
        self.account_for(lost);
        count
    }

    /// Sends a small message to one real socket, as most messages are, without the data that other recipients need.
    #[inline(never)]
    fn send_small(
        &self,
        id: SocketId,
        message: (Kind, &[u8]),
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> usize {
        let posted = self.core.reach(id, except, |route, annotation| {
            if annotation.is_some() {
                return None;
            }
            post_small(message, &self.inboxes, route, dirty)
        });
        let Some(quick) = posted else {
            return 0;
        };
        let (count, lost) = match quick {
            Some(true) => return 1,
            Some(false) => (0, Lost::refused(true)),
            None => {
                let message = Outgoing::new(message.0, message.1);
                self.post_slowly(id, &message, except, dirty)
            }
        };
        self.account_for(lost);
        count
    }

    fn post_to_socket(
        &self,
        id: SocketId,
        message: &Outgoing<'_>,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> (usize, Lost) {
        let quick = self.core.reach(id, except, |route, annotation| {
            if annotation.is_some() || !message.compresses {
                return None;
            }
            post_small((message.kind, message.payload), &self.inboxes, route, dirty)
        });
        match quick {
            None => (0, Lost::default()),
            Some(Some(accepted)) => (usize::from(accepted), Lost::refused(!accepted)),
            Some(None) => self.post_slowly(id, message, except, dirty),
        }
    }

    /// Posts a message that is large, or that goes to a virtual socket with user data.
    #[inline(never)]
    fn post_slowly(
        &self,
        id: SocketId,
        message: &Outgoing<'_>,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> (usize, Lost) {
        let poster = Poster::new(&self.inboxes, dirty, None);
        let mut poster = poster.showing_marks(self.has_clients());
        let count = self.core.send(id, message, except, &mut poster);
        (count, poster.lost())
    }

    fn post_to_channel(
        &self,
        name: &[u8],
        message: &Outgoing<'_>,
        except: &[SocketId],
        dirty: &mut ShardSet,
    ) -> (usize, Lost) {
        let mut poster = self.poster(dirty);
        let count = self.core.publish(name, message, except, &mut poster);
        (count, poster.lost())
    }

    /// Sends short texts, each to a real socket. Has the same effect as that many calls of [`send`](Self::send), at a
    /// fraction of their cost; closed sockets are skipped. Never blocks.
    pub fn send_texts<'t>(
        &self,
        texts: impl IntoIterator<Item = (SocketId, &'t [u8])>,
        dirty: &mut ShardSet,
    ) {
        let mut poster = self.poster(dirty);
        poster.texts(&self.core, texts);
        self.account_for(poster.lost());
    }

    /// Does the same as [`send_texts`](Self::send_texts) with a long text that a worker received.
    pub fn send_received(&self, id: SocketId, text: &Forwardable, dirty: &mut ShardSet) {
        let message = Outgoing::shared(&text.0);
        let (_, mut lost) = self.post_slowly(id, &message, &[], dirty);
        if self.core.route(id).is_none() {
            lost.gone += 1;
        }
        self.account_for(lost);
    }

    #[inline]
    pub(super) fn account_for(&self, lost: Lost) {
        if lost != Lost::default() {
            self.report_lost(lost);
        }
    }

    #[cold]
    fn report_lost(&self, lost: Lost) {
        if lost.gone > 0 {
            self.counted
                .texts_too_late
                .fetch_add(u64::from(lost.gone), Ordering::Relaxed);
        }
        if lost.unannotated > 0 {
            self.count_unannotated(u64::from(lost.unannotated));
        }
        if lost.refused {
            self.report(
                "ERR_MILLRACE_INBOX_FULL",
                "an I/O thread has too much to send; deliveries to its sockets were refused",
            );
        }
    }

    /// Sends to a sharded channel; returns the number of posted deliveries.
    pub fn send_sharded(
        &self,
        channel: &[u8],
        kind: Kind,
        payload: &[u8],
        dirty: &mut ShardSet,
    ) -> usize {
        let message = Outgoing::new(kind, payload);
        let mut poster = self.poster(dirty);
        let count = self
            .core
            .publish_sharded(channel, &message, &[], &mut poster);
        self.account_for(poster.lost());
        count
    }

    /// Delivers a message from another node, on this node only; returns the number of posted deliveries. `from`: the node and
    /// the socket whose client has published it, if subscribers see that.
    pub fn deliver(
        &self,
        reach: Reach<'_>,
        (kind, payload): (Kind, &[u8]),
        from: Option<(u64, u64)>,
        dirty: &mut ShardSet,
    ) -> usize {
        let from = from.and_then(|(node, socket)| Some(name_of(node, SocketId::new(socket)?)));
        let named = from.map(|name| Publication::new(kind, payload).published_by(name));
        let message = match &named {
            Some(publication) => Outgoing::fresh(publication),
            None => Outgoing::new(kind, payload),
        };
        let mut poster = Poster::new(&self.inboxes, dirty, None);
        let count = self.core.publish_here(reach, &message, &mut poster);
        self.account_for(poster.lost());
        count
    }

    /// Whether a message in the channel would reach a socket of this node, or whether a socket is subscribed to exactly
    /// this pattern.
    pub fn has_subscriptions(&self, topic: Topic<'_>) -> bool {
        match topic {
            Topic::Channel(name) => self.core.has_subscriptions(name),
            Topic::Sharded(_) | Topic::Pattern(_) => self.core.subscribers(topic) > 0,
        }
    }

    /// See [`Core::create_virtual`](millrace_core::Core::create_virtual).
    pub fn create_virtual(&self, target: SocketId, annotation: Option<Annotation>) -> SocketId {
        self.core.create_virtual(target, annotation)
    }

    /// See [`Core::delete_virtual`](millrace_core::Core::delete_virtual).
    pub fn delete_virtual(
        &self,
        id: SocketId,
        expected: Option<SocketId>,
        dirty: &mut ShardSet,
    ) -> bool {
        self.core
            .delete_virtual(id, expected, &mut self.poster(dirty))
    }

    /// Attaches a token to a real, open socket; handlers get it from their next call on.
    pub fn set_token(&self, id: SocketId, token: impl Into<Token>) -> Result<(), TokenError> {
        self.core.set_token(id, token)?;
        if let Some(worker) = self.worker_of(id) {
            worker.token_changed(id);
        }
        Ok(())
    }

    /// The token of a real, open socket.
    pub fn token(&self, id: SocketId) -> Option<Token> {
        self.core.token(id)
    }

    /// Closes a socket, or the real socket of a virtual one; the first call counts. False: there is no such socket.
    pub fn close(&self, id: SocketId, code: u16, reason: &str, dirty: &mut ShardSet) -> bool {
        self.core.begin_close(id, |route| {
            let command = Command::Close {
                slot: route.slot,
                socket: route.socket,
                code,
                reason: reason.into(),
            };
            self.inboxes.post(route.shard, command);
            dirty.insert(route.shard);
        })
    }

    /// A copy of a key's value.
    pub fn key(&self, key: &[u8]) -> Option<Bytes> {
        self.core.key(key, unix_ms)
    }

    /// Sets a key, or deletes it without a value; returns the value before.
    pub fn set_key(&self, key: &[u8], value: Option<Bytes>) -> Option<Bytes> {
        self.core.set_key(key, value, unix_ms)
    }

    /// Sets a key if its value is as expected; see [`Core::set_key_if`](millrace_core::Core::set_key_if).
    pub fn set_key_if(&self, key: &[u8], new: Option<Bytes>, check: Option<&[u8]>) -> bool {
        self.core.set_key_if(key, new, check, unix_ms)
    }

    /// See [`Core::update_key`](millrace_core::Core::update_key).
    pub fn update_key<R>(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<Held<'_>>) -> (Update, R),
    ) -> R {
        self.core.update_key(key, unix_ms, change)
    }

    /// See [`Core::expire_keys`](millrace_core::Core::expire_keys).
    pub(crate) fn expire_keys(&self) {
        self.core.expire_keys(unix_ms());
    }

    /// See [`Core::scan_keys`](millrace_core::Core::scan_keys).
    pub fn scan_keys(
        &self,
        cursor: u64,
        count: usize,
        visit: &mut dyn FnMut(&[u8], &Bytes),
    ) -> u64 {
        self.core.scan_keys(cursor, count, unix_ms(), visit)
    }

    /// The counters and sizes at this moment.
    pub fn stats(&self) -> Stats {
        let counts = self.core.counts();
        let posted = self.inboxes.posted();
        let mut traffic = {
            let counters = self.counted.traffic.lock();
            let mut traffic = counters.ended;
            counters.running.iter().for_each(|shard| traffic.add(shard));
            traffic
        };
        let too_late = self.counted.texts_too_late.load(Ordering::Relaxed);
        traffic.dropped_by_close += too_late;
        let recovered = self.counted.recovered.load(Ordering::Relaxed);
        let workers = self.workers.active();
        Stats {
            traffic,
            connections: self.permits.taken(),
            sockets: counts.sockets,
            virtual_sockets: counts.virtual_sockets,
            channels: counts.channels,
            patterns: counts.patterns,
            subscriptions: counts.subscriptions,
            keys: counts.keys,
            deliveries: posted.deliveries + too_late + recovered,
            deliveries_refused: posted.refused,
            unannotated: self.counted.unannotated.load(Ordering::Relaxed),
            compression: self.encodings.compression_counts().stats(),
            unhandled_closes: self.counted.unhandled_closes.load(Ordering::Relaxed),
            outbox_bytes: self.ledgers.held(),
            inbound_bytes: self.inbound.bytes(),
            errors: self.counted.errors.load(Ordering::Relaxed),
            handler_times: self.counted.handler_times.times(),
            io_threads: self.shards.load(Ordering::Relaxed),
            backplane: self.uplink.get().and_then(|uplink| uplink.stats()),
            histories: self.replicas.stats(),
            presence: self.rosters.stats(),
            workers: workers
                .iter()
                .map(|worker| {
                    let (queued_events, queued_bytes) = worker.queue().backlog();
                    WorkerStats {
                        id: worker.id(),
                        connections: worker.queue().connections(),
                        events: worker.queue().events(),
                        queued_events,
                        queued_bytes,
                        handler_times: worker.handler_times(),
                        loop_delays: worker.loop_delays(),
                    }
                })
                .collect(),
        }
    }
}
