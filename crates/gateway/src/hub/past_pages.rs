//! Pages of a channel's past that I/O shards read in the store, for subscribers that are behind and in front of what this
//! node keeps. Owns that each of them is answered, and when the store is asked again.

use millrace_backplane::store::{Range, StoreError, StoredPast};
use millrace_core::{Kept, Number, Position, ShardIndex, ShardSet};

use super::Hub;
use super::stored::stored;
use crate::frame::KeptMessage;
use crate::inbox::{Command, Page, WantedPage};

impl Hub {
    /// Reads a page for a shard, which gets it in its inbox, or is told to ask again later.
    pub(crate) fn read_page(&self, shard: ShardIndex, wanted: WantedPage) {
        let terms = self.replicas.terms_of(wanted.name.as_bytes());
        let (Some(link), Some(terms)) = (self.replicas.link(), terms) else {
            return self.put_page_off(shard, wanted);
        };
        let messages = wanted.until.saturating_sub(wanted.from.offset);
        let range = Range {
            after: wanted.from.offset.saturating_sub(1),
            most: usize::try_from(messages)
                .unwrap_or(usize::MAX)
                .min(PAGE_MESSAGES),
            most_bytes: PAGE_BYTES,
            is_reverse: false,
        };
        let name = wanted.name.clone();
        let hub = link.hub;
        let done = move |outcome| {
            if let Some(hub) = hub.upgrade() {
                hub.page_read(shard, wanted, outcome);
            }
        };
        link.store
            .read(name.as_bytes(), terms, range, Box::new(done));
    }

    /// Lets shards ask again for pages that the store could not be asked for. Called from time to time.
    pub(super) fn read_pages_again(&self) {
        let mut dirty = self.replicas.take_put_off();
        for shard in dirty.iter() {
            self.inboxes.post(shard, Command::PagesAgain);
        }
        self.wake(&mut dirty);
    }

    fn page_read(
        &self,
        shard: ShardIndex,
        mut wanted: WantedPage,
        outcome: Result<StoredPast, StoreError>,
    ) {
        let messages = match outcome {
            Ok(past) if past.position.epoch == wanted.from.epoch => kept(&past),
            Ok(_) => Vec::new(),
            Err(StoreError::Refused) if wanted.refusals >= MOST_REFUSALS => Vec::new(),
            Err(error) => {
                wanted.refusals += u32::from(error == StoreError::Refused);
                return self.put_page_off(shard, wanted);
            }
        };
        let messages = Some(messages);
        self.give_page(shard, Page { wanted, messages });
    }

    fn put_page_off(&self, shard: ShardIndex, wanted: WantedPage) {
        self.replicas.put_off(shard);
        let messages = None;
        self.give_page(shard, Page { wanted, messages });
    }

    fn give_page(&self, shard: ShardIndex, page: Page) {
        self.inboxes.post(shard, Command::Page(Box::new(page)));
        let mut dirty = ShardSet::default();
        dirty.insert(shard);
        self.wake(&mut dirty);
    }
}

fn kept(past: &StoredPast) -> Vec<Kept<KeptMessage>> {
    let epoch = past.position.epoch;
    let each = past.entries.iter().map(|entry| {
        let stored = stored(entry, true);
        Kept {
            number: Number {
                position: Position {
                    epoch,
                    offset: stored.offset,
                },
                unix_ms: stored.unix_ms,
                from: stored.from,
            },
            message: stored.message,
        }
    });
    each.collect()
}

/// A page that the store refuses more often, a second later each time, is given up: its messages count as gone.
const MOST_REFUSALS: u32 = 10;

/// A page has so many messages at most, and once it has so many bytes, no more.
const PAGE_MESSAGES: usize = 2048;
const PAGE_BYTES: usize = 256 * 1024;
