//! Applies operations to a core with presence and to a naive model, and compares everything that can be observed.

use std::collections::{BTreeMap, BTreeSet};

use millrace_core::{
    Core, Entrance, INFO_CHARGE, Info, Maker, Manner, MemberId, MemberState, PresenceBounds,
    SocketId, SocketInfo, Start, Target,
};

use super::viewers::{self, Members, Viewers};

/// One operation: a verb, and bytes that choose its arguments.
pub(crate) type Op = [u8; 4];

const NAMES: [&[u8]; 4] = [b"room:1", b"room:2", b"room:old", b"plain"];
const EVENTS: usize = 3;
/// Room for ten infos of four bytes.
const BYTES: u64 = 10 * (4 + INFO_CHARGE);

/// A subscription in the model.
#[derive(Clone, Default)]
struct Held {
    own: bool,
    count: u16,
    /// Who made it a member, as long as it is one.
    by_client: bool,
    by_application: bool,
    info: Option<String>,
}

struct Driver {
    core: Core<()>,
    viewers: Viewers,
    sockets: Vec<SocketId>,
    /// By channel and socket.
    held: BTreeMap<(usize, SocketId), Held>,
}

pub(crate) fn run(ops: &[Op]) {
    let bounds = PresenceBounds {
        events: EVENTS,
        bytes: BYTES,
    };
    let mut driver = Driver {
        core: viewers::core(bounds),
        viewers: Viewers::default(),
        sockets: Vec::new(),
        held: BTreeMap::new(),
    };
    for op in ops {
        driver.apply(*op);
        driver.compare();
    }
    driver.end();
}

impl Driver {
    fn apply(&mut self, [verb, a, b, c]: Op) {
        if verb.is_multiple_of(16) || self.sockets.is_empty() {
            return self.open();
        }
        let place = usize::from(a) % NAMES.len();
        let id = self.sockets[usize::from(b) % self.sockets.len()];
        match verb % 16 {
            1..=4 => self.enter_own(place, id, c),
            5 => self.exit_own(place, id),
            6..=7 => self.give(place, id, c),
            8 => self.take(place, id, c),
            9 => self.set_info(place, id, c),
            10 => self.close(id),
            11 => self.publish(place),
            12 => self.ask(place, id),
            13 => self.refuse(),
            14 => self.viewers.read_on(&self.core),
            _ => self.tell(),
        }
    }

    fn open(&mut self) {
        let info = SocketInfo {
            address: None,
            worker: 0,
        };
        let id = self.core.open(viewers::shard(0), 7, info);
        self.sockets.push(id);
    }

    /// An info that a byte chooses, if all of them have room.
    fn info(&self, c: u8) -> Option<Info> {
        let text = format!("[{:02}]", c % 5);
        (!c.is_multiple_of(3))
            .then(|| self.core.info(&text).ok())
            .flatten()
    }

    fn enter_own(&mut self, place: usize, id: SocketId, c: u8) {
        let entrance = Entrance {
            start: if c > 128 { Start::Last(9) } else { Start::Next },
            known: None,
            references: 0,
            own: true,
            tag: 0,
        };
        let entered = self
            .core
            .enter_at(id, NAMES[place], entrance, usize::MAX, &mut self.viewers);
        let held = self.held.entry((place, id)).or_default();
        assert_eq!(entered.is_err(), held.own);
        held.own = true;
        let info = self.info(c);
        let maker = (Maker::Client, info.as_ref());
        self.core
            .make_members(&[id], NAMES[place], maker, &mut self.viewers);
        self.made(place, id, Maker::Client, info);
    }

    fn exit_own(&mut self, place: usize, id: SocketId) {
        let is_gone = self.core.exit_own(id, NAMES[place], &mut self.viewers);
        let held = self.held.entry((place, id)).or_default();
        assert_eq!(is_gone, held.count == 0);
        held.own = false;
        held.by_client = false;
        self.let_go(place, id);
    }

    /// A socket that is not subscribed any more knows nothing.
    fn let_go(&mut self, place: usize, id: SocketId) {
        let gone = |held: &Held| !held.own && held.count == 0;
        if self.held.get(&(place, id)).is_some_and(gone) {
            self.viewers.forget_in(NAMES[place], id);
        }
    }

    fn give(&mut self, place: usize, id: SocketId, c: u8) {
        if c.is_multiple_of(4) {
            let who = [Target::Socket(id)];
            self.core
                .subscribe(&who, NAMES[place], 1, &mut self.viewers);
            self.held.entry((place, id)).or_default().count += 1;
            return;
        }
        let entrance = Entrance {
            start: if c > 128 { Start::Last(2) } else { Start::Next },
            known: None,
            references: 1,
            own: false,
            tag: 0,
        };
        let who = [Target::Socket(id)];
        let entered = self
            .core
            .subscribe_at(&who, NAMES[place], entrance, &mut self.viewers);
        assert_eq!(entered.map(|entered| entered.len()), Ok(1));
        self.held.entry((place, id)).or_default().count += 1;
        let info = self.info(c);
        let maker = (Maker::Application, info.as_ref());
        self.core
            .make_members(&[id], NAMES[place], maker, &mut self.viewers);
        self.made(place, id, Maker::Application, info);
    }

