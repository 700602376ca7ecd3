//! What the worker has sent to the peer: each message whole, on channels that publications leave alone.

use millrace_protocol::sockety::{
    FileList, GO_AWAY, Head, MOST_CODE, SendError, Sender, append_fast_reply,
};

use super::fields::{self, Outgoing};
use crate::contract::{Context, Event, Instruction, Operation};

/// The writing half of one connection.
#[derive(Debug)]
pub(super) struct Outbound {
    sender: Sender,
}

impl Outbound {
    /// Before the peer's header has come: it has one channel at least.
    pub(super) fn new() -> Self {
        Self {
            sender: Sender::new(1),
        }
    }

    /// The peer receives on so many channels, of which ours begin behind that of publications.
    pub(super) fn may_use(&mut self, channels: u16) {
        self.sender = Sender::from_channel(1, channels);
    }

    /// Does what the worker says. What cannot be said is told to the worker.
    pub(super) fn told(&mut self, instruction: &Instruction, cx: &mut Context<'_>) {
        match instruction.operation() {
            Some(Operation::SocketySend) => self.send(instruction, cx),
            Some(Operation::SocketyFastReply) => {
                let reply = fields::to_fast_reply(instruction.fields());
                let Some((code, id)) = reply.filter(|(code, _)| *code <= MOST_CODE) else {
                    return refused(instruction, cx);
                };
                cx.send(|out| {
                    let appended = append_fast_reply(code, id, out);
                    debug_assert!(appended.is_ok(), "the code is looked at before");
                });
            }
            Some(Operation::SocketyGoAway) => cx.reply(|out| out.push(GO_AWAY)),
            _ => refused(instruction, cx),
        }
    }

    fn send(&mut self, instruction: &Instruction, cx: &mut Context<'_>) {
        let sent = fields::to_outgoing(instruction.fields()).is_some_and(|outgoing| {
            let mut result = Ok(());
            cx.send(|out| result = self.append(outgoing, instruction.payload(), out));
            result.is_ok()
        });
        if !sent {
            refused(instruction, cx);
        }
    }

    /// Appends a message with its data, all of it or nothing.
    fn append(
        &mut self,
        outgoing: Outgoing<'_>,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        let head = Head {
            subject: outgoing.subject,
            id: outgoing.id,
            expects_response: outgoing.expects_response,
            has_stream: false,
            data_size: u64::try_from(data.len()).unwrap_or(u64::MAX),
            files: FileList::default(),
        };
        // publications may have come between
        self.sender.forget_channel();
        let Some(channel) = self.sender.begin(&head, out)? else {
            return Err(SendError::NoChannel);
        };
        let mut rest = data;
        while !rest.is_empty() {
            let taken = self.sender.data(channel, rest, out)?;
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The worker is told what it said, by the beginning of its fields.
fn refused(instruction: &Instruction, cx: &mut Context<'_>) {
    let fields = instruction.fields();
    let shown = fields.get(..SHOWN_BYTES).unwrap_or(fields);
    // nothing is read here that could wait
    let _flow = cx.event(Event::SocketyRefused, shown, (&[][..]).into());
}

/// Flags, or a code, and an id.
const SHOWN_BYTES: usize = 20;
