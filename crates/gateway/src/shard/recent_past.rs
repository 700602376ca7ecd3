//! Messages of the past that were read last, in the form that all who read them share. Owns which are held: those whose frames
//! still wait in an outbox, so that one who comes later waits with the same frames, and a few others.

use std::sync::Arc;

use ahash::AHashMap;
use millrace_core::{ChannelId, Kept, Position};

use super::past_pages::is_long;
use crate::frame::{KeptMessage, Publication};
use crate::hub::Hub;

/// See the module.
#[derive(Debug)]
pub(super) struct RecentPast {
    all: AHashMap<(ChannelId, Position), Recent>,
    bytes: usize,
    /// With more messages, or more bytes, those go that wait in no outbox.
    most: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Recent {
    publication: Arc<Publication>,
    /// Whether it was read since the last look.
    is_used: bool,
}

impl Recent {
    /// Whether outboxes refer to it. They copy short ones, unless much waits in them.
    fn waits(&self) -> bool {
        is_long(self.publication.payload()) && self.publication.is_queued()
    }
}

impl Default for RecentPast {
    fn default() -> Self {
        Self {
            all: AHashMap::default(),
            bytes: 0,
            most: FEW,
            most_bytes: FEW_BYTES,
        }
    }
}

impl RecentPast {
    /// A message in the form that all who read it share.
    pub(super) fn publication(
        &mut self,
        list: ChannelId,
        kept: &Kept<KeptMessage>,
        hub: &Hub,
    ) -> Arc<Publication> {
        let place = (list, kept.number.position);
        if let Some(known) = self.all.get_mut(&place) {
            known.is_used = true;
            return Arc::clone(&known.publication);
        }
        let from = || hub.publisher(kept);
        let publication = kept.message.publication(from);
        let bytes = publication.payload().len();
        if self.bytes + bytes > self.most_bytes || self.all.len() >= self.most {
            self.retain(|recent| recent.waits());
        }
        self.bytes += bytes;
        let recent = Recent {
            publication: Arc::clone(&publication),
            is_used: true,
        };
        self.all.insert(place, recent);
        publication
    }

    /// Lets go of those that nobody has read since the last look and that wait in no outbox. Outboxes hold the frames of the
    /// others anyway, and their limits bound those; their payloads are as much again.
    pub(super) fn look(&mut self) {
        self.retain(|recent| std::mem::take(&mut recent.is_used) || recent.waits());
        self.all.shrink_to_fit();
    }

    fn retain(&mut self, mut stays: impl FnMut(&mut Recent) -> bool) {
        self.all.retain(|_, recent| stays(recent));
        let lengths = self.all.values();
        let lengths = lengths.map(|recent| recent.publication.payload().len());
        self.bytes = lengths.sum();
        // so that this is not done for each message
        self.most = FEW.max(2 * self.all.len());
        self.most_bytes = FEW_BYTES.max(2 * self.bytes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// Messages, and their bytes, that are held for others that read them soon, even if nobody waits for them.
const FEW: usize = 4096;
const FEW_BYTES: usize = 4 * 1024 * 1024;
