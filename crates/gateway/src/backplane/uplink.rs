//! Passes what the core publishes on to the backplane, for other nodes.

use std::fmt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use millrace_backplane::{Outlet, Stats};
use millrace_core::{Name, Space, TermsIndex, Topic};

use super::BackplaneHandle;
use crate::frame::Publication;
use crate::hub::{Hub, Replicas, Rosters, Storing, Uplink};
use crate::sync::{AtomicBool, Ordering};

/// See the module. Idle while the outlet is closed.
pub(super) struct BackplaneUplink {
    outlet: Arc<Outlet>,
    hub: Weak<Hub>,
    handle: Weak<BackplaneHandle>,
    replicas: Arc<Replicas>,
    rosters: Arc<Rosters>,
    has_dropped: AtomicBool,
}

impl fmt::Debug for BackplaneUplink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackplaneUplink").finish_non_exhaustive()
    }
}

impl BackplaneUplink {
    pub(super) fn new(outlet: Arc<Outlet>, hub: &Arc<Hub>, handle: &Arc<BackplaneHandle>) -> Self {
        Self {
            outlet,
            hub: Arc::downgrade(hub),
            handle: Arc::downgrade(handle),
            replicas: Arc::clone(hub.replicas()),
            rosters: Arc::clone(hub.rosters()),
            has_dropped: AtomicBool::new(false),
        }
    }
}

impl Uplink for BackplaneUplink {
    fn wanted(&self, terms: Option<TermsIndex>, name: &Name, wanted: bool) {
        let channel = name.as_bytes();
        self.rosters.wanted(terms, channel, wanted);
        if !self.replicas.wanted(terms, channel, wanted) {
            self.outlet.note(topic_of(name), wanted);
        }
    }

    fn unsaved(&self, name: &Name) {
        self.rosters.changed(name.as_bytes());
    }

    fn publish(&self, channel: Topic<'_>, publication: &Publication) {
        if !self.outlet.is_open() {
            return;
        }
        let payload = publication.payload();
        let body = if payload.len() > COPIED_BYTES {
            Bytes::from_owner(Shared(publication.clone()))
        } else {
            Bytes::copy_from_slice(payload)
        };
        let is_sharded = channel.space() == Space::Sharded;
        let (name, kind) = (channel.as_bytes(), publication.kind());
        let fits = match publication.from().and_then(socket_of) {
            Some(socket) => self.outlet.publish_by(name, socket, kind, body),
            None => self.outlet.publish(is_sharded, name, kind, body),
        };
        if !fits {
            self.has_dropped.store(true, Ordering::Relaxed);
        }
    }

    fn stores(&self) -> bool {
        self.replicas.is_on()
    }

    fn store(&self, storing: Storing<'_>) {
        if let Some(hub) = self.hub.upgrade() {
            hub.append(storing);
        }
    }

    fn wake(&self) {
        self.outlet.ring();
        if self.has_dropped.load(Ordering::Relaxed)
            && self.has_dropped.swap(false, Ordering::Relaxed)
            && let Some(hub) = self.hub.upgrade()
        {
            hub.report(
                "ERR_MILLRACE_BACKPLANE_DROPPED",
                "messages to other nodes were dropped: too many wait for the backplane, or one is too large",
            );
        }
    }

    fn is_awaited(&self) -> bool {
        self.outlet.is_awaited()
    }

    fn stats(&self) -> Option<Stats> {
        self.handle.upgrade()?.stats()
    }

    fn node(&self) -> Option<u64> {
        self.outlet.is_open().then(|| self.outlet.node())
    }
}

/// The number in the name of a socket of this node.
fn socket_of(name: &str) -> Option<u64> {
    let (_node, id) = name.split_once('-')?;
    id.parse().ok()
}

/// The topic for a name of the core.
pub(super) fn topic_of(name: &Name) -> millrace_backplane::Topic {
    let bytes = name.as_bytes().into();
    match name.space() {
        Space::Channel => millrace_backplane::Topic::Channel(bytes),
        Space::Sharded => millrace_backplane::Topic::Sharded(bytes),
        Space::Pattern => millrace_backplane::Topic::Pattern(bytes),
    }
}

/// A payload that is not copied.
struct Shared(Publication);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.payload()
    }
}

/// Payloads up to this size are copied, so that messages that wait for the backplane are not counted with those that
/// wait for clients.
const COPIED_BYTES: usize = 16 * 1024;
