//! The core, written as plainly as its specification. Owns the rules only: one map per noun and linear
//! searches, without locks, indexes or care for speed. It never allocates ids; it is given those of the
//! core under test.

use std::collections::{BTreeMap, BTreeSet};

/// Everything the core stores, as plain numbers and bytes.
#[derive(Debug, Default)]
pub struct Model {
    /// Real and virtual sockets that exist.
    pub sockets: BTreeMap<u64, Socket>,
    /// Reference counts, by the topic of the subscription and by socket id.
    pub channels: BTreeMap<Topic, BTreeMap<u64, u16>>,
    /// The subscriptions of the sockets' own clients, which are in `channels`, too, maybe without a reference.
    pub own: BTreeSet<(Topic, u64)>,
    /// The key/value store: values, and when they expire.
    pub keys: BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)>,
}

/// What a subscription is to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// A channel.
    Channel(Vec<u8>),
    /// A sharded channel.
    Sharded(Vec<u8>),
    /// A pattern.
    Pattern(Vec<u8>),
}

/// A socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// A real one.
    Real {
        /// The I/O shard it lives on.
        shard: u8,
        /// Its slot there.
        slot: u32,
        /// The worker it is pinned to.
        worker: u32,
        /// Its token.
        token: Option<Vec<u8>>,
    },
    /// A virtual one.
    Virtual {
        /// Its immediate target.
        target: u64,
        /// What it was created with.
        mark: Option<Mark>,
        /// The real socket it is closed with; `None` if a target in its chain was unknown from the beginning.
        root: Option<u64>,
    },
}

/// An annotation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Bytes put in front.
    Prefix(Vec<u8>),
    /// A number.
    Number(i32),
}

/// The sockets that an operation applies to.
#[derive(Clone, Debug)]
pub enum Who {
    /// One socket.
    Socket(u64),
    /// The subscribers of a channel.
    Channel(Vec<u8>),
}

/// One message for one real socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// The subscriber, or the target of a direct message.
    pub subscriber: u64,
    /// The real socket at the end of its chain.
    pub socket: u64,
    /// The outermost annotation of the chain.
    pub mark: Option<Mark>,
    /// The pattern of the subscription; `None` for a direct message and for a subscriber of the channel.
    pub pattern: Option<Vec<u8>>,
}

/// There is no real socket with that id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchSocket;

impl Model {
    /// Adds a real socket with the id that the core gave it.
    pub fn open(&mut self, id: u64, shard: u8, slot: u32, worker: u32) {
        self.sockets.insert(
            id,
            Socket::Real {
                shard,
                slot,
                worker,
                token: None,
            },
        );
    }

    /// Removes a real socket and its virtual sockets. Returns its worker and token.
    pub fn close(&mut self, id: u64) -> Option<(u32, Option<Vec<u8>>)> {
        let Some(Socket::Real { worker, token, .. }) = self.sockets.get(&id).cloned() else {
            return None;
        };
        self.sockets.remove(&id);
        self.sockets.retain(
            |_, socket| !matches!(socket, Socket::Virtual { root, .. } if *root == Some(id)),
        );
        self.sweep();
        Some((worker, token))
    }

    /// Adds a virtual socket with the id that the core gave it.
    pub fn create_virtual(&mut self, id: u64, target: u64, mark: Option<Mark>) {
        let root = match self.sockets.get(&target) {
            Some(Socket::Real { .. }) => Some(target),
            Some(Socket::Virtual { root, .. }) => *root,
            None => None,
        };
        self.sockets
            .insert(id, Socket::Virtual { target, mark, root });
    }

    /// Removes a virtual socket.
    pub fn delete_virtual(&mut self, id: u64, expected: Option<u64>) -> bool {
        match self.sockets.get(&id) {
            Some(Socket::Virtual { target, .. })
                if expected.is_none_or(|expected| expected == *target) =>
            {
                self.sockets.remove(&id);
                self.sweep();
                true
            }
            _ => false,
        }
    }

