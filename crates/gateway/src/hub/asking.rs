//! What a JavaScript thread asks the I/O shard of a socket, to be answered later.

use std::sync::Arc;

use millrace_core::{ShardSet, SocketId};

use super::Hub;
use crate::event::{Answers, Place, Question};
use crate::inbox::Command;
use crate::limits::FixedLimits;

impl Hub {
    /// Asks to be told when the outbox of a socket, or of the socket behind a virtual one, is at or below its low-water
    /// mark, with everything that was sent before. The question has a number among those of `answers`; it is also
    /// answered if there is no such socket, or once it is closed. `None`: too many questions wait.
    pub fn when_drained(
        &self,
        id: SocketId,
        (number, answers): (u32, &Arc<Answers>),
        dirty: &mut ShardSet,
    ) -> Option<Arc<Place>> {
        let place = self.questions.place(FixedLimits::default().drain_waits)?;
        let question = Box::new(Question::new(number, answers, &place));
        // dropped, and so answered, if there is no such socket
        let mut question = Some(question);
        self.core.reach(id, &[], |route, _annotation| {
            if let Some(question) = question.take() {
                let command = Command::WhenDrained {
                    slot: route.slot,
                    socket: route.socket,
                    question,
                };
                self.inboxes.post(route.shard, command);
                dirty.insert(route.shard);
            }
        });
        Some(place)
    }
}
