//! What a client of `millrace.v1` waits for: the questions to its worker's handlers, and what waits behind them, because the
//! operations of one channel keep their order. Pure.

use std::collections::VecDeque;

use millrace_core::Kind;
use millrace_protocol::v1::{Id, Start};

use super::members::Looking;

/// See the module. The session bounds it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// In the order in which they came.
    all: VecDeque<Item>,
    /// The number of the newest.
    last: u32,
    bytes: usize,
    calls: usize,
    /// Answers to `unsub` that are on their way.
    pub(super) resumes: u32,
}

/// An operation that is not done yet.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) number: u32,
    pub(super) id: Option<Id<'static>>,
    pub(super) what: What,
    pub(super) state: State,
}

/// An operation for which a handler may be asked, or that has to wait for one.
#[derive(Debug)]
pub(super) enum What {
    /// A call, whose parameters of this many bytes the worker has.
    Call(usize),
    /// A message of this many bytes that the store of histories has.
    Stored(usize),
    /// A look into the past of a channel, which the store is asked for.
    Look {
        channel: Box<[u8]>,
    },
    /// A look at the members of a channel, when those of all nodes are known.
    Members(Looking),
    Subscribe {
        channel: Box<[u8]>,
        start: Option<Start<'static>>,
        info: Option<Box<str>>,
    },
    Unsubscribe {
        channel: Box<[u8]>,
    },
    Publish {
        channel: Box<[u8]>,
        key: Option<Box<str>>,
        kind: Kind,
        payload: Box<[u8]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Something of the same channel is in front of it.
    Waits,
    /// The worker has it.
    Asked,
    /// The store of histories was asked for what the channel has kept: then it can be done.
    Follows,
    /// It is done, and its answer is on its way behind what was posted before.
    Leaving,
}

impl What {
    /// The channel whose other operations wait for it; `None`: none do.
    pub(super) fn channel(&self) -> Option<&[u8]> {
        match self {
            Self::Call(_) | Self::Stored(_) | Self::Look { .. } | Self::Members(_) => None,
            Self::Subscribe { channel, .. }
            | Self::Unsubscribe { channel }
            | Self::Publish { channel, .. } => Some(channel),
        }
    }

    fn bytes(&self) -> usize {
        let channel = self.channel().map_or(0, <[u8]>::len);
        let rest = match self {
            Self::Call(bytes) | Self::Stored(bytes) => *bytes,
            Self::Look { channel } => channel.len(),
            Self::Members(looking) => {
                looking.channel.len() + looking.after.as_deref().map_or(0, str::len)
            }
            Self::Subscribe { info, .. } => info.as_deref().map_or(0, str::len),
            Self::Unsubscribe { .. } => 0,
            Self::Publish { payload, .. } => payload.len(),
        };
        channel + rest
    }

    fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}

impl Asked {
    /// Adds an operation behind the others.
    pub(super) fn push(&mut self, id: Option<Id<'static>>, what: What) -> u32 {
        let number = self.reserve();
        self.push_as(number, id, what);
        number
    }

