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
    all: AHashMap<(ChannelId, Position), Arc<Publication>>,
    bytes: usize,
    /// With more messages, or more bytes, those go that wait in no outbox.
    most: usize,
    most_bytes: usize,
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
        if let Some(known) = self.all.get(&place) {
            return Arc::clone(known);
        }
        let from = || hub.publisher(kept);
        let publication = kept.message.publication(from);
        let bytes = publication.payload().len();
        if self.bytes + bytes > self.most_bytes || self.all.len() >= self.most {
            self.forget_written();
        }
        self.bytes += bytes;
        self.all.insert(place, Arc::clone(&publication));
        publication
    }

    /// Lets go of those that wait in no outbox. Outboxes hold the frames of the others anyway, and their limits bound those; their
    /// payloads are as much again.
    fn forget_written(&mut self) {
        // an outbox copies short ones, unless much waits in it
        let waits = |one: &Publication| is_long(one.payload()) && one.is_queued();
        self.all.retain(|_, publication| waits(publication));
        let lengths = self.all.values().map(|one| one.payload().len());
        self.bytes = lengths.sum();
        // so that this is not done for each message
        self.most = FEW.max(2 * self.all.len());
        self.most_bytes = FEW_BYTES.max(2 * self.bytes);
    }

    /// The same, and gives memory back: nobody reads on.
    pub(super) fn forget_for_now(&mut self) {
        self.forget_written();
        self.all.shrink_to_fit();
    }

    /// Whether there are more than are held for nobody.
    pub(super) fn is_large(&self) -> bool {
        self.bytes > FEW_BYTES || self.all.len() > FEW
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
