//! The scripts that run in the store, and the commands that call them. Owns the order of their arguments.

use millrace_core::{Epoch, HistoryTerms};
use redis::{Cmd, cmd};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::feed::Append;
use super::names::Names;
use super::publication::{self, HEAD_BYTES, Id};
use super::remembered::Newest;
use crate::encoding::hex;

/// See the module.
#[derive(Debug)]
pub(super) struct Scripts {
    names: Names,
    publish: Box<str>,
    read: Box<str>,
    renew: Box<str>,
    check: Box<str>,
    is_cluster: bool,
    /// How many messages a page looks at together.
    chunk: usize,
}

/// Which messages a page has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The offset to begin at; `None`: the newest.
    pub(super) from: Option<u64>,
    /// The least offset.
    pub(super) floor: u64,
    /// The most messages.
    pub(super) most: usize,
    pub(super) is_reverse: bool,
}

impl Scripts {
    /// `longest` is the most bytes of a message.
    pub(super) fn new(names: Names, longest: usize, is_cluster: bool) -> Self {
        let chunk = MOST_LOOKED_AT / longest.saturating_add(HEAD_BYTES);
        Self {
            names,
            publish: name(PUBLISH),
            read: name(READ),
            renew: name(RENEW),
            check: name(CHECK),
            is_cluster,
            chunk: chunk.clamp(1, PAGE_MESSAGES),
        }
    }

    /// Puts the scripts into the store.
    pub(super) fn load() -> [Cmd; 4] {
        [PUBLISH, READ, RENEW, CHECK].map(|text| {
            let mut load = cmd("SCRIPT");
            load.arg("LOAD").arg(text);
            load
        })
    }

    /// Publishes a message. `epoch` counts if the channel has none yet.
    pub(super) fn publish(&self, message: &Append, id: Id, epoch: Epoch) -> Cmd {
        let channel = &*message.channel;
        let mut call = call(
            &self.publish,
            &[self.names.stream(channel), self.names.meta(channel)],
        );
        let key = match &message.key {
            Some(key) => [b"k", &**key].concat(),
            None => Vec::new(),
        };
        call.arg(self.names.topic(channel))
            .arg(epoch.to_string())
            .arg(message.terms.messages.max(1))
            .arg(message.terms.age_ms.max(1))
            .arg(life(message.terms))
            .arg(key)
            .arg(&id.to_bytes()[..])
            .arg(&publication::head(message)[..])
            .arg(&*message.payload)
            .arg(self.verb());
        call
    }

    /// Reads a page. `epoch` counts if the channel has none yet.
    pub(super) fn read(&self, channel: &[u8], terms: HistoryTerms, cut: Cut, epoch: Epoch) -> Cmd {
        let mut call = call(
            &self.read,
            &[self.names.stream(channel), self.names.meta(channel)],
        );
        call.arg(if cut.is_reverse { "r" } else { "f" });
        match cut.from {
            Some(from) => call.arg(from),
            None => call.arg("+"),
        };
        call.arg(cut.floor)
            .arg(cut.most.clamp(1, PAGE_MESSAGES))
            .arg(PAGE_BYTES)
            .arg(self.chunk)
            .arg(terms.age_ms.max(1))
            .arg(epoch.to_string())
            .arg(life(terms));
        call
    }

    /// Ends an epoch if it still holds.
    pub(super) fn renew(&self, channel: &[u8], old: Epoch, new: Epoch) -> Cmd {
        let mut call = call(&self.renew, &[self.names.meta(channel)]);
        call.arg(self.names.topic(channel))
            .arg(old.to_string())
            .arg(new.to_string())
            .arg(self.verb());
        call
    }

    /// Ends an epoch if the store has lost a message.
    pub(super) fn check(&self, channel: &[u8], newest: Newest, new: Epoch) -> Cmd {
        let mut call = call(
            &self.check,
            &[self.names.stream(channel), self.names.meta(channel)],
        );
        call.arg(self.names.topic(channel))
            .arg(newest.epoch.to_string())
            .arg(newest.offset)
            .arg(&newest.id.to_bytes()[..])
            .arg(newest.offset.saturating_add(1))
            .arg(new.to_string())
            .arg(self.verb());
        call
    }

    /// Subscribes to a channel.
    pub(super) fn subscribe(&self, channel: &[u8]) -> Cmd {
        let mut subscribe = cmd(if self.is_cluster {
            "SSUBSCRIBE"
        } else {
            "SUBSCRIBE"
        });
        subscribe.arg(self.names.topic(channel));
        subscribe
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, channel: &[u8]) -> Cmd {
        let mut unsubscribe = cmd(if self.is_cluster {
            "SUNSUBSCRIBE"
        } else {
            "UNSUBSCRIBE"
        });
        unsubscribe.arg(self.names.topic(channel));
        unsubscribe
    }

    /// In a cluster, what is published goes to the nodes of its slot only.
    fn verb(&self) -> &'static str {
        if self.is_cluster {
            "SPUBLISH"
        } else {
            "PUBLISH"
        }
    }

    /// The names of channels.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }
}

fn call(script: &str, keys: &[Vec<u8>]) -> Cmd {
    let mut call = cmd("EVALSHA");
    call.arg(script).arg(keys.len());
    for key in keys {
        call.arg(&**key);
    }
    call
}

/// The name under which a store knows a script.
fn name(text: &str) -> Box<str> {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    hex(digest.as_ref()).into()
}

/// How long epoch and numbers of a channel go on without a message, in milliseconds.
fn life(terms: HistoryTerms) -> u64 {
    terms.age_ms.saturating_add(NUMBERS_GO_ON).min(LONGEST_LIFE)
}

const PUBLISH: &str = include_str!("publish.lua");

const READ: &str = include_str!("read.lua");

const RENEW: &str = include_str!("renew.lua");

const CHECK: &str = include_str!("check.lua");

/// A week longer than the last message is kept: after that no client has a position that could be recovered.
const NUMBERS_GO_ON: u64 = 7 * 24 * 60 * 60 * 1000;

/// What a server accepts in any case.
const LONGEST_LIFE: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

/// The most messages of one page.
const PAGE_MESSAGES: usize = 512;

/// The most bytes of one page, unless its only message is longer.
pub(super) const PAGE_BYTES: usize = 256 * 1024;

/// The most bytes that a server takes out of a stream at once.
const MOST_LOOKED_AT: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_named_by_their_digest() {
        // `redis-cli SCRIPT LOAD "return 1"`
        assert_eq!(
            &*name("return 1"),
            "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
        );
    }

    #[test]
    fn few_long_messages_are_looked_at_together() {
        let chunk = |longest| Scripts::new(Names::new("app"), longest, false).chunk;
        assert_eq!(chunk(1024), 512);
        assert_eq!(chunk(1024 * 1024), 15);
        assert_eq!(chunk(usize::MAX), 1);
    }
}