    /// A number for an operation that is added later.
    pub(super) fn reserve(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    /// Adds an operation with a reserved number.
    pub(super) fn push_as(&mut self, number: u32, id: Option<Id<'static>>, what: What) {
        let state = match what.channel() {
            None => State::Asked,
            Some(_) => State::Waits,
        };
        self.count_in(&what);
        self.all.push_back(Item {
            number,
            id,
            what,
            state,
        });
    }

    /// Adds a subscription in front of the others, because its turn has come, and only the store has to be asked.
    pub(super) fn push_first(&mut self, number: u32, id: Id<'static>, what: What) {
        self.count_in(&what);
        self.all.push_front(Item {
            number,
            id: Some(id),
            what,
            state: State::Follows,
        });
    }

    fn count_in(&mut self, what: &What) {
        self.bytes += what.bytes();
        self.calls += usize::from(what.is_call());
    }

    fn count_out(&mut self, what: &What) {
        self.bytes = self.bytes.saturating_sub(what.bytes());
        self.calls -= usize::from(what.is_call());
    }

    /// Whether a client still waits for the answer with this id.
    pub(super) fn is_in_use(&self, id: &Id<'_>) -> bool {
        self.all.iter().any(|item| item.id.as_ref() == Some(id))
    }

    /// Whether something of this channel is not done.
    pub(super) fn holds(&self, channel: &[u8]) -> bool {
        self.all
            .iter()
            .any(|item| item.what.channel() == Some(channel))
    }

    /// Whether the last operation of this channel ends the subscription.
    pub(super) fn ends(&self, channel: &[u8]) -> bool {
        let mut newest_first = self.all.iter().rev();
        let last = newest_first.find(|item| item.what.channel() == Some(channel));
        last.is_some_and(|item| matches!(item.what, What::Unsubscribe { .. }))
    }

    /// The first operation of a channel, if it waits for nothing any more.
    pub(super) fn next(&mut self, channel: &[u8]) -> Option<&mut Item> {
        let mut all = self.all.iter_mut();
        let first = all.find(|item| item.what.channel() == Some(channel));
        first.filter(|item| item.state == State::Waits)
    }

    /// Removes an operation, if it is in this state.
    pub(super) fn take(&mut self, number: u32, state: State) -> Option<Item> {
        let mut all = self.all.iter();
        let at = all.position(|item| item.number == number && item.state == state)?;
        let item = self.all.remove(at)?;
        self.count_out(&item.what);
        if self.all.is_empty() {
            // most connections have few of them, and seldom
            self.all = VecDeque::new();
        }
        Some(item)
    }

    /// The numbers of those in a state.
    pub(super) fn numbers(&self, state: State) -> Vec<u32> {
        let found = self.all.iter().filter(|item| item.state == state);
        found.map(|item| item.number).collect()
    }

    /// Removes all that wait for a worker, or for others that do.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Item> + use<> {
        let all = std::mem::take(&mut self.all).into_iter();
        let (stays, gone): (VecDeque<_>, VecDeque<_>) = all.partition(Item::waits_for_store);
        for item in &gone {
            self.count_out(&item.what);
        }
        self.all = stays;
        gone.into_iter()
    }

    /// Whether a message is to be published.
    pub(super) fn has_publications(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|item| matches!(item.what, What::Publish { .. }))
    }

    /// How many calls wait for their answers.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// How many other operations wait.
    pub(super) fn others(&self) -> usize {
        self.all.len() - self.calls
    }

