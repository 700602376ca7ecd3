//! A naive model: a store with one channel, its link to a follower, and the node behind that. Owns no decision of the
//! follower.

use std::collections::VecDeque;

use bytes::Bytes;
use millrace_core::{Epoch, Kind, Position};

use super::super::{Follower, Step};
use crate::store::feed::Entry;
use crate::store::page::Page;
use crate::store::publication::{Id, Published};
use crate::store::remembered::Newest;

/// A store with one channel, its link to the follower, and the node behind that.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) epoch: u64,
    epochs: u64,
    ids: u64,
    /// All messages of the present numbers.
    pub(super) log: Vec<Published>,
    /// How many of them, from the oldest on, are not kept any more.
    pub(super) gone: usize,
    is_linked: bool,
    is_refused: bool,
    pub(super) follower: Follower,
    /// What the follower wants to send.
    wanted: VecDeque<Request>,
    /// What the store has not handled.
    requests: VecDeque<Request>,
    /// What the follower has not received.
    pub(super) wire: VecDeque<Sent>,
    pub(super) node: Option<Node>,
    steps: Vec<Step>,
    pub(super) repairs: usize,
    pub(super) renewals: usize,
    pub(super) fills: usize,
    /// What the node knew when it ceased to follow the channel.
    remembered: Option<Newest>,
}

#[derive(Debug)]
pub(super) enum Request {
    Read(u64),
    Renew(Epoch),
}

#[derive(Debug)]
pub(super) enum Sent {
    Message(Published),
    Renewed,
    Page(Page),
}

/// What the node knows: its position, and the payloads behind the last [`Step::Filled`].
#[derive(Debug)]
pub(super) struct Node {
    position: Position,
    pub(super) payloads: Vec<Bytes>,
}

pub(super) const KEPT: usize = 5;

const PAGE: usize = 2;

impl World {
    fn last(&self) -> Id {
        self.log.last().map(|last| last.id).unwrap_or_default()
    }

    pub(super) fn publish(&mut self) {
        self.ids += 1;
        let id = Id {
            node: 1,
            number: self.ids,
        };
        let message = Published {
            epoch: Epoch::new(self.epoch),
            before: self.last(),
            id,
            entry: Entry {
                offset: u64::try_from(self.log.len()).unwrap() + 1,
                unix_ms: 0,
                kind: Kind::Binary,
                payload: Bytes::copy_from_slice(&self.ids.to_le_bytes()),
                from: None,
                mark: 0,
            },
        };
        self.log.push(message.clone());
        self.gone = self.gone.max(self.log.len().saturating_sub(KEPT));
        self.tell(Sent::Message(message));
    }

    pub(super) fn tell(&mut self, sent: Sent) {
        if self.is_linked {
            self.wire.push_back(sent);
        }
    }

    pub(super) fn cut(&mut self) {
        self.is_linked = false;
        self.wanted.clear();
        self.requests.clear();
        self.wire.clear();
        self.follower.lost();
    }

    /// The store refuses what the follower has asked for.
    pub(super) fn refuse(&mut self) {
        if self.is_linked {
            self.is_refused = true;
            self.wanted.clear();
            self.requests.clear();
            self.wire.retain(|sent| !matches!(sent, Sent::Page(_)));
            self.follower.lost();
        }
    }

    /// Connects if there is no link, and tries again what was refused.
    pub(super) fn connect(&mut self) {
        let is_refused = std::mem::take(&mut self.is_refused);
        if !self.is_linked || is_refused {
            self.is_linked = true;
            self.follower.begin(&mut self.steps);
            self.heed();
        }
    }

    /// The node follows the channel no more, and anew with the next link.
    pub(super) fn forget(&mut self) {
        self.cut();
        self.remembered = self.follower.known().or(self.remembered);
        self.follower = Follower::remembering(self.remembered);
    }

    /// The last messages are lost, and the link with them.
    pub(super) fn fail_over(&mut self, lost: usize) {
        self.cut();
        self.log.truncate(self.log.len().saturating_sub(lost));
        self.gone = self.gone.min(self.log.len());
    }

    pub(super) fn renew(&mut self, old: u64) {
        if self.epoch == old {
            self.epochs += 1;
            self.epoch = self.epochs;
            self.tell(Sent::Renewed);
        }
    }

    pub(super) fn flush(&mut self) {
        self.log.clear();
        self.gone = 0;
        self.epochs += 1;
        self.epoch = self.epochs;
    }

