//! The control messages of nodes: which nodes are present, and how many subscribers a channel has
//! on all of them.

use std::time::Duration;

use bytes::Bytes;

use super::Node;
use crate::control::Said;
use crate::envelope::{Content, Stamp};
use crate::members::{ClusterInfo, Member, Reply};
use crate::outlet::Outgoing;

impl Node {
    pub(super) fn hear(&mut self, node: u64, said: Said, now: Duration) {
        let own = self.own();
        match said {
            Said::Present(census, asks) => {
                let is_new = self.members.seen(node, census, now);
                // a node that is not completely back announces itself later
                if (asks || is_new) && !self.comeback.is_unannounced && self.may_answer() {
                    self.say_here(false);
                }
            }
            Said::Bye => self.members.left(node, own),
            Said::Coming => self.members.is_coming(node),
            Said::Ask(question, channels) => {
                if self.may_answer() {
                    let subscribers = channels.iter().map(|name| self.local.subscribers(name));
                    let answer = Said::Answer {
                        to: node,
                        question,
                        census: own.census,
                        subscribers: subscribers.collect(),
                    };
                    self.say(&answer);
                }
            }
            Said::Answer {
                to,
                question,
                census,
                subscribers,
            } => {
                // a node also answers before it is subscribed to all its channels, so this does not
                // mean that it is back
                self.members.counted(node, census, now);
                if to == own.node {
                    self.members.answered(node, question, &subscribers, own);
                }
            }
        }
    }

    /// Begins a query about all nodes, for this node's application.
    pub(crate) fn ask_all(
        &mut self,
        channels: Vec<Box<[u8]>>,
        reply: Reply,
        is_up: bool,
        now: Duration,
    ) {
        let own = self.own();
        let subscribers = channels
            .iter()
            .map(|name| self.local.subscribers(name))
            .collect();
        if !is_up {
            return reply(ClusterInfo {
                nodes: vec![own],
                subscribers,
                is_complete: false,
            });
        }
        let question = self.members.ask((own, subscribers), reply, now);
        if let Some(question) = question {
            self.say(&Said::Ask(question, channels));
        }
    }

    /// Ends queries whose answers are late.
    pub(crate) fn expire(&mut self, now: Duration) {
        if self.members.wakes_at().is_some_and(|at| at <= now) {
            let own = self.own();
            self.members.expire(own, now);
        }
    }

    /// Announces that this node has a link again, although it is not subscribed yet.
    pub(super) fn say_coming(&mut self) {
        self.say(&Said::Coming);
    }

    /// Tells the other nodes that this one leaves.
    pub(crate) fn say_bye(&mut self) {
        self.say(&Said::Bye);
    }

    fn may_answer(&mut self) -> bool {
        let may = self.answers_left > 0;
        self.answers_left = self.answers_left.saturating_sub(1);
        may
    }

    pub(super) fn say_here(&mut self, asks: bool) {
        let census = self.local.census();
        self.say(&Said::Present(census, asks));
    }

    fn say(&mut self, said: &Said) {
        self.controls += 1;
        self.said.push_back(Outgoing {
            is_sharded: false,
            channel: Box::default(),
            content: Content::Control,
            stamp: Stamp {
                node: self.outlet.node(),
                stream: 0,
                number: self.controls,
            },
            body: Bytes::from(said.encode()),
        });
    }

    pub(super) fn own(&self) -> Member {
        Member {
            node: self.outlet.node(),
            is_self: true,
            census: self.local.census(),
        }
    }
}

/// The most answers to other nodes between two heartbeats.
pub(super) const ANSWERS: u32 = 1000;