    fn made(&mut self, place: usize, id: SocketId, maker: Maker, info: Option<Info>) {
        let held = self.held.entry((place, id)).or_default();
        let was_member = held.by_client || held.by_application;
        match maker {
            Maker::Client => held.by_client = true,
            Maker::Application => held.by_application = true,
        }
        if info.is_some() || !was_member {
            held.info = info.map(|info| info.text().to_owned());
        }
    }

    fn take(&mut self, place: usize, id: SocketId, c: u8) {
        let step = u16::from(c % 2) + 1;
        let who = [Target::Socket(id)];
        self.core
            .subscribe(&who, NAMES[place], -i32::from(step), &mut self.viewers);
        let held = self.held.entry((place, id)).or_default();
        held.count = held.count.saturating_sub(step);
        held.by_application &= held.count > 0;
        self.let_go(place, id);
    }

    fn set_info(&mut self, place: usize, id: SocketId, c: u8) {
        let Some(info) = self.info(c) else { return };
        let text = info.text().to_owned();
        let set = self
            .core
            .set_info(id, NAMES[place], &info, &mut self.viewers);
        let held = self.held.entry((place, id)).or_default();
        let is_member = held.by_client || held.by_application;
        assert_eq!(set.ok(), (place < 3).then_some(is_member));
        if is_member {
            held.info = Some(text);
        }
    }

    fn close(&mut self, id: SocketId) {
        self.core.close(id, &mut self.viewers);
        self.sockets.retain(|known| *known != id);
        self.held.retain(|(_, socket), _| *socket != id);
        self.viewers.forget(id);
    }

    fn publish(&mut self, place: usize) {
        self.core
            .publish_as(NAMES[place], &(), &Manner::default(), &mut self.viewers);
    }

    /// A subscriber asks who is there, as clients do at any time.
    fn ask(&mut self, place: usize, id: SocketId) {
        let is_subscribed = |held: &Held| held.own || held.count > 0;
        let Some(list) = self.viewers.list(NAMES[place]) else {
            return;
        };
        if !self.held.get(&(place, id)).is_some_and(is_subscribed) {
            return;
        }
        let Ok(members) = self.core.members(NAMES[place], 0, None, usize::MAX) else {
            return;
        };
        self.viewers.ask((list, id), &members);
    }

    fn refuse(&mut self) {
        self.viewers.refused = 1;
    }

    /// After a batch those who were told know the members.
    fn tell(&mut self) {
        self.viewers.tell(&self.core);
        for ((place, id), held) in &self.held {
            if !held.own && held.count == 0 {
                continue;
            }
            let Some(list) = self.viewers.list(NAMES[*place]) else {
                continue;
            };
            let Some(known) = self.viewers.knows((list, *id)) else {
                continue;
            };
            assert_eq!(*known, self.members(*place), "{place} {id}");
        }
    }

    fn members(&self, place: usize) -> Members {
        let here = self.held.iter().filter(|((of, _), held)| {
            *of == place && place < 3 && (held.by_client || held.by_application)
        });
        here.map(|((_, id), held)| (*id, held.info.clone()))
            .collect()
    }

    fn compare(&self) {
        for (place, name) in NAMES.iter().enumerate() {
            let expected = self.members(place);
            let Ok(count) = self.core.member_count(name) else {
                assert_eq!(place, 3);
                continue;
            };
            let infos: BTreeSet<_> = expected.values().collect();
            assert_eq!(
                (count.members, count.sockets),
                (infos.len(), expected.len())
            );
            let mut pages = Vec::new();
            loop {
                let last: Option<&MemberState> = pages.last();
                let after = last.map(|member| MemberId::here(member.socket));
                let page = self
                    .core
                    .members(name, 0, after, 2)
                    .expect("it has presence");
                if page.is_empty() {
                    break;
                }
                pages.extend(page);
            }
            let text = |one: &MemberState| one.info.as_ref().map(|info| info.text().to_owned());
            let pages: Vec<_> = pages.iter().map(|one| (one.socket, text(one))).collect();
            assert_eq!(pages, expected.into_iter().collect::<Vec<_>>());
        }
    }

    fn end(mut self) {
        for id in std::mem::take(&mut self.sockets) {
            self.close(id);
        }
        self.viewers.tell(&self.core);
        assert!(self.core.is_deserted());
        assert_eq!(self.core.presence_bytes(), 0);
    }
}