    fn read(&self, from: u64) -> Page {
        let kept = self.log.get(self.gone..).unwrap_or_default();
        let mut wanted = kept.iter().filter(|message| message.entry.offset >= from);
        let messages = wanted.by_ref().take(PAGE).cloned().collect();
        Page {
            epoch: Epoch::new(self.epoch),
            newest: u64::try_from(self.log.len()).unwrap(),
            last: self.last(),
            next: wanted.next().map(|message| message.entry.offset),
            messages,
            foreign: 0,
        }
    }

    /// Whether the follower wants to read or to renew.
    pub(super) fn asks(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Sends one request.
    pub(super) fn send(&mut self) {
        let request = match self.wanted.pop_front() {
            Some(Request::Read(_)) => self.follower.sent().map(Request::Read),
            request => request,
        };
        self.requests.extend(request);
    }

    /// The store handles one request.
    pub(super) fn handle(&mut self) {
        match self.requests.pop_front() {
            Some(Request::Read(from)) => {
                let page = self.read(from);
                self.tell(Sent::Page(page));
            }
            Some(Request::Renew(epoch)) => self.renew(epoch.get()),
            None => {}
        }
    }

    /// The follower receives one thing.
    pub(super) fn receive(&mut self) {
        match self.wire.pop_front() {
            Some(Sent::Message(message)) => self.follower.arrived(message, &mut self.steps),
            Some(Sent::Renewed) => self.follower.renewed(&mut self.steps),
            Some(Sent::Page(page)) => self.follower.page(page, &mut self.steps),
            None => {}
        }
        self.heed();
    }

    fn heed(&mut self) {
        for step in std::mem::take(&mut self.steps) {
            match step {
                Step::Read => self.wanted.push_back(Request::Read(0)),
                Step::Repair => {
                    self.repairs += 1;
                    self.wanted.push_back(Request::Read(0));
                }
                Step::Renew(epoch) => {
                    self.renewals += 1;
                    self.wanted.push_back(Request::Renew(epoch));
                }
                Step::Filled(past) => {
                    self.fills += 1;
                    let offsets = past.entries.iter().map(|entry| entry.offset);
                    let count = u64::try_from(past.entries.len()).unwrap();
                    let first = past.position.offset - count + 1;
                    assert!(offsets.eq(first..=past.position.offset));
                    self.node = Some(Node {
                        position: past.position,
                        payloads: past
                            .entries
                            .into_iter()
                            .map(|entry| entry.payload)
                            .collect(),
                    });
                }
                Step::Next(entry) => {
                    let node = self.node.as_mut().expect("it was filled before");
                    assert_eq!(entry.offset, node.position.offset + 1);
                    node.position.offset = entry.offset;
                    node.payloads.push(entry.payload);
                }
            }
        }
    }

    /// Lets everything happen that is due.
    pub(super) fn settle(&mut self) {
        self.connect();
        for _ in 0..1000 {
            if self.wanted.is_empty() && self.requests.is_empty() && self.wire.is_empty() {
                return;
            }
            self.send();
            self.handle();
            self.receive();
        }
        panic!("it never comes to rest: {self:?}");
    }

    /// The node has the same position as the store, and behind its last gap exactly the messages that the store had.
    pub(super) fn check(&self) {
        let node = self.node.as_ref().expect("it was filled");
        assert_eq!(node.position.epoch.get(), self.epoch);
        assert_eq!(node.position.offset, u64::try_from(self.log.len()).unwrap());
        let newest = self.log.iter().rev();
        let expected = newest.map(|message| &message.entry.payload);
        let known = node.payloads.iter().rev();
        assert!(node.payloads.len() <= self.log.len());
        assert!(known.eq(expected.take(node.payloads.len())));
        self.check_remembered();
    }

    /// The store still has what the node knew, or another epoch, or keeps nothing with which a reader could go on behind it.
    fn check_remembered(&self) {
        let Some(known) = self.remembered else {
            return;
        };
        let offset = usize::try_from(known.offset).unwrap();
        let last = offset.checked_sub(1).and_then(|place| self.log.get(place));
        assert!(
            known.epoch.get() != self.epoch
                || last.map(|last| last.id).unwrap_or_default() == known.id
                || self.gone > offset,
            "{known:?} is lost: {self:?}"
        );
    }
}
