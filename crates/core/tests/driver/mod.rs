//! Applies operations, decoded from bytes, to a core and to the naive model. After each one it compares
//! the results and everything that can be observed. Shared by the model test and the fuzz target
//! `core_ops`.

mod compare;
mod mirror;
mod store;
mod topics;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use millrace_core::{
    Annotation, Core, ShardIndex, ShardSet, SocketId, SocketInfo, Token, TokenError,
};
use millrace_testkit::model::{Mark, Model, Who};

use self::mirror::Mirror;

/// One operation: a verb, and bytes that choose its arguments.
pub(crate) type Op = [u8; 8];

/// A core, its model and the I/O shards between them.
pub(crate) struct Driver {
    core: Core,
    model: Model,
    mirror: Mirror,
    /// Every id ever returned, the oldest first. Ids of sockets that are gone stay, so that operations
    /// try them again.
    ids: Vec<u64>,
    /// The same ids, and those that are not in `ids`.
    used: HashSet<u64>,
    opened: u32,
    said: u32,
    /// In milliseconds.
    now: u64,
}

/// Runs operations, beginning with an empty core.
pub(crate) fn run(ops: &[Op]) {
    let mut driver = Driver::new();
    for &op in ops {
        driver.apply(op);
        driver.compare();
    }
    driver.close_all();
}