    /// Stores a token and returns the one before.
    pub fn set_token(&mut self, id: u64, new: Vec<u8>) -> Result<Option<Vec<u8>>, NoSuchSocket> {
        match self.sockets.get_mut(&id) {
            Some(Socket::Real { token, .. }) => Ok(token.replace(new)),
            _ => Err(NoSuchSocket),
        }
    }

    /// Changes reference counts. Returns the ids that became subscribed or unsubscribed.
    pub fn subscribe(&mut self, who: &[Who], topic: &Topic, delta: i32) -> Vec<u64> {
        let mut ids = Vec::new();
        for one in who {
            match one {
                Who::Socket(id) => ids.push(*id),
                Who::Channel(name) => ids.extend(self.members(&Topic::Channel(name.clone()))),
            }
        }
        let mut changed = Vec::new();
        for id in ids {
            let before = self.count(topic, id);
            let after = (i64::from(before) + i64::from(delta)).clamp(0, 65535);
            let after = u16::try_from(after).expect("clamped");
            if self.resolve(id).is_some() {
                self.set_count(topic, id, after);
            }
            let notable = if delta > 0 {
                before == 0
            } else {
                before > 0 && after == 0
            };
            if notable && !changed.contains(&id) {
                changed.push(id);
            }
        }
        changed
    }

    /// Subscribes a socket for its client. False: it is subscribed so already.
    pub fn enter_own(&mut self, id: u64, topic: &Topic) -> bool {
        let is_new = self.own.insert((topic.clone(), id));
        self.set_count(topic, id, self.count(topic, id));
        is_new
    }

    /// Ends the subscription of a socket's client.
    pub fn exit_own(&mut self, id: u64, topic: &Topic) {
        self.own.remove(&(topic.clone(), id));
        self.sweep();
    }

    /// All references of each subscription, that of the client included.
    pub fn references(&self) -> BTreeMap<Topic, BTreeMap<u64, u16>> {
        let mut channels = self.channels.clone();
        for (topic, id) in &self.own {
            let members = channels.get_mut(topic);
            if let Some(count) = members.and_then(|members| members.get_mut(id)) {
                *count = count.saturating_add(1);
            }
        }
        channels
    }

    /// Stores a value if the present one is `check`.
    pub fn set_key_if(&mut self, key: &[u8], new: Option<Vec<u8>>, check: Option<&[u8]>) -> bool {
        let allowed = match (self.keys.get(key), check) {
            (None, None) => true,
            (Some((present, _)), Some(check)) => present == check,
            (None, Some(_)) | (Some(_), None) => false,
        };
        if allowed {
            self.set_key(key, new);
        }
        allowed
    }

    /// Stores or deletes a value and returns the one before.
    pub fn set_key(&mut self, key: &[u8], new: Option<Vec<u8>>) -> Option<Vec<u8>> {
        self.set_until(key, new.map(|value| (value, None)))
            .map(|(value, _)| value)
    }

    /// Stores a value with an expiry time, or deletes it. Returns the value before.
    pub fn set_until(
        &mut self,
        key: &[u8],
        new: Option<(Vec<u8>, Option<u64>)>,
    ) -> Option<(Vec<u8>, Option<u64>)> {
        match new {
            Some(entry) => self.keys.insert(key.to_vec(), entry),
            None => self.keys.remove(key),
        }
    }

    /// Removes what has expired.
    pub fn expire(&mut self, now: u64) {
        self.keys
            .retain(|_, (_, until)| until.is_none_or(|until| now < until));
    }

    /// The delivery of a direct message.
    pub fn send(&self, target: u64, except: &[u64]) -> Option<Delivery> {
        let chain = self.chain(target)?;
        if chain.iter().any(|link| except.contains(link)) {
            return None;
        }
        let mark = chain.iter().find_map(|link| match self.sockets.get(link) {
            Some(Socket::Virtual { mark, .. }) => mark.clone(),
            _ => None,
        });
        Some(Delivery {
            subscriber: target,
            socket: *chain.last()?,
            mark,
            pattern: None,
        })
    }

