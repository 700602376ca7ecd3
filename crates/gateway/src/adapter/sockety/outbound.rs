//! What the worker sends to the peer, on channels that publications do not use. While no channel is free, messages
//! wait. Over 400 lines because every kind of packet that a worker sends takes its channel here.

use std::collections::VecDeque;

use millrace_protocol::sockety::{
    FileList, HEARTBEAT, Head, MOST_CODE, SendError, Sender, append_fast_reply, data_packet_bytes,
};

use super::down::{Down, Progress};
use super::late::FAST_REPLY_BYTES;
use super::options::Writable;
use super::{disk, fields};
use crate::contract::{Context, Event, Instruction, Operation, Step, TransferId, Waiting};
use crate::limits::ENTRY_CHARGE;

/// The writing half of one connection.
#[derive(Debug)]
pub(super) struct Outbound {
    sender: Sender,
    /// Whether publications use the only channel, so that no message may stay open there.
    shares_channel: bool,
    down: Down,
    /// Instructions that wait for a channel or for room, and their bytes.
    queue: VecDeque<Waiting>,
    queued: usize,
    most_queued: usize,
    /// Whether the first instruction waits for room, and not for a channel.
    lacks_room: bool,
}

/// The result of sending an instruction.
enum Sent {
    Yes,
    /// No channel is free, or there is no room.
    Later,
    Never(Why),
}

/// Why an instruction can never be sent.
#[derive(Clone, Copy)]
enum Why {
    /// It cannot be expressed in the protocol.
    Unfit,
    /// Every channel has an aborted message.
    NoChannel,
}

impl Why {
    fn of(error: SendError) -> Self {
        match error {
            SendError::NoChannel => Self::NoChannel,
            _ => Self::Unfit,
        }
    }
}

impl Outbound {
    /// The state before the peer's header arrives: the peer has at least one channel. This many bytes may wait for a
    /// channel.
    pub(super) fn new(most_queued: usize) -> Self {
        Self {
            sender: Sender::new(1),
            shares_channel: true,
            down: Down::default(),
            queue: VecDeque::new(),
            queued: 0,
            most_queued,
            lacks_room: false,
        }
    }

    /// Sets the number of channels on which the peer receives. Those of this side start behind the channel of
    /// publications, if there are any.
    pub(super) fn may_use(
        &mut self,
        channels: u16,
        writable: Writable,
        publications: bool,
        cx: &mut Context<'_>,
    ) {
        let channels = channels.min(writable.channels);
        self.sender = Sender::from_channel(publications.into(), channels);
        if writable.reuses_aborted {
            self.sender.reuse_aborted_channels();
        }
        self.shares_channel = publications && channels < 2;
        self.send_queued(cx);
    }

    /// The peer aborts messages, so it understands aborts: a channel with an aborted message can be reused.
    pub(super) fn peer_aborts(&mut self, cx: &mut Context<'_>) {
        self.sender.reuse_aborted_channels();
        self.send_queued(cx);
    }

    /// Carries out an instruction. One that cannot be carried out is reported to the worker.
    pub(super) fn told(
        &mut self,
        instruction: Instruction<'_>,
        is_ready: bool,
        cx: &mut Context<'_>,
    ) {
        match instruction.operation() {
            Some(Operation::SocketyFastReply) => {
                let reply = fields::to_fast_reply(instruction.fields());
                let Some((code, id)) = reply.filter(|(code, _)| *code <= MOST_CODE) else {
                    return refused(instruction.fields(), Why::Unfit, cx);
                };
                self.down.late().send(FAST_REPLY_BYTES, cx, |out| {
                    let appended = append_fast_reply(code, id, out);
                    debug_assert!(appended.is_ok(), "the code was checked before");
                });
            }
            Some(Operation::SocketyHeartbeat) => {
                let count = instruction
                    .fields()
                    .first_chunk()
                    .map(|count| u32::from_le_bytes(*count));
                let count = usize::try_from(count.unwrap_or(1)).unwrap_or(1);
                let count = count.min(MOST_HEARTBEATS);
                let late = self.down.late();
                late.send(count, cx, |out| out.resize(out.len() + count, HEARTBEAT));
            }
            Some(Operation::SocketyFile) => {
                let path = str::from_utf8(instruction.payload()).ok();
                let file = path.zip(fields::to_disk_file(instruction.fields()));
                if let Some((path, (id, size))) = file {
                    self.down.read_file(id, path, size, cx.most_at_once());
                    self.look(cx);
                }
            }
            // the number of channels is not known yet
            Some(Operation::SocketyBegin) if !is_ready => {
                self.enqueue(instruction.to_waiting(), cx);
            }
            _ if !self.queue.is_empty() => self.enqueue(instruction.to_waiting(), cx),
            _ => match self.send(instruction, cx) {
                Sent::Yes => {}
                Sent::Later => self.enqueue(instruction.to_waiting(), cx),
                Sent::Never(why) => refused(instruction.fields(), why, cx),
            },
        }
    }

