//! What nodes tell each other: who is there, and how many subscribers a channel has on all of them.

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
                // who is not back entirely says so later
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
                // it answers also before it hears all its channels again, so it is not back by that
                self.members.counted(node, census, now);
                if to == own.node {
                    self.members.answered(node, question, &subscribers, own);
                }
            }
        }
    }

    /// Somebody on this node asks about all of them.
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

    /// Time to see whether answers are late.
    pub(crate) fn expire(&mut self, now: Duration) {
        if self.members.wakes_at().is_some_and(|at| at <= now) {
            let own = self.own();
            self.members.expire(own, now);
        }
    }

    /// Says goodbye to the others.
    /// There is a link again, whatever it takes until this node hears.
    pub(super) fn say_coming(&mut self) {
        self.say(&Said::Coming);
    }

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

/// Answers to other nodes between two heartbeats.
pub(super) const ANSWERS: u32 = 1000;
