//! The interface through which this node's core tells the others. Defines the contract, not a link.

use std::fmt;

use millrace_backplane::Stats as BackplaneStats;
use millrace_core::{HistoryTerms, Manner, Name, TermsIndex, Topic};

use crate::frame::Publication;

/// A message of a channel with history, for the store.
pub(crate) struct Storing<'a> {
    pub(crate) channel: &'a [u8],
    pub(crate) terms: HistoryTerms,
    pub(crate) publication: Publication,
    pub(crate) manner: &'a Manner<'a>,
}

/// Is told what other nodes have to know. Each call except [`wake`](Self::wake) and [`store`](Self::store) happens under a
/// lock of the core: it only records what it is told, never blocks, and never calls the core.
pub(crate) trait Uplink: Send + Sync {
    /// A channel or pattern got its first subscriber on this node, or lost its last one. Calls for a name are ordered
    /// by a lock, so the last one is the current state. Patterns have no terms.
    fn wanted(&self, terms: Option<TermsIndex>, name: &Name, wanted: bool);

    /// Something has changed among this node's members of a channel.
    fn unsaved(&self, name: &Name) {
        let _ = name;
    }

    /// A message was published on this node, in the order of its channel, even if no socket here is subscribed. Never
    /// called for a message that came from another node.
    fn publish(&self, channel: Topic<'_>, publication: &Publication);

    /// Whether a store numbers the messages of channels with history.
    fn stores(&self) -> bool {
        false
    }

    /// Gives such a message to the store. No lock is held.
    fn store(&self, storing: Storing<'_>) {
        let _ = storing;
    }

    /// The locks are released, and something was recorded.
    fn wake(&self);

    /// Whether so much waits for the link that callers that can wait should do so.
    fn is_awaited(&self) -> bool;

    /// The state of the link; `None`: there is none now.
    fn stats(&self) -> Option<BackplaneStats>;

    /// This node's unique number; `None`: there is no link now.
    fn node(&self) -> Option<u64>;
}

impl fmt::Debug for dyn Uplink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Uplink")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Gateway;
    use crate::sync::Mutex;
    use millrace_core::{Kind, Reach, ShardIndex, ShardSet, SocketInfo, Target};

    /// Records its calls.
    #[derive(Debug, Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Notes {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock())
        }

        fn note(&self, note: String) {
            self.0.lock().push(note);
        }
    }

    impl Uplink for Notes {
        fn wanted(&self, _: Option<TermsIndex>, name: &Name, wanted: bool) {
            self.note(format!("{:?} {wanted}", name.topic()));
        }

        fn publish(&self, channel: Topic<'_>, publication: &Publication) {
            let text = publication.payload().escape_ascii();
            self.note(format!("{channel:?} {:?} {text}", publication.kind()));
        }

        fn wake(&self) {
            self.note("wake".to_owned());
        }

        fn is_awaited(&self) -> bool {
            false
        }

        fn stats(&self) -> Option<BackplaneStats> {
            None
        }

        fn node(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn other_nodes_are_told_of_this_node_s_changes_and_not_of_their_own() {
        let gateway = Gateway::new();
        let notes = Arc::new(Notes::default());
        let uplink: Arc<dyn Uplink> = Arc::<Notes>::clone(&notes);
        gateway.set_uplink(|| uplink);
        let mut dirty = ShardSet::default();
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        let id = gateway.core().open(ShardIndex::new(0).unwrap(), 0, info);
        let (a, all) = (Topic::Channel(b"a"), Topic::Pattern(b"*"));
        let named = |topic: Topic<'_>| format!("{topic:?}");
        gateway
            .subscribe(&[Target::Socket(id)], b"a", 2, &mut dirty)
            .unwrap();
        assert_eq!(notes.take(), [named(a) + " true", "wake".to_owned()]);
        gateway
            .subscribe(&[Target::Socket(id)], b"a", 1, &mut dirty)
            .unwrap();
        assert!(
            notes.take().is_empty(),
            "only a further reference to the subscription"
        );
        gateway.enter(id, all, 9, &mut dirty).unwrap();
        assert_eq!(notes.take(), [named(all) + " true", "wake".to_owned()]);
        let targets = [Target::Socket(id), Target::Channel(b"nobody's")];
        gateway.send(&targets, Kind::Text, b"m", &[], &mut dirty);
        let nobodys = named(Topic::Channel(b"nobody's")) + " Text m";
        assert_eq!(notes.take(), [nobodys, "wake".to_owned()]);
        gateway.send_sharded(b"s", Kind::Binary, b"\0", &mut dirty);
        let sharded = named(Topic::Sharded(b"s")) + " Binary \\x00";
        assert_eq!(notes.take(), [sharded, "wake".to_owned()]);
        let message = (Kind::Text, &b"m"[..]);
        gateway.deliver(Reach::Subscribers(b"a"), message, None, &mut dirty);
        assert!(
            notes.take().is_empty(),
            "the message came from another node"
        );
        gateway.exit(id, a, &mut dirty);
        assert_eq!(notes.take(), [named(a) + " false", "wake".to_owned()]);
    }
}
