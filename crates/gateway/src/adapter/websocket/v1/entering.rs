//! Subscriptions of the client to channels that the application has subscribed it to already. Messages of such a channel
//! may be on their way, so the answer waits for its place among them.

use std::borrow::Cow;

use millrace_protocol::v1::{Id, Since, Start};

/// The answers that wait. Each has its place in the shard's inbox, which bounds them.
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
    /// What is answered if the channel keeps nothing.
    pub(super) recovered: Option<bool>,
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
            recovered,
        });
    }

    /// Whether an answer with this id waits.
    pub(super) fn is_in_use(&self, id: &Id<'_>) -> bool {
        self.waiting.iter().any(|one| one.id == *id)
    }

    /// Takes the answer that waits for the subscription with this tag.
    pub(super) fn take(&mut self, tag: u64) -> Option<Waiting> {
        let place = self.waiting.iter().position(|one| one.tag == tag)?;
        Some(self.waiting.remove(place))
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