    /// The deliveries of a publication, sorted: to the channel's subscribers and to those of every
    /// matching pattern.
    pub fn publish(&self, channel: &[u8], except: &[u64]) -> Vec<Delivery> {
        let mut deliveries = self.publish_to(&Topic::Channel(channel.to_vec()), except);
        for topic in self.channels.keys() {
            if let Topic::Pattern(text) = topic
                && matches(text, channel)
            {
                deliveries.extend(self.publish_to(topic, except));
            }
        }
        deliveries.sort();
        deliveries
    }

    /// The deliveries of a publication to the subscribers of one topic, sorted.
    pub fn publish_to(&self, topic: &Topic, except: &[u64]) -> Vec<Delivery> {
        let pattern = match topic {
            Topic::Pattern(text) => Some(text.clone()),
            Topic::Channel(_) | Topic::Sharded(_) => None,
        };
        self.members(topic)
            .into_iter()
            .filter_map(|id| self.send(id, except))
            .map(|delivery| Delivery {
                pattern: pattern.clone(),
                ..delivery
            })
            .collect()
    }

    /// The real socket at the end of a chain.
    pub fn resolve(&self, id: u64) -> Option<u64> {
        self.chain(id)?.last().copied()
    }

    /// What a socket is subscribed to.
    pub fn topics_of(&self, id: u64) -> BTreeSet<Topic> {
        let mut topics = self.channels.clone();
        topics.retain(|_, members| members.contains_key(&id));
        topics.into_keys().collect()
    }

    /// The I/O shard a real socket lives on.
    pub fn shard(&self, id: u64) -> Option<u8> {
        match self.sockets.get(&id)? {
            Socket::Real { shard, .. } => Some(*shard),
            Socket::Virtual { .. } => None,
        }
    }

    /// The links from a socket to its real one, both included, if it resolves within 100 steps.
    fn chain(&self, id: u64) -> Option<Vec<u64>> {
        let mut chain = vec![id];
        for _ in 0..100 {
            match self.sockets.get(chain.last()?)? {
                Socket::Real { .. } => return Some(chain),
                Socket::Virtual { root: None, .. } => return None,
                Socket::Virtual { target, .. } => chain.push(*target),
            }
        }
        None
    }

    fn members(&self, topic: &Topic) -> Vec<u64> {
        self.channels
            .get(topic)
            .map(|members| members.keys().copied().collect())
            .unwrap_or_default()
    }

    fn count(&self, topic: &Topic, id: u64) -> u16 {
        self.channels
            .get(topic)
            .and_then(|members| members.get(&id))
            .copied()
            .unwrap_or(0)
    }

    fn set_count(&mut self, topic: &Topic, id: u64, count: u16) {
        self.channels
            .entry(topic.clone())
            .or_default()
            .insert(id, count);
        self.sweep();
    }

    /// Removes subscriptions of sockets that do not resolve and subscriptions without references, and
    /// then channels without subscriptions.
    fn sweep(&mut self) {
        let mut own = std::mem::take(&mut self.own);
        own.retain(|(_, id)| self.resolve(*id).is_some());
        self.own = own;
        let mut channels = std::mem::take(&mut self.channels);
        for (topic, members) in &mut channels {
            members.retain(|id, count| {
                let is_own = self.own.contains(&(topic.clone(), *id));
                (*count > 0 || is_own) && self.resolve(*id).is_some()
            });
        }
        channels.retain(|_, members| !members.is_empty());
        self.channels = channels;
    }
}

/// Whether a glob matches, by trying every possibility. Supports `*`, `?`, `\\` and sets without ranges.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let Some((first, rest)) = name.split_first() else {
        return pattern.is_empty();
    };
    let goes_on = |behind: &[u8]| {
        if rest.is_empty() {
            behind.iter().all(|byte| *byte == b'*')
        } else {
            matches(behind, rest)
        }
    };
    match pattern {
        [] => false,
        [b'*', behind @ ..] => {
            behind.is_empty() || matches(behind, name) || !rest.is_empty() && matches(pattern, rest)
        }
        [b'?', behind @ ..] => goes_on(behind),
        [b'[', b'^', one, b']', behind @ ..] => one != first && goes_on(behind),
        [b'[', one, b']', behind @ ..] => one == first && goes_on(behind),
        [b'\\', byte, behind @ ..] | [byte, behind @ ..] => byte == first && goes_on(behind),
    }
}