impl Driver {
    fn new() -> Self {
        Self {
            core: Core::new(),
            model: Model::default(),
            mirror: Mirror::default(),
            ids: Vec::new(),
            used: HashSet::new(),
            opened: 0,
            said: 0,
            now: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        let [verb, args @ ..] = op;
        let [first, second, third, fourth, fifth, sixth, seventh] = args;
        match verb % 32 {
            0..=3 => self.open(first),
            4..=5 => self.close(first),
            6..=10 => self.create_virtual(first, second, third),
            11 => self.chain(first, second),
            12..=14 => self.delete_virtual(first, second, third),
            15..=21 => self.subscribe([first, second, third], fourth, fifth),
            22..=25 => self.publish(first, [second, third, fourth, fifth], sixth),
            26 => self.send(first, [second, third, fourth, fifth], sixth),
            27 if fourth.is_multiple_of(2) => self.enter_or_exit_own(first, second, third),
            27 => self.enter_or_exit(first, second, third),
            28 => self.publish_here(first, second, third),
            29 => self.token(first, second),
            30 => self.set_key(first, second, third),
            _ => self.set_key_if(first, second, seventh),
        }
    }

    fn open(&mut self, a: u8) {
        let shard = a % 5;
        let slot = self.opened;
        self.opened += 1;
        let info = SocketInfo {
            address: address(slot),
            worker: u32::from(a),
        };
        let id = self
            .core
            .open(ShardIndex::new(shard).expect("below 5"), slot, info);
        self.remember(id);
        self.model.open(id.get(), shard, slot, info.worker);
    }

    fn close(&mut self, a: u8) {
        let id = self.pick(a);
        let closed = self.core.close(id, &mut self.mirror);
        let slot = closed.as_ref().and_then(|closed| closed.info.address);
        let closed = closed.map(|closed| {
            (
                closed.info.worker,
                closed.token.map(|token| token.bytes.to_vec()),
            )
        });
        assert_eq!(closed, self.model.close(id.get()));
        assert!(slot.is_none_or(|address| address.is_ipv4()));
    }

    fn create_virtual(&mut self, a: u8, b: u8, c: u8) {
        let target = self.pick(a);
        let annotation = match b % 4 {
            0 => Some(Annotation::UserData(i32::from(c))),
            1 => Annotation::prefix(&vec![c; usize::from(c % 16)]).expect("at most 15 bytes"),
            _ => None,
        };
        let given = annotation.as_ref().map(mirror::mark);
        let id = self.core.create_virtual(target, annotation);
        self.remember(id);
        self.model.create_virtual(id.get(), target.get(), given);
    }

    /// Creates several virtual sockets in a row, sometimes more than a chain may have.
    fn chain(&mut self, a: u8, b: u8) {
        let mut target = self.pick(a);
        for link in 0..b % 110 {
            let annotation = (link == 50).then_some(Annotation::UserData(50));
            let given = (link == 50).then_some(Mark::Number(50));
            let id = self.core.create_virtual(target, annotation);
            self.model.create_virtual(id.get(), target.get(), given);
            target = id;
            if link % 16 == 0 || link > 96 {
                self.remember(id);
            } else {
                self.expect_new(id);
            }
        }
    }

    fn delete_virtual(&mut self, a: u8, b: u8, c: u8) {
        let id = self.pick(a);
        let expected = match b % 4 {
            0 => Some(self.pick(c)),
            1 => self.target(id),
            _ => None,
        };
        let deleted = self.core.delete_virtual(id, expected, &mut self.mirror);
        assert_eq!(
            deleted,
            self.model
                .delete_virtual(id.get(), expected.map(SocketId::get))
        );
    }

    fn send(&mut self, a: u8, except: [u8; 4], f: u8) {
        let target = self.pick(a);
        let except = self.except(except, f);
        self.mirror.full = full(f);
        let message = self.say();
        let posted = self
            .core
            .send(target, message.as_str(), &ids(&except), &mut self.mirror);
        let expected = self.model.send(target.get(), &except);
        let expected = expected.filter(|delivery| !self.is_full(delivery.socket));
        assert_eq!(posted, usize::from(expected.is_some()));
        let mut deliveries = std::mem::take(&mut self.mirror.deliveries);
        for (delivery, _) in &mut deliveries {
            delivery.subscriber = target.get();
        }
        assert_eq!(
            deliveries,
            expected
                .map(|delivery| (delivery, message))
                .into_iter()
                .collect::<Vec<_>>()
        );
    }

    fn token(&mut self, a: u8, b: u8) {
        let id = self.pick(a);
        let token = vec![b; usize::from(b % 3)];
        let given = Token {
            bytes: token.clone().into(),
            is_value: b.is_multiple_of(2),
        };
        let before = self.core.set_token(id, given);
        let before = before.map(|token| token.map(|token| token.bytes));
        match self.model.set_token(id.get(), token) {
            Ok(expected) => assert_eq!(before, Ok(expected.map(Into::into))),
            Err(_) => assert_eq!(before, Err(TokenError::SocketNotFound(id))),
        }
    }

    fn close_all(&mut self) {
        for id in ids(&self.ids) {
            self.core.close(id, &mut self.mirror);
            self.model.close(id.get());
        }
        self.compare();
        let counts = self.core.counts();
        assert_eq!(
            (counts.sockets, counts.channels, counts.subscriptions),
            (0, 0, 0)
        );
        assert_eq!(counts.patterns, 0);
    }

    /// Keeps an id that the core has just returned, so that later operations can choose it.
    fn remember(&mut self, id: SocketId) {
        self.expect_new(id);
        self.ids.push(id.get());
    }

    fn expect_new(&mut self, id: SocketId) {
        assert!(self.used.insert(id.get()), "{id} was never used before");
    }

    /// Chooses an id that was returned, preferring late ones, and sometimes an id that was never
    /// returned.
    fn pick(&self, byte: u8) -> SocketId {
        let back = usize::from(byte) * usize::from(byte) / 256;
        let place = self.ids.len().checked_sub(1 + back % (self.ids.len() + 1));
        let id = match place {
            Some(place) => self.ids[place],
            None => self.ids.iter().max().copied().unwrap_or(0) + 1 + u64::from(byte),
        };
        SocketId::new(id).expect("small")
    }

    fn who(&self, byte: u8) -> Who {
        if byte.is_multiple_of(3) {
            Who::Channel(name(byte))
        } else {
            Who::Socket(self.pick(byte).get())
        }
    }

    fn except(&self, bytes: [u8; 4], f: u8) -> Vec<u64> {
        let count = usize::from(f % 8).saturating_sub(3);
        bytes[..count]
            .iter()
            .map(|byte| self.pick(*byte).get())
            .collect()
    }

    fn is_full(&self, socket: u64) -> bool {
        let shard = self.model.shard(socket).and_then(ShardIndex::new);
        shard.is_some_and(|shard| self.mirror.full.contains(shard))
    }

    /// Makes a message that differs from all earlier ones.
    fn say(&mut self) -> String {
        self.said += 1;
        format!("message {}", self.said)
    }
}

fn address(slot: u32) -> Option<IpAddr> {
    (!slot.is_multiple_of(3)).then(|| IpAddr::V4(Ipv4Addr::from(slot)))
}

fn name(byte: u8) -> Vec<u8> {
    match byte % 8 {
        0 => Vec::new(),
        1 => vec![0xff; 300],
        short => vec![b'a' + short],
    }
}

/// Chooses the shards whose inboxes are full, mostly none.
fn full(byte: u8) -> ShardSet {
    let mut set = ShardSet::default();
    if byte >= 224 {
        set.insert(ShardIndex::new(byte % 5).expect("below 5"));
    }
    set
}

fn ids(ids: &[u64]) -> Vec<SocketId> {
    ids.iter()
        .map(|id| SocketId::new(*id).expect("picked"))
        .collect()
}

fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}