    /// Takes a step of the worker. False: the transfer is not one of these.
    pub(super) fn step(&mut self, id: TransferId, step: &Step, cx: &mut Context<'_>) -> bool {
        match self.down.step(&mut self.sender, id, step, cx) {
            None => return false,
            Some(Progress::Going) => return true,
            Some(Progress::Finished) => {}
            Some(Progress::Failed(shown)) => refused(&shown, Why::Unfit, cx),
        }
        self.send_queued(cx);
        true
    }

    /// Continues after something of a file was read or the outbox has room again.
    pub(super) fn look(&mut self, cx: &mut Context<'_>) {
        self.down.late().send_waiting(cx);
        while let Some(progress) = self.down.take_held(&mut self.sender, cx) {
            if let Progress::Failed(shown) = progress {
                refused(&shown, Why::Unfit, cx);
            }
        }
        while let Some((id, sent)) = self.down.look(&mut self.sender, cx) {
            let problem = match &sent {
                Ok(Progress::Failed(shown)) => {
                    refused(shown, Why::Unfit, cx);
                    continue;
                }
                Ok(_) => String::new(),
                Err(error) => disk::told(error),
            };
            let fields = id.get().to_le_bytes();
            cx.report(Event::SocketyFileSent, &fields, problem.as_bytes());
        }
        self.send_queued(cx);
    }

    fn enqueue(&mut self, waiting: Waiting, cx: &mut Context<'_>) {
        let bytes = waiting.bytes();
        let instruction = waiting.view();
        // waiting for room may take as many bytes as the outbox would have taken
        let room = if self.lacks_room {
            cx.outbox_bytes()
        } else {
            0
        };
        // a note has no size, and at most one may wait
        let may_wait = self.queue.is_empty()
            || instruction.operation() == Some(Operation::SocketyNote)
            || self.queued.saturating_add(bytes) <= self.most_queued.max(room);
        if !may_wait {
            return refused(instruction.fields(), Why::Unfit, cx);
        }
        self.queued += bytes;
        self.queue.push_back(waiting);
    }

    /// Sends what waits, as far as channels and room allow.
    fn send_queued(&mut self, cx: &mut Context<'_>) {
        while let Some(waiting) = self.queue.pop_front() {
            let instruction = waiting.view();
            match self.send(instruction, cx) {
                Sent::Yes => {}
                Sent::Never(why) => refused(instruction.fields(), why, cx),
                Sent::Later => return self.queue.push_front(waiting),
            }
            self.queued -= waiting.bytes();
        }
    }

    fn send(&mut self, instruction: Instruction<'_>, cx: &mut Context<'_>) -> Sent {
        let operation = instruction.operation();
        // a note waits until everything sent before is in the outbox
        let may_go = if operation == Some(Operation::SocketyNote) {
            !self.down.is_holding()
        } else {
            // a channel may be used again once the other side knows that what was there is given up
            !self.down.late().is_waiting() && cx.fits(most_on_wire(instruction), 0)
        };
        self.lacks_room = !may_go;
        if self.lacks_room {
            return Sent::Later;
        }
        match operation {
            Some(Operation::SocketySend) => self.send_whole(instruction, cx),
            Some(Operation::SocketySendShared) => self.send_shared(instruction, cx),
            Some(Operation::SocketyBegin) => self.begin(instruction, cx),
            Some(Operation::SocketyNote) => {
                if !cx.when_written() {
                    written(cx);
                }
                Sent::Yes
            }
            _ => Sent::Never(Why::Unfit),
        }
    }

    fn send_whole(&mut self, instruction: Instruction<'_>, cx: &mut Context<'_>) -> Sent {
        let Some(outgoing) = fields::to_outgoing(instruction.fields()) else {
            return Sent::Never(Why::Unfit);
        };
        let data = instruction.payload();
        let head = Head {
            subject: outgoing.subject,
            id: outgoing.id,
            expects_response: outgoing.expects_response,
            has_stream: false,
            data_size: u64::try_from(data.len()).unwrap_or(u64::MAX),
            files: FileList::default(),
        };
        let sender = &mut self.sender;
        // publications may have switched the channel
        sender.forget_channel();
        let mut sent = Sent::Never(Why::Unfit);
        cx.send(|out| {
            sent = match append_whole(sender, &head, data, out) {
                Ok(true) => Sent::Yes,
                Ok(false) => Sent::Later,
                Err(error) => Sent::Never(Why::of(error)),
            };
        });
        sent
    }

