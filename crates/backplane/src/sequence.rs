//! The numbers of messages: the publishing node assigns them, and the other nodes use them to detect missing
//! and repeated messages. Each channel has its own numbers, because a node receives only the channels that
//! it is subscribed to. Messages for a pattern are checked separately from those for the channel itself.
//! Owns both tables, which are bounded in entries and bytes; knows no time and no link.

use std::collections::HashMap;

use ahash::RandomState;

use crate::envelope::Stamp;
use crate::source::Source;
use crate::topic::Topic;

/// The numbers that a node assigns.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    channels: HashMap<Box<[u8]>, Run, RandomState>,
    /// The bytes of the channels' names.
    name_bytes: usize,
    /// The number of runs begun so far.
    runs: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    stream: u64,
    number: u64,
}

impl Numbering {
    /// Assigns the next number of a channel.
    pub(crate) fn next(&mut self, node: u64, channel: &[u8]) -> Stamp {
        if let Some(run) = self.channels.get_mut(channel) {
            run.number += 1;
            return run.stamp(node);
        }
        self.name_bytes += channel.len();
        if self.channels.len() >= REMEMBERED_CHANNELS || self.name_bytes > REMEMBERED_BYTES {
            // later runs have higher numbers, so other nodes do not mistake their messages for old ones
            self.channels.clear();
            self.name_bytes = channel.len();
        }
        self.runs += 1;
        let run = Run {
            stream: self.runs,
            number: 1,
        };
        self.channels.insert(channel.into(), run);
        run.stamp(node)
    }
}

impl Run {
    fn stamp(self, node: u64) -> Stamp {
        Stamp {
            node,
            stream: self.stream,
            number: self.number,
        }
    }
}

/// The result of checking a message's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The message is new.
    New {
        /// The number of messages of the same run that are missing before it.
        missed: u64,
    },
    /// The message, or a later one, was received before.
    Again,
}

/// The numbers that a node has received, by subscription, channel and publishing node.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    sources: HashMap<Box<[u8]>, Vec<Stamp>, RandomState>,
    entries: usize,
    /// The bytes of the keys.
    key_bytes: usize,
    /// The key of the source that is being checked.
    key: Vec<u8>,
}

impl Tracker {
    /// Checks the number of a message. Messages that were lost before the first message of a node in a
    /// channel cannot be detected.
    pub(crate) fn see(&mut self, source: Source<'_>, stamp: Stamp) -> Seen {
        write_key(source, &mut self.key);
        if let Some(last) = self
            .sources
            .get_mut(&*self.key)
            .and_then(|known| known.iter_mut().find(|last| last.node == stamp.node))
        {
            return last.follow(stamp);
        }
        let more = if self.sources.contains_key(&*self.key) {
            0
        } else {
            self.key.len()
        };
        if self.entries >= REMEMBERED_RUNS || self.key_bytes + more > REMEMBERED_BYTES {
            self.sources.clear();
            self.entries = 0;
            self.key_bytes = 0;
        }
        self.entries += 1;
        if let Some(known) = self.sources.get_mut(&*self.key) {
            known.push(stamp);
        } else {
            self.key_bytes += self.key.len();
            self.sources.insert((*self.key).into(), vec![stamp]);
        }
        Seen::New { missed: 0 }
    }

    /// Forgets a topic without subscribers here: messages that are published meanwhile are not missing.
    pub(crate) fn forget(&mut self, topic: &Topic) {
        match topic {
            Topic::Channel(name) => self.remove(Source::Channel(name)),
            Topic::Sharded(name) => self.remove(Source::Sharded(name)),
            Topic::Pattern(pattern) => {
                write_key(Source::Pattern(pattern, b""), &mut self.key);
                let front = &self.key;
                let (entries, bytes) = (&mut self.entries, &mut self.key_bytes);
                self.sources.retain(|key, known| {
                    // a server with coarser patterns does not tell which pattern a message came for
                    let stays = !key.starts_with(front) && !key.starts_with(b"a");
                    if !stays {
                        *entries -= known.len();
                        *bytes -= key.len();
                    }
                    stays
                });
            }
            Topic::Control => {}
        }
    }

