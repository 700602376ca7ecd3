//! What the backplane needs from this hub.

use std::sync::Arc;

use millrace_backplane::{Census, Destination, Local, Topic, Trouble};
use millrace_core::{Kind, Reach, ShardSet, Space};

use super::uplink::topic_of;
use crate::hub::Hub;
use crate::notice::Notice;

/// See the module. Used on the backplane's thread.
pub(super) struct LocalNode {
    hub: Arc<Hub>,
    /// I/O shards to wake after incoming messages were posted.
    dirty: ShardSet,
}

impl LocalNode {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            dirty: ShardSet::default(),
        }
    }
}

impl Local for LocalNode {
    fn deliver(
        &mut self,
        destination: Destination<'_>,
        message: (Kind, &[u8]),
        from: Option<(u64, u64)>,
    ) {
        let reach = match destination {
            Destination::Channel(channel) => Reach::Subscribers(channel),
            Destination::Sharded(channel) => Reach::Sharded(channel),
            Destination::Pattern { pattern, channel } => Reach::Pattern { pattern, channel },
            Destination::Patterns(channel) => Reach::Patterns(channel),
        };
        self.hub.deliver(reach, message, from, &mut self.dirty);
    }

    fn flush(&mut self) {
        self.hub.wake(&mut self.dirty);
    }

    fn topics(&self, each: &mut dyn FnMut(Topic)) {
        for space in [Space::Channel, Space::Sharded, Space::Pattern] {
            self.hub.core().names(space, &mut |name| {
                let is_stored = space == Space::Channel && self.hub.is_stored(name.as_bytes());
                if !is_stored {
                    each(topic_of(name));
                }
            });
        }
    }

    fn census(&self) -> Census {
        self.hub.census()
    }

    fn subscribers(&self, channel: &[u8]) -> u64 {
        self.hub.subscribers(channel)
    }

    fn is_congested(&self) -> bool {
        self.hub.inboxes().congested()
    }

    fn relieved(&self) {
        self.hub.shards_caught_up();
    }

    fn report(&self, trouble: Trouble, message: &str) {
        let code = match trouble {
            Trouble::Lost => "ERR_MILLRACE_BACKPLANE_LOST",
            Trouble::Refused => "ERR_MILLRACE_BACKPLANE_REFUSED",
        };
        self.hub.report(code, message);
    }

    fn is_ready(&self) {
        self.hub.audience().post(&Notice::BackplaneReady);
    }
}