    /// Sends a message whose data is one shared packet that is not copied.
    fn send_shared(&mut self, instruction: Instruction<'_>, cx: &mut Context<'_>) -> Sent {
        let outgoing = fields::to_outgoing(instruction.fields());
        let Some((outgoing, shared)) = outgoing.zip(instruction.shared()) else {
            return Sent::Never(Why::Unfit);
        };
        let data_size = u64::try_from(shared.frame().len()).unwrap_or(u64::MAX);
        let is_one_packet = u64::from(data_packet_bytes(data_size)) == data_size;
        if data_size == 0 || !is_one_packet {
            return Sent::Never(Why::Unfit);
        }
        let head = Head {
            subject: outgoing.subject,
            id: outgoing.id,
            expects_response: outgoing.expects_response,
            has_stream: false,
            data_size,
            files: FileList::default(),
        };
        let sender = &mut self.sender;
        sender.forget_channel();
        let mut sent = Sent::Never(Why::Unfit);
        // behind its head, a shared frame of this length would exceed the limit even in an empty outbox
        let is_copied = shared.frame().len() > cx.outbox_bytes();
        // both pieces of the message are sent as parts, so that neither is dropped alone
        cx.send_part(|out| {
            sent = match append_heads(sender, &head, out) {
                Ok(true) => Sent::Yes,
                Ok(false) => Sent::Later,
                Err(error) => Sent::Never(Why::of(error)),
            };
            if is_copied && matches!(sent, Sent::Yes) {
                out.extend_from_slice(shared.frame().bytes());
            }
        });
        if !is_copied && matches!(sent, Sent::Yes) {
            cx.send_shared(shared);
        }
        sent
    }

    /// Begins a message whose contents follow.
    fn begin(&mut self, instruction: Instruction<'_>, cx: &mut Context<'_>) -> Sent {
        let announced = fields::to_announced(instruction.fields());
        let Some(announced) = announced.filter(|_| !self.shares_channel) else {
            return Sent::Never(Why::Unfit);
        };
        let head = Head {
            subject: announced.outgoing.subject,
            id: announced.outgoing.id,
            expects_response: announced.outgoing.expects_response,
            has_stream: announced.has_stream,
            data_size: announced.data_size,
            files: announced.files.as_list(),
        };
        let sender = &mut self.sender;
        sender.forget_channel();
        let mut begun = Ok(None);
        cx.send_part(|out| begun = sender.begin(&head, out));
        let channel = match begun {
            Ok(Some(channel)) => channel,
            Ok(None) => return Sent::Later,
            Err(error) => return Sent::Never(Why::of(error)),
        };
        let contents = (head.data_size > 0, head.has_stream, head.files.count());
        let transfers = self.down.begin(channel, contents, shown(instruction), cx);
        let ids = transfers.iter().flat_map(|id| id.get().to_le_bytes());
        let fields: Vec<u8> = head.id.as_bytes().iter().copied().chain(ids).collect();
        cx.report(Event::SocketyBegan, &fields, &[]);
        Sent::Yes
    }
}

/// The most bytes that an instruction takes in the outbox.
fn most_on_wire(instruction: Instruction<'_>) -> usize {
    let shared = instruction.shared();
    instruction.length() + shared.map_or(0, |shared| shared.frame().len() + ENTRY_CHARGE)
}

/// Appends a message with its data, completely or not at all. False: no channel is free.
fn append_whole(
    sender: &mut Sender,
    head: &Head<'_>,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, SendError> {
    let Some(channel) = sender.begin(head, out)? else {
        return Ok(false);
    };
    let mut rest = data;
    while !rest.is_empty() {
        let taken = sender.data(channel, rest, out)?;
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(true)
}

/// Appends the head of a message and that of its data. False: no channel is free.
fn append_heads(
    sender: &mut Sender,
    head: &Head<'_>,
    out: &mut Vec<u8>,
) -> Result<bool, SendError> {
    let Some(channel) = sender.begin(head, out)? else {
        return Ok(false);
    };
    sender.data_head(channel, out)?;
    Ok(true)
}

/// Tells the worker that everything before its note is written.
pub(super) fn written(cx: &mut Context<'_>) {
    // no input is read here, so the flow does not matter
    let _flow = cx.event(Event::SocketyWritten, &[], (&[][..]).into());
}

/// Reports an instruction that cannot be carried out: the event has the first bytes of its fields, and the payload has
/// the reason if it is special.
fn refused(fields: &[u8], why: Why, cx: &mut Context<'_>) {
    let shown = fields.get(..SHOWN_BYTES).unwrap_or(fields);
    let why = match why {
        Why::Unfit => &[][..],
        Why::NoChannel => b"no channel",
    };
    cx.report(Event::SocketyRefused, shown, why);
}

fn shown(instruction: Instruction<'_>) -> &[u8] {
    let fields = instruction.fields();
    fields.get(..SHOWN_BYTES).unwrap_or(fields)
}

/// The most heartbeats that one instruction can ask for.
const MOST_HEARTBEATS: usize = 65_536;

/// Bytes of the fields that identify an instruction: flags or a code, and an id.
const SHOWN_BYTES: usize = 20;