    fn remove(&mut self, source: Source<'_>) {
        write_key(source, &mut self.key);
        if let Some(known) = self.sources.remove(&*self.key) {
            self.entries -= known.len();
            self.key_bytes -= self.key.len();
        }
    }
}

/// Different sources have different keys, and the keys of one pattern have the same beginning.
fn write_key(source: Source<'_>, key: &mut Vec<u8>) {
    key.clear();
    let (tag, first, second) = match source {
        Source::Channel(name) => (b'c', name, &b""[..]),
        Source::Sharded(name) => (b's', name, &b""[..]),
        Source::Any(name) => (b'a', name, &b""[..]),
        Source::Pattern(pattern, name) => (b'p', pattern, name),
        Source::Control => (b'!', &b""[..], &b""[..]),
    };
    key.push(tag);
    if tag == b'p' {
        key.extend_from_slice(&first.len().to_le_bytes());
    }
    key.extend_from_slice(first);
    key.extend_from_slice(second);
}

impl Stamp {
    fn follow(&mut self, next: Self) -> Seen {
        let before = if next.stream == self.stream {
            self.number
        } else {
            0
        };
        if next.stream < self.stream || next.number <= before {
            return Seen::Again;
        }
        *self = next;
        Seen::New {
            missed: next.number - before - 1,
        }
    }
}

/// The most channels with numbers. Above it, all channels begin new runs.
const REMEMBERED_CHANNELS: usize = 65_536;

/// The most runs whose last number is kept. Above it, all are forgotten.
const REMEMBERED_RUNS: usize = 262_144;

