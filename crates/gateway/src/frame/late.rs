//! The frame of a message that is being compressed: shards that need it are told when it is made, and never wait.

use std::sync::Arc;

use millrace_core::{ShardIndex, ShardSet};
use millrace_protocol::websocket::deflate::History;

use super::shared::Frame;
use crate::sync::Mutex;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Late(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    outcome: Outcome,
    /// The shards that are told.
    waiting: ShardSet,
    /// The history of the only recipient, if the message refers to it, on its way back to the connection.
    history: Option<Box<History>>,
}

/// What became of a message.
#[derive(Clone, Debug, Default)]
pub(crate) enum Outcome {
    /// It is being compressed.
    #[default]
    Open,
    /// It is sent as it is, in the lead encoding.
    Plain,
    /// This is its frame.
    Frame(Frame),
}

impl Late {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State::default())))
    }

    /// What became of it. If that is open, this shard is told.
    pub(crate) fn outcome_on(&self, shard: ShardIndex) -> Outcome {
        let mut state = self.0.lock();
        if matches!(state.outcome, Outcome::Open) {
            state.waiting.insert(shard);
        }
        state.outcome.clone()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.0.lock().outcome.clone()
    }

    /// Sets the outcome: a frame, or none if the message is sent as it is. Returns the shards that have to be told. The
    /// first call counts.
    #[must_use]
    pub(crate) fn fill(&self, frame: Option<Frame>, history: Option<Box<History>>) -> ShardSet {
        let mut state = self.0.lock();
        if !matches!(state.outcome, Outcome::Open) {
            return ShardSet::default();
        }
        state.outcome = frame.map_or(Outcome::Plain, Outcome::Frame);
        state.history = history;
        state.waiting.take()
    }

    /// Whether there is another holder, or one of its frame.
    pub(super) fn is_shared(&self) -> bool {
        let state = self.0.lock();
        let has_frame = matches!(&state.outcome, Outcome::Frame(frame) if frame.is_shared());
        has_frame || Arc::strong_count(&self.0) > 1
    }

    /// The history that came back.
    pub(crate) fn take_history(&self) -> Option<Box<History>> {
        self.0.lock().history.take()
    }

    /// Whether both are the same message.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other one has during its life.
    pub(crate) fn key(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_that_asked_before_are_told_once() {
        let [first, second] = [0, 7].map(|index| ShardIndex::new(index).unwrap());
        let late = Late::new();
        for _again in 0..2 {
            assert!(matches!(late.outcome_on(second), Outcome::Open));
        }
        let told = late.fill(Some(Frame::uncounted(vec![1])), None);
        assert_eq!(told.iter().collect::<Vec<_>>(), [second]);
        assert!(matches!(late.outcome_on(first), Outcome::Frame(frame) if frame.bytes() == [1]));
        assert!(late.fill(None, None).is_empty());
        assert!(
            matches!(late.outcome(), Outcome::Frame(_)),
            "the first outcome counts"
        );
    }
}

/// Run with `RUSTFLAGS="--cfg millrace_loom"`.
#[cfg(all(test, millrace_loom))]
mod loom_tests {
    use super::*;

    #[test]
    fn a_shard_sees_the_frame_or_is_told() {
        loom::model(|| {
            let late = Late::new();
            let maker = late.clone();
            let making = loom::thread::spawn(move || maker.fill(None, None));
            let shard = ShardIndex::new(1).unwrap();
            let seen = matches!(late.outcome_on(shard), Outcome::Plain);
            let told = making.join().unwrap().contains(shard);
            assert_ne!(seen, told);
        });
    }
}
