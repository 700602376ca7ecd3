//! What channels keep, written as plainly as its specification. Owns the rules of offsets, age, keys and bounds only:
//! lists that are searched, without care for speed.

use std::collections::{BTreeMap, BTreeSet};

/// How much of a channel is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The most messages.
    pub messages: usize,
    /// The age from which on a message is gone.
    pub age: u64,
}

/// What all channels keep.
#[derive(Debug, Default)]
pub struct Model {
    /// The most bytes that are charged.
    bytes: u64,
    /// The most channels that keep something and have no subscriber.
    idle: usize,
    /// Channels that have a subscriber or keep something.
    pub channels: BTreeMap<Vec<u8>, Channel>,
    /// How often a channel's numbers were lost.
    pub lost: BTreeMap<Vec<u8>, u64>,
    published: u64,
}

/// One channel with history.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// The offset of the newest message.
    pub newest: u64,
    /// What is kept.
    pub kept: Vec<Entry>,
    /// Who is subscribed.
    pub subscribers: BTreeSet<u64>,
    last_published: u64,
    time: u64,
}

/// A kept message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub offset: u64,
    /// When it was published.
    pub time: u64,
    /// What it says.
    pub text: String,
    /// Its key.
    pub key: Option<Vec<u8>>,
}

impl Channel {
    /// The offset of the oldest kept message, or of the next one.
    pub fn first(&self) -> u64 {
        self.kept
            .first()
            .map_or(self.newest + 1, |entry| entry.offset)
    }

    fn charge(&self, name: &[u8]) -> u64 {
        if self.kept.is_empty() {
            return 0;
        }
        let key = |entry: &Entry| entry.key.as_ref().map_or(0, Vec::len);
        let entries = self
            .kept
            .iter()
            .map(|entry| entry.text.len() + key(entry) + 128);
        let sum = entries.sum::<usize>() + name.len() + 512;
        u64::try_from(sum).expect("small")
    }
}

impl Model {
    /// A model with these bounds.
    pub fn new(bytes: u64, idle: usize) -> Self {
        Self {
            bytes,
            idle,
            ..Self::default()
        }
    }

    /// Publishes a message. Returns its offset, and whether a message with the same key was there before.
    pub fn publish(
        &mut self,
        name: &[u8],
        terms: Terms,
        (text, key): (&str, Option<&[u8]>),
        now: u64,
    ) -> (u64, bool) {
        self.expire(now, |_| terms, Some(name));
        self.published += 1;
        let channel = self.channels.entry(name.to_vec()).or_default();
        let is_same = |entry: &&Entry| key.is_some() && entry.key.as_deref() == key;
        if let Some(first) = channel.kept.iter().find(is_same) {
            return (first.offset, true);
        }
        channel.newest += 1;
        channel.time = channel.time.max(now);
        channel.last_published = self.published;
        channel.kept.push(Entry {
            offset: channel.newest,
            time: channel.time,
            text: text.to_owned(),
            key: key.map(<[u8]>::to_vec),
        });
        if channel.kept.len() > terms.messages {
            channel.kept.remove(0);
        }
        if channel.charge(name) > self.bytes {
            channel.kept.clear();
        }
        let offset = channel.newest;
        self.sweep();
        self.keep_bounds();
        (offset, false)
    }

    /// Adds a subscriber.
    pub fn subscribe(&mut self, name: &[u8], id: u64) {
        let channel = self.channels.entry(name.to_vec()).or_default();
        channel.subscribers.insert(id);
    }

    /// Removes a subscriber.
    pub fn unsubscribe(&mut self, name: &[u8], id: u64) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.subscribers.remove(&id);
        }
        self.sweep();
    }

    /// Drops what is too old, in all channels or in one.
    pub fn expire(&mut self, now: u64, terms: impl Fn(&[u8]) -> Terms, only: Option<&[u8]>) {
        for (name, channel) in &mut self.channels {
            if only.is_none_or(|only| only == name) {
                let age = terms(name).age;
                channel.kept.retain(|entry| entry.time + age > now);
            }
        }
        self.sweep();
    }

    /// What is charged, and the number of channels that keep something and have no subscriber.
    pub fn size(&self) -> (u64, u64) {
        let charges = self
            .channels
            .iter()
            .map(|(name, channel)| channel.charge(name));
        let idle = self
            .channels
            .values()
            .filter(|channel| channel.subscribers.is_empty());
        (charges.sum(), u64::try_from(idle.count()).expect("few"))
    }

    /// Drops what is beyond the bounds, the channels that were published to longest ago first.
    pub fn keep_bounds(&mut self) {
        loop {
            let (bytes, idle) = self.size();
            let too_many = usize::try_from(idle).expect("few") > self.idle;
            if bytes <= self.bytes && !too_many {
                return;
            }
            let goes = |channel: &&mut Channel| {
                !channel.kept.is_empty() && (bytes > self.bytes || channel.subscribers.is_empty())
            };
            let candidates = self.channels.values_mut().filter(goes);
            let oldest = candidates.min_by_key(|channel| channel.last_published);
            oldest.expect("something is kept").kept.clear();
            self.sweep();
        }
    }

    /// Removes channels that have no subscriber and keep nothing.
    fn sweep(&mut self) {
        for (name, channel) in &self.channels {
            if channel.subscribers.is_empty() && channel.kept.is_empty() && channel.newest > 0 {
                *self.lost.entry(name.clone()).or_default() += 1;
            }
        }
        self.channels
            .retain(|_, channel| !channel.subscribers.is_empty() || !channel.kept.is_empty());
    }
}