    /// The bytes of all.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Item {
    fn waits_for_store(&self) -> bool {
        let is_there = matches!(
            self.what,
            What::Stored(_) | What::Look { .. } | What::Members(_)
        );
        is_there || self.state == State::Follows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unsubscribe(channel: &[u8]) -> What {
        What::Unsubscribe {
            channel: channel.into(),
        }
    }

    fn publish(channel: &[u8], payload: &[u8]) -> What {
        What::Publish {
            channel: channel.into(),
            key: None,
            kind: Kind::Text,
            payload: payload.into(),
        }
    }

    #[test]
    fn operations_of_one_channel_keep_their_order_and_others_do_not_wait() {
        let mut asked = Asked::default();
        let first = asked.push(None, publish(b"a", b"1"));
        let second = asked.push(None, unsubscribe(b"a"));
        let other = asked.push(None, unsubscribe(b"b"));
        let next = asked.next(b"a").unwrap();
        assert_eq!(next.number, first);
        next.state = State::Asked;
        assert!(asked.next(b"a").is_none(), "the first is being asked");
        assert_eq!(asked.next(b"b").unwrap().number, other);
        assert!(asked.take(second, State::Asked).is_none(), "it only waits");
        assert!(asked.take(first, State::Asked).is_some());
        assert!(asked.take(first, State::Asked).is_none(), "only once");
        assert_eq!(asked.next(b"a").unwrap().number, second);
        assert!(asked.next(b"c").is_none() && !asked.holds(b"c") && asked.holds(b"a"));
    }

    #[test]
    fn what_waits_is_counted() {
        let mut asked = Asked::default();
        let id = Id::Number(7);
        let call = asked.push(Some(id.clone()), What::Call(100));
        asked.push(Some(Id::Text("x".into())), publish(b"chan", b"12345"));
        assert_eq!((asked.calls(), asked.others(), asked.bytes()), (1, 1, 109));
        assert!(asked.is_in_use(&id) && !asked.is_in_use(&Id::Number(8)));
        assert_eq!(asked.numbers(State::Asked), [call]);
        assert!(asked.take(call, State::Asked).is_some());
        assert_eq!((asked.calls(), asked.others(), asked.bytes()), (0, 1, 9));
        assert_eq!(asked.clear().count(), 1);
        assert_eq!((asked.calls(), asked.others(), asked.bytes()), (0, 0, 0));
        assert_ne!(
            asked.push(None, What::Call(0)),
            call,
            "late answers name none"
        );
    }

    #[test]
    fn what_the_store_has_holds_up_no_other_operation_and_outlives_the_worker() {
        let mut asked = Asked::default();
        let stored = asked.reserve();
        let call = asked.push(None, What::Call(1));
        asked.push_as(stored, Some(Id::Number(7)), What::Stored(5));
        let channel = b"chan"[..].into();
        let look = asked.push(None, What::Look { channel });
        assert!(stored != call && !asked.holds(b"chan"));
        assert_eq!((asked.calls(), asked.others(), asked.bytes()), (1, 2, 10));
        let behind = asked.push(None, publish(b"chan", b"1"));
        let first = asked.reserve();
        asked.push_first(first, Id::Number(8), unsubscribe(b"chan"));
        assert!(asked.next(b"chan").is_none() && asked.is_in_use(&Id::Number(8)));
        let gone: Vec<_> = asked.clear().map(|item| item.number).collect();
        assert_eq!(gone, [call, behind]);
        assert_eq!((asked.calls(), asked.others(), asked.bytes()), (0, 3, 13));
        assert!(asked.take(first, State::Asked).is_none());
        assert!(asked.take(first, State::Follows).is_some());
        for number in [stored, look] {
            assert!(asked.take(number, State::Asked).is_some());
        }
        assert_eq!((asked.others(), asked.bytes()), (0, 0));
    }

    /// Steps: an operation of a channel, a call, an answer to one that is being asked, and a beginning of what waits.
    #[derive(Clone, Debug)]
    enum Step {
        Operation(u8, usize),
        Call(usize),
        Answer(usize),
        Begin(u8),
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Beside a list of what is not done: number, channel, bytes, whether it is being asked.
        #[test]
        fn each_channel_is_a_line_of_its_own(steps in prop::collection::vec(steps(), 1..200)) {
            let mut asked = Asked::default();
            let mut model: Vec<(u32, Option<u8>, usize, bool)> = Vec::new();
            for step in steps {
                match step {
                    Step::Operation(channel, bytes) => {
                        let number = asked.push(None, publish(&[channel], &vec![0; bytes]));
                        model.push((number, Some(channel), bytes + 1, false));
                    }
                    Step::Call(bytes) => {
                        model.push((asked.push(None, What::Call(bytes)), None, bytes, true));
                    }
                    Step::Answer(which) => {
                        let number = model.get(which % model.len().max(1)).map_or(0, |one| one.0);
                        let at = model.iter().position(|one| one.0 == number && one.3);
                        let taken = asked.take(number, State::Asked);
                        prop_assert_eq!(taken.is_some(), at.is_some());
                        if let Some(at) = at {
                            model.remove(at);
                        }
                    }
                    Step::Begin(channel) => {
                        let first = model.iter_mut().find(|one| one.1 == Some(channel));
                        let waits = first.filter(|one| !one.3);
                        let next = asked.next(&[channel]);
                        prop_assert_eq!(
                            next.as_ref().map(|item| item.number),
                            waits.as_ref().map(|one| one.0)
                        );
                        if let (Some(item), Some(one)) = (next, waits) {
                            item.state = State::Asked;
                            one.3 = true;
                        }
                    }
                }
                let calls = model.iter().filter(|one| one.1.is_none()).count();
                prop_assert_eq!(asked.calls(), calls);
                prop_assert_eq!(asked.others(), model.len() - calls);
                prop_assert_eq!(asked.bytes(), model.iter().map(|one| one.2).sum::<usize>());
            }
        }
    }

    fn steps() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..3_u8, 0..50_usize).prop_map(|(channel, bytes)| Step::Operation(channel, bytes)),
            (0..50_usize).prop_map(Step::Call),
            (0..50_usize).prop_map(Step::Answer),
            (0..3_u8).prop_map(Step::Begin),
        ]
    }
}
