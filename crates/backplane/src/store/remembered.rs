//! The newest message that a node knows of a channel. Of channels that the node does not follow it is remembered, because nobody
//! else would notice that the store has lost it and has given its number to another message. Pure.

use ahash::AHashMap;
use millrace_core::{Epoch, Position};

use super::page::Page;
use super::publication::{Id, Published};

/// The newest message of a channel that a node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Newest {
    pub(super) epoch: Epoch,
    pub(super) offset: u64,
    pub(super) id: Id,
}

impl Newest {
    /// The message at this position.
    pub(super) fn at(position: Position, id: Id) -> Self {
        let Position { epoch, offset } = position;
        Self { epoch, offset, id }
    }

    /// Whether a store whose newest message is this one has lost the message: it has not come as far in the same epoch, or has
    /// another message under the number.
    pub(super) fn is_gone_at(&self, newest: Self) -> bool {
        newest.epoch == self.epoch
            && (newest.offset < self.offset || newest.offset == self.offset && newest.id != self.id)
    }

    /// The same for a store that answers with this page, which may have come further. `messages`: those that it has, of this
    /// page or of all. Nothing is known if what would prove it is not kept any more.
    pub(super) fn is_lost<'a>(
        &self,
        page: &Page,
        messages: impl IntoIterator<Item = &'a Published>,
    ) -> bool {
        let is_other = |message: &Published| {
            (message.entry.offset == self.offset && message.id != self.id)
                || (self.offset.checked_add(1) == Some(message.entry.offset)
                    && message.before != self.id)
        };
        let newest = Self {
            epoch: page.epoch,
            offset: page.newest,
            id: page.last,
        };
        self.is_gone_at(newest) || page.epoch == self.epoch && messages.into_iter().any(is_other)
    }
}

/// See the module. When there are too many, those that were remembered longest ago go.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    young: Channels,
    old: Channels,
    /// The bytes of the names of the young ones.
    bytes: usize,
}

type Channels = AHashMap<Box<[u8]>, Newest>;

impl Remembered {
    /// Remembers the newest message of a channel. One that is older than what is remembered is nothing new.
    pub(super) fn put(&mut self, channel: &[u8], newest: Newest) {
        let newer = |known: Newest| {
            let is_older = known.epoch == newest.epoch && known.offset > newest.offset;
            if is_older { known } else { newest }
        };
        if let Some(known) = self.young.get_mut(channel) {
            *known = newer(*known);
            return;
        }
        let (name, newest) = match self.old.remove_entry(channel) {
            Some((name, known)) => (name, newer(known)),
            None => (channel.into(), newest),
        };
        self.bytes += name.len();
        self.young.insert(name, newest);
        if self.young.len() >= MOST_YOUNG || self.bytes >= MOST_YOUNG_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
    }

    /// What is remembered of a channel.
    pub(super) fn get(&self, channel: &[u8]) -> Option<Newest> {
        let young = self.young.get(channel);
        young.or_else(|| self.old.get(channel)).copied()
    }

    /// Everything that is remembered.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u8], Newest)> {
        let all = self.young.iter().chain(&self.old);
        all.map(|(name, newest)| (&**name, *newest))
    }
}

/// So many channels are remembered at least, unless their names are long, and twice as many at most.
const MOST_YOUNG: usize = 8192;

const MOST_YOUNG_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(offset: u64) -> Newest {
        Newest {
            epoch: Epoch::new(1),
            offset,
            id: Id {
                node: 1,
                number: offset,
            },
        }
    }

    #[test]
    fn what_was_remembered_last_stays() {
        let mut all = Remembered::default();
        let name = |number: usize| format!("room:{number}").into_bytes();
        let most = u64::try_from(MOST_YOUNG).unwrap();
        for number in 0..3 * MOST_YOUNG {
            all.put(&name(number), newest(1));
            all.put(&name(7), newest(u64::try_from(number).unwrap()));
            all.put(&name(7), newest(1));
        }
        assert_eq!(all.get(&name(7)), Some(newest(3 * most - 1)));
        let count = all.all().count();
        assert!((MOST_YOUNG..=2 * MOST_YOUNG).contains(&count), "{count}");
        let last = 2 * MOST_YOUNG + 10..3 * MOST_YOUNG;
        for number in last {
            assert_eq!(all.get(&name(number)), Some(newest(1)), "{number}");
        }
        assert_eq!(all.get(&name(0)), None);
    }

    #[test]
    fn long_names_are_bounded_too() {
        let mut all = Remembered::default();
        for number in 0..100_usize {
            let mut name = vec![b'x'; 100_000];
            name[..8].copy_from_slice(&number.to_le_bytes());
            all.put(&name, newest(1));
        }
        let bytes: usize = all.all().map(|(name, _)| name.len()).sum();
        let most = 2 * (MOST_YOUNG_BYTES + 100_000);
        assert!((1_000_000..most).contains(&bytes), "{bytes}");
    }
}
