//! Subscriptions of the client to channels that the application has subscribed it to already. Messages of such a channel
//! may be on their way, so the answer waits for its place among them.

use millrace_core::Entered;
use millrace_protocol::v1::Id;

use super::operations::say_okay;
use crate::contract::Context;

/// The answers that wait. Each has its place in the shard's inbox, which bounds them.
#[derive(Debug, Default)]
pub(super) struct Entering {
    last_tag: u64,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    tag: u64,
    id: Id<'static>,
    /// What is answered if the channel keeps nothing.
    recovered: Option<bool>,
}

impl Entering {
    /// The tag of the next subscription.
    pub(super) fn tag(&mut self) -> u64 {
        self.last_tag += 1;
        self.last_tag
    }

    /// Has the subscription with the last tag answered when it is [entered](Self::entered).
    pub(super) fn wait(&mut self, id: Id<'static>, recovered: Option<bool>) {
        self.waiting.push(Waiting {
            tag: self.last_tag,
            id,
            recovered,
        });
    }

    /// What was in front is delivered, and what follows is behind the position: answers.
    pub(super) fn entered(&mut self, entering: &millrace_core::Entering, cx: &mut Context<'_>) {
        let place = self.waiting.iter().position(|one| one.tag == entering.tag);
        let Some(place) = place else { return };
        let waiting = self.waiting.remove(place);
        let Entered {
            position,
            recovered,
            ..
        } = entering.entered;
        say_okay(&waiting.id, position, recovered.or(waiting.recovered), cx);
    }
}
