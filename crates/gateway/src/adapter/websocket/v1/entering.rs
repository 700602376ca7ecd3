//! Subscriptions of the client that are not answered yet. Messages of the channel may be on their way, because the application
//! has subscribed the client or has ended that just now, so the answer waits for its place among them.

use std::borrow::Cow;

use millrace_protocol::v1::{Id, Since, Start};

/// The answers that wait. Each has its place in the shard's inbox, which bounds them, or is a refusal, of which there are nine at
/// most.
#[derive(Debug, Default)]
pub(super) struct Entering {
    last_tag: u64,
    waiting: Vec<Waiting>,
}

/// An answer that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    tag: u64,
    pub(super) id: Id<'static>,
    pub(super) what: What,
}

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// How it has entered; `recovered` if the channel keeps nothing.
    Entered { recovered: Option<bool> },
    /// That the channel is subscribed already: this was asked behind the subscription.
    Refused,
}

impl Entering {
    /// The tag of the next subscription.
    pub(super) fn tag(&mut self) -> u64 {
        self.last_tag += 1;
        self.last_tag
    }

    /// Has the subscription with the last tag answered when it is [taken](Self::take).
    pub(super) fn wait(&mut self, id: Id<'static>, recovered: Option<bool>) {
        self.waiting.push(Waiting {
            tag: self.last_tag,
            id,
            what: What::Entered { recovered },
        });
    }

    /// Has a second subscription refused behind the first one, if that waits. False: none waits.
    pub(super) fn refuse(&mut self, id: &Id<'_>) -> bool {
        let Some(tag) = self.waiting.last().map(|last| last.tag) else {
            return false;
        };
        let id = id.clone().into_owned();
        let what = What::Refused;
        self.waiting.push(Waiting { tag, id, what });
        true
    }

    /// Whether an answer with this id waits.
    pub(super) fn is_in_use(&self, id: &Id<'_>) -> bool {
        self.waiting.iter().any(|one| one.id == *id)
    }

    /// Takes the answers that wait for the subscription with this tag, its own first.
    pub(super) fn take(&mut self, tag: u64) -> Vec<Waiting> {
        let taken = self.waiting.extract_if(.., |one| one.tag == tag);
        taken.collect()
    }
}

/// Where a client begins, with memory of its own.
pub(super) fn owned_start(start: Start<'_>) -> Start<'static> {
    match start {
        Start::Last(most) => Start::Last(most),
        Start::Since(Since { epoch, offset }) => Start::Since(Since {
            epoch: Cow::Owned(epoch.into_owned()),
            offset,
        }),
    }
}
