//! One I/O shard's inbox under loom's scheduler. Owns what was posted, in order, and the rule that the order
//! must obey; never looks into the core.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use loom::sync::Mutex;
use millrace_core::{
    Annotation, ChannelId, Core, Match, Name, Post, Recipient, Route, ShardIndex, SocketId,
    SocketInfo, Space,
};

/// An entry of the inbox. Numbers identify channels and subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    Join(u64, u64),
    Leave(u64, u64),
    Publish(u64, u32),
    Direct(u64),
    /// A channel (false) or a pattern (true) got its first subscriber or lost its last.
    Wanted(bool, bool),
    /// The call that ends deliveries has returned to its caller.
    Returned,
}

/// A handle on the inbox, one per thread.
#[derive(Clone)]
pub(crate) struct Inbox(Arc<Mutex<Vec<Posted>>>);

impl Inbox {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Vec::new())))
    }

    pub(crate) fn push(&self, posted: Posted) {
        self.0.lock().expect("no thread panics").push(posted);
    }

    pub(crate) fn entries(&self) -> Vec<Posted> {
        self.0.lock().expect("no thread panics").clone()
    }

    /// Records that the call that ends deliveries has returned to its caller.
    pub(crate) fn returned(&self) {
        self.push(Posted::Returned);
    }

    /// The number of messages before [`returned`](Self::returned) and after it.
    pub(crate) fn messages(&self) -> (usize, usize) {
        let entries = self.entries();
        let returned = entries.iter().position(|entry| *entry == Posted::Returned);
        let (before, after) = entries.split_at(returned.expect("noted"));
        let is_message = |entry: &&Posted| matches!(entry, Posted::Direct(_) | Posted::Publish(..));
        (
            before.iter().filter(is_message).count(),
            after.iter().filter(is_message).count(),
        )
    }

    /// Replays the inbox and checks three rules for one channel and one pattern: joins and leaves alternate;
    /// every publication counts exactly the recipients on the list when it arrives; calls of `wanted`
    /// alternate, and the last one is right. Returns the number of subscribers left.
    pub(crate) fn replay(&self) -> usize {
        let mut lists: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut wanted: BTreeMap<bool, bool> = BTreeMap::new();
        let entries = self.entries();
        for entry in &entries {
            match *entry {
                Posted::Join(channel, id) => {
                    assert!(
                        lists.entry(channel).or_default().insert(id),
                        "a subscriber joined twice: {entries:?}"
                    );
                }
                Posted::Leave(channel, id) => {
                    assert!(
                        lists.entry(channel).or_default().remove(&id),
                        "a subscriber left without joining: {entries:?}"
                    );
                }
                Posted::Publish(channel, recipients) => {
                    let listed = lists.get(&channel).map_or(0, BTreeSet::len);
                    assert_eq!(
                        usize::try_from(recipients),
                        Ok(listed),
                        "a publication counted other recipients: {entries:?}"
                    );
                }
                Posted::Wanted(pattern, now) => {
                    assert_ne!(
                        wanted.insert(pattern, now).unwrap_or(false),
                        now,
                        "{entries:?}"
                    );
                }
                Posted::Direct(_) | Posted::Returned => {}
            }
        }
        for (pattern, wanted) in wanted {
            let mut of_kind = lists
                .iter()
                .filter(|(list, _)| (**list >= FIRST_PATTERN) == pattern);
            let there = of_kind.any(|(_, list)| !list.is_empty());
            assert_eq!(
                wanted, there,
                "the last call of `wanted` is right: {entries:?}"
            );
        }
        lists.values().map(BTreeSet::len).sum()
    }
}

impl Post for Inbox {
    type Message = str;
    type Kept = ();

    fn keep(&mut self, _: &str) -> ((), usize) {
        ((), 0)
    }

    fn join(&mut self, channel: ChannelId, _: &Name, recipient: Recipient) {
        self.push(Posted::Join(channel.get(), recipient.subscriber.get()));
    }

    fn leave(&mut self, channel: ChannelId, subscriber: SocketId, _: Route) {
        self.push(Posted::Leave(channel.get(), subscriber.get()));
    }

    fn publish(
        &mut self,
        _: ShardIndex,
        channel: ChannelId,
        _: &str,
        _: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.push(Posted::Publish(channel.get(), recipients));
        true
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        matched: Match<'_>,
        _: &str,
        _: &[SocketId],
        recipients: u32,
    ) -> bool {
        self.push(Posted::Publish(matched.pattern.get(), recipients));
        true
    }

    fn direct(&mut self, route: Route, _: Option<&Arc<Annotation>>, _: &str) -> bool {
        self.push(Posted::Direct(route.socket.get()));
        true
    }

    fn wanted(&mut self, _: ChannelId, name: &Name, wanted: bool) {
        self.push(Posted::Wanted(name.space() == Space::Pattern, wanted));
    }
}

/// Ids of patterns begin here.
const FIRST_PATTERN: u64 = 1 << 63;

/// Opens a socket on the shard.
pub(crate) fn open(core: &Core) -> SocketId {
    let shard = ShardIndex::new(0).expect("below 64");
    core.open(
        shard,
        0,
        SocketInfo {
            address: None,
            worker: 0,
        },
    )
}

/// Whether some interleaving breaks the model, which is how the tests detect a wrong order.
pub(crate) fn breaks(model: impl Fn() + Send + Sync + 'static) -> bool {
    catch_unwind(AssertUnwindSafe(|| loom::model(model))).is_err()
}
