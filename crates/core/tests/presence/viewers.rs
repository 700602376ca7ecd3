//! The I/O shards of the test: which subscriber is told what, and what it therefore knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millrace_core::{
    Annotation, Batch, ChannelId, ChannelTerms, Core, Cursor, Entering, HistoryBounds,
    HistoryTerms, Match, MemberState, Name, News, Pattern, Post, PresenceBounds, Recipient, Room,
    Route, ShardIndex, SocketId,
};

/// What subscribers know, by list and socket; those that have not asked yet know nothing.
#[derive(Default)]
pub(crate) struct Viewers {
    live: BTreeSet<(ChannelId, SocketId)>,
    /// The last list of each channel.
    lists: BTreeMap<Vec<u8>, ChannelId>,
    behind: Vec<(ChannelId, Name, SocketId, Cursor)>,
    /// What each that has asked knows; `None`: only the number, so that it has to ask again.
    known: BTreeMap<(ChannelId, SocketId), Option<Members>>,
    is_due: bool,
    /// The next batches that an I/O shard refuses.
    pub(crate) refused: usize,
    told: Vec<String>,
}

/// Members, with what each says of itself.
pub(crate) type Members = BTreeMap<SocketId, Option<String>>;

pub(crate) fn shard(index: u8) -> ShardIndex {
    ShardIndex::new(index).expect("below 64")
}

/// `room*` has presence, and `room:old` history, too; `plain` has neither.
pub(crate) fn core(bounds: PresenceBounds) -> Core<()> {
    let core = Core::new();
    let terms = |pattern: &[u8], history| ChannelTerms {
        pattern: Pattern::new(pattern).expect("short"),
        history,
    };
    let kept = HistoryTerms {
        messages: 5,
        age_ms: 1000,
    };
    let all = vec![
        terms(b"plain", Some(kept)),
        terms(b"room:old", Some(kept)),
        terms(b"room*", None),
    ];
    let history = HistoryBounds {
        bytes: 1 << 20,
        channels: 10,
    };
    core.set_terms(all, history);
    core.set_presence(&[false, true, true], bounds);
    core
}

impl Viewers {
    /// A subscriber asks who is there. What it is told from now on changes that.
    pub(crate) fn ask(&mut self, place: (ChannelId, SocketId), members: &[MemberState]) {
        let text = |one: &MemberState| one.info.as_ref().map(|info| info.text().to_owned());
        let members = members.iter().map(|one| (one.socket, text(one)));
        self.known.insert(place, Some(members.collect()));
    }

    /// What a subscriber knows; `None`: nothing, or the number only.
    pub(crate) fn knows(&self, place: (ChannelId, SocketId)) -> Option<&Members> {
        self.known.get(&place)?.as_ref()
    }

    /// Tells what is due.
    pub(crate) fn tell(&mut self, core: &Core<()>) {
        let mut left = 100;
        while std::mem::take(&mut self.is_due) {
            core.tell_presence(self);
            left -= 1;
            assert!(left > 0, "it is told in the end");
        }
    }

    pub(crate) fn take_told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// A subscription is over.
    pub(crate) fn forget(&mut self, id: SocketId) {
        self.known.retain(|(_, socket), _| *socket != id);
    }

    /// The same for one channel.
    pub(crate) fn forget_in(&mut self, name: &[u8], id: SocketId) {
        let list = self.list(name);
        self.known
            .retain(|(of, socket), _| *socket != id || Some(*of) != list);
    }

    /// The list of a channel with subscribers.
    pub(crate) fn list(&self, name: &[u8]) -> Option<ChannelId> {
        self.lists.get(name).copied()
    }

    /// Has all who are behind become live.
    pub(crate) fn read_on(&mut self, core: &Core<()>) {
        let room = Room {
            first: u64::MAX,
            all: u64::MAX,
            beside: 0,
        };
        for (list, name, socket, cursor) in std::mem::take(&mut self.behind) {
            core.read_on((list, &name), (socket, cursor), room, &mut Vec::new(), self);
        }
    }

    fn learn(&mut self, place: (ChannelId, SocketId), news: &News) {
        let Some(known) = self.known.get_mut(&place) else {
            return;
        };
        let changes = match news {
            News::Count(_) => return *known = None,
            News::Members(changes) => changes,
        };
        let Some(known) = known else {
            return;
        };
        for id in &changes.left {
            known.remove(&id.socket);
        }
        for (id, info) in changes.joined.iter().chain(&changes.updated) {
            let info = info.as_ref().map(|info| info.text().to_owned());
            known.insert(id.socket, info);
        }
    }
}

impl Post for Viewers {
    type Message = ();
    type Kept = ();

    fn enter(&mut self, name: &Name, route: Route, entering: &Entering) {
        self.lists.insert(name.as_bytes().to_vec(), entering.list);
        if let Some(cursor) = entering.cursor {
            let place = (entering.list, name.clone(), route.socket, cursor);
            self.behind.push(place);
        }
    }

    fn join(&mut self, list: ChannelId, name: &Name, recipient: Recipient) {
        self.lists.insert(name.as_bytes().to_vec(), list);
        assert!(self.live.insert((list, recipient.subscriber)));
    }

    fn leave(&mut self, list: ChannelId, subscriber: SocketId, _: Route) {
        self.live.remove(&(list, subscriber));
    }

    fn publish(&mut self, _: ShardIndex, _: ChannelId, (): &(), _: &[SocketId], _: u32) -> bool {
        true
    }

    fn publish_match(
        &mut self,
        _: ShardIndex,
        _: Match<'_>,
        (): &(),
        _: &[SocketId],
        _: u32,
    ) -> bool {
        true
    }

    fn keep(&mut self, (): &()) -> ((), usize) {
        ((), 10)
    }

    fn direct(&mut self, _: Route, _: Option<&Arc<Annotation>>, (): &()) -> bool {
        true
    }

    fn presence_is_due(&mut self) {
        assert!(!std::mem::replace(&mut self.is_due, true), "asked for once");
    }

    /// The test has one shard, so that a refused batch reaches nobody.
    fn presence(&mut self, _: ShardIndex, batch: &Arc<Batch>) -> bool {
        if self.refused > 0 {
            self.refused -= 1;
            return false;
        }
        match &batch.news {
            News::Count(count) => self.told.push(format!("count {count}")),
            News::Members(changes) => {
                let lists = [
                    ("left", changes.left.len()),
                    ("joined", changes.joined.len()),
                    ("updated", changes.updated.len()),
                ];
                let told = lists.iter().filter(|(_, count)| *count > 0);
                self.told
                    .extend(told.map(|(what, count)| format!("{what} {count}")));
            }
        }
        let live = self.live.iter().filter(|(list, _)| *list == batch.list);
        let mut all: Vec<_> = live.copied().collect();
        for route in &batch.behind {
            let place = (batch.list, route.socket);
            assert!(!self.live.contains(&place), "a live one is not behind");
            all.push(place);
        }
        for place in all {
            self.learn(place, &batch.news);
        }
        true
    }
}
