//! A publication that a store of histories has: the client waits for what comes of it, and so do its other commands.

use millrace_protocol::resp::Reply;

use super::session::Session;
use crate::contract::{Context, Instruction, LateReply, StoreVerdict};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stored {
    /// Of the last publication.
    number: u32,
    /// What is answered if it succeeds; `None`: nothing waits.
    deliveries: Option<u32>,
}

impl Stored {
    /// A number for a publication.
    pub(super) fn next(&mut self) -> u32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// The store has the last publication, which so many subscribers of this node may get.
    pub(super) fn wait(&mut self, deliveries: usize) {
        self.deliveries = Some(u32::try_from(deliveries).unwrap_or(u32::MAX));
    }

    /// Takes what is answered to the publication with this number, if it waits for that.
    fn take(&mut self, number: u32) -> Option<u32> {
        self.deliveries.take_if(|_| number == self.number)
    }
}

impl Session {
    /// The store has answered.
    pub(super) fn store_answered(&mut self, answer: &Instruction<'_>, cx: &mut Context<'_>) {
        let Some((number, verdict)) = answer.fields().split_first_chunk() else {
            return;
        };
        let Some(deliveries) = self.stored.take(u32::from_le_bytes(*number)) else {
            return;
        };
        cx.hold_input(false);
        if self.silence.is_silent() {
            return;
        }
        let mut bytes = Vec::new();
        let mut reply = Reply::new(self.version, &mut bytes);
        match StoreVerdict::read(verdict) {
            Some(StoreVerdict::Published(_)) => reply.integer(deliveries.into()),
            Some(StoreVerdict::Unknown) => reply.error(UNKNOWN),
            _ => reply.error(AWAY),
        }
        if self.listens() {
            // this connection may be a recipient: what was posted for it comes first
            cx.reply_in_order(LateReply::Short(bytes.into()), 0);
        } else {
            cx.reply(|out| out.extend_from_slice(&bytes));
        }
    }
}

const AWAY: &[u8] = b"ERR the store of histories cannot be reached; the message was not published";
const UNKNOWN: &[u8] =
    b"ERR no answer came from the store of histories; whether the message was published is not known";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_publication_that_waits_is_answered_and_once() {
        let mut stored = Stored::default();
        let first = stored.next();
        assert_eq!(stored.take(first), None, "it does not wait");
        let second = stored.next();
        stored.wait(7);
        assert_eq!(stored.take(first), None);
        assert_eq!((stored.take(second), stored.take(second)), (Some(7), None));
    }
}