/// The most bytes of the names in each of the two tables, because names may be long. Exceeding it has the
/// same effect.
const REMEMBERED_BYTES: usize = 32 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn channels_have_separate_numbers() {
        let mut numbering = Numbering::default();
        let stamps = [&b"a"[..], b"a", b"b", b"a"].map(|channel| numbering.next(7, channel));
        assert_eq!(stamps.map(|stamp| stamp.number), [1, 2, 1, 3]);
        assert_eq!(stamps.map(|stamp| stamp.stream), [1, 1, 2, 1]);
    }

    #[test]
    fn too_many_channels_begin_again_with_higher_runs() {
        let mut numbering = Numbering::default();
        let first = numbering.next(7, b"first");
        for index in 0..REMEMBERED_CHANNELS {
            numbering.next(7, &index.to_le_bytes());
        }
        let again = numbering.next(7, b"first");
        assert_eq!(again.number, 1);
        assert!(again.stream > first.stream);
        let mut tracker = Tracker::default();
        tracker.see(Source::Channel(b"first"), first);
        assert_eq!(
            tracker.see(Source::Channel(b"first"), again),
            Seen::New { missed: 0 }
        );
        assert_eq!(tracker.see(Source::Channel(b"first"), first), Seen::Again);
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let mut tracker = Tracker::default();
        for node in 0..=u64::try_from(REMEMBERED_RUNS).unwrap() {
            let stamp = Stamp {
                node,
                stream: 1,
                number: 1,
            };
            tracker.see(Source::Channel(&node.to_le_bytes()[..1]), stamp);
        }
        assert_eq!(tracker.entries, 1);
        assert_eq!(tracker.sources.values().map(Vec::len).sum::<usize>(), 1);
    }

    #[test]
    fn long_names_are_bounded_by_their_bytes() {
        let (mut numbering, mut tracker) = (Numbering::default(), Tracker::default());
        let mut name = vec![b'x'; 1024 * 1024];
        for index in 0..100_u8 {
            name[0] = index;
            let stamp = numbering.next(7, &name);
            assert_eq!(stamp.stream, u64::from(index) + 1);
            for source in [Source::Channel(&name), Source::Pattern(b"*", &name)] {
                assert_eq!(tracker.see(source, stamp), Seen::New { missed: 0 });
                assert_eq!(tracker.see(source, stamp), Seen::Again);
            }
            let names = numbering.channels.keys().map(|name| name.len());
            assert!(names.sum::<usize>() <= REMEMBERED_BYTES);
            let keys: usize = tracker.sources.keys().map(|key| key.len()).sum();
            assert!(keys <= REMEMBERED_BYTES);
            assert_eq!(keys, tracker.key_bytes);
        }
        tracker.forget(&Topic::Channel((*name).into()));
        tracker.forget(&Topic::Pattern((*b"*").into()));
        let keys: usize = tracker.sources.keys().map(|key| key.len()).sum();
        assert_eq!(keys, tracker.key_bytes);
    }

    #[test]
    fn an_unsubscribed_channel_misses_nothing() {
        let mut numbering = Numbering::default();
        let mut tracker = Tracker::default();
        tracker.see(Source::Channel(b"a"), numbering.next(7, b"a"));
        tracker.forget(&Topic::Channel((*b"a").into()));
        numbering.next(7, b"a");
        let seen = tracker.see(Source::Channel(b"a"), numbering.next(7, b"a"));
        assert_eq!(seen, Seen::New { missed: 0 });
        assert_eq!(tracker.entries, 1);
    }

    #[test]
    fn a_pattern_is_checked_separately_and_forgotten_as_a_whole() {
        let mut numbering = Numbering::default();
        let mut tracker = Tracker::default();
        let stamp = numbering.next(7, b"ab");
        let sources = [
            Source::Channel(b"ab"),
            Source::Sharded(b"ab"),
            Source::Pattern(b"a*", b"ab"),
            Source::Pattern(b"a", b"*ab"),
            Source::Any(b"ab"),
        ];
        for source in sources {
            assert_eq!(tracker.see(source, stamp), Seen::New { missed: 0 });
            assert_eq!(tracker.see(source, stamp), Seen::Again);
        }
        tracker.forget(&Topic::Pattern((*b"a*").into()));
        assert_eq!(tracker.entries, 3);
        assert_eq!(tracker.see(sources[3], stamp), Seen::Again);
        assert_eq!(tracker.see(sources[2], stamp), Seen::New { missed: 0 });
    }

    proptest! {
        /// Whatever is lost or repeated on the way: delivered and missing messages add up to the last one
        /// received, and nothing is delivered twice or out of order.
        #[test]
        fn delivered_and_missed_messages_add_up(fates in proptest::collection::vec((0_usize..3, 0_usize..3), 1..200)) {
            let mut numbering = Numbering::default();
            let mut tracker = Tracker::default();
            let names: [&[u8]; 3] = [b"a", b"b", b"c"];
            let mut sent = [0_u64; 3];
            let mut accounted = [0_u64; 3];
            let mut started = [None; 3];
            let mut last = [0_u64; 3];
            for (channel, copies) in fates {
                let stamp = numbering.next(1, names[channel]);
                sent[channel] += 1;
                prop_assert_eq!(stamp.number, sent[channel]);
                for copy in 0..copies {
                    match tracker.see(Source::Channel(names[channel]), stamp) {
                        Seen::New { missed } => {
                            prop_assert_eq!(copy, 0);
                            started[channel].get_or_insert(stamp.number - 1);
                            accounted[channel] += missed + 1;
                            last[channel] = stamp.number;
                        }
                        Seen::Again => prop_assert!(copy > 0),
                    }
                }
            }
            for channel in 0..3 {
                let before = started[channel].unwrap_or(0);
                prop_assert_eq!(accounted[channel] + before, last[channel]);
            }
        }

        #[test]
        fn hostile_numbers_cause_no_panic(stamps: Vec<(u8, u64, u64)>) {
            let mut tracker = Tracker::default();
            for (node, stream, number) in stamps {
                let stamp = Stamp { node: u64::from(node), stream, number };
                tracker.see(Source::Channel(b"a"), stamp);
            }
        }
    }
}
