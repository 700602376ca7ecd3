//! The patterns that have subscribers. Owns the table of patterns by their text, and for each pattern its
//! subscribers behind a lock of its own; never touches a socket or a channel, never posts.
//!
//! Changes lock the table and happen one at a time. A publisher never locks the table: it finds patterns by
//! the index in its channel's lock shard and only reads a pattern's subscribers, which many publishers may
//! do at once.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;

use crate::channel::Channel;
use crate::id::ChannelId;
use crate::limits::PATTERNS;
use crate::name::{Name, Space};
use crate::pattern::{Pattern, PatternError};
use crate::pattern_index::{Indexed, PatternIndex};
use crate::sync::RwLock;

/// An index of patterns, as the lock shards of the channels share it.
pub(crate) type Patterns = PatternIndex<Listed>;

/// All patterns. Whenever the lock is free, each of them has at least one subscription.
pub(crate) struct PatternTable {
    made: u64,
    listed: HashMap<Name, Arc<Listed>, RandomState>,
    index: Patterns,
    subscriptions: usize,
}

/// A pattern and its subscribers.
pub(crate) struct Listed {
    /// The same as the key in the table.
    pub(crate) name: Name,
    pub(crate) pattern: Pattern,
    /// Written while the table is locked, read while a channel is locked.
    pub(crate) list: RwLock<Channel>,
}

impl PatternTable {
    pub(crate) fn new(hasher: RandomState) -> Self {
        Self {
            made: 0,
            listed: HashMap::with_hasher(hasher),
            index: PatternIndex::new(),
            subscriptions: 0,
        }
    }

    /// Returns the pattern of this text, or a new one that is not in the table yet. The caller
    /// [adds](Self::insert) a new one together with its first member.
    pub(crate) fn get_or_make(&mut self, text: &[u8]) -> Result<Arc<Listed>, PatternError> {
        if let Some(listed) = self.listed.get(text) {
            return Ok(Arc::clone(listed));
        }
        let pattern = Pattern::new(text)?;
        if self.listed.len() >= PATTERNS {
            return Err(PatternError::TooMany);
        }
        let id = ChannelId::new(FIRST_ID | self.made);
        self.made += 1;
        let name = Name::new(Space::Pattern, text);
        Ok(Arc::new(Listed {
            list: RwLock::new(Channel::new(id, name.clone())),
            name,
            pattern,
        }))
    }

    /// Adds a pattern that has got its first member.
    pub(crate) fn insert(&mut self, listed: Arc<Listed>) {
        self.index.insert(Arc::clone(&listed));
        self.listed.insert(listed.name.clone(), listed);
    }

    /// Removes a pattern that has lost its last member.
    pub(crate) fn remove(&mut self, listed: &Listed) {
        self.index.remove(listed);
        self.listed.remove(listed.name.as_bytes());
    }

    /// Updates the total when a pattern's members have changed from `before` to `after`.
    pub(crate) fn count(&mut self, after: usize, before: usize) {
        self.subscriptions = self.subscriptions + after - before;
    }

    pub(crate) fn get(&self, text: &[u8]) -> Option<&Arc<Listed>> {
        self.listed.get(text)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Listed> {
        self.listed.values().map(|listed| &**listed)
    }

    /// The index that publishers get; `None` if there is no pattern.
    pub(crate) fn index(&self) -> Option<Patterns> {
        (!self.index.is_empty()).then(|| self.index.clone())
    }

    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions
    }
}

impl Listed {
    /// False between the removal of the last member and the removal of the pattern from the index.
    pub(crate) fn has_members(&self) -> bool {
        !self.list.read().members.is_empty()
    }
}

impl Indexed for Listed {
    fn literal(&self) -> &[u8] {
        self.pattern.literal()
    }

    fn text(&self) -> &[u8] {
        self.name.as_bytes()
    }
}

/// Ids of patterns begin here. Ids of channels never reach this number.
const FIRST_ID: u64 = 1 << 63;
